// Compares two outputs away from the page's thread, so that the page stays responsive.

import { diffLines, splitLines, type Diff } from './diff';
import { plainText } from './plainText';

/** A request: two raw outputs. */
export interface DiffRequest {
  readonly left: string;
  readonly right: string;
}

/** The answer. */
export type DiffReply = Diff;

self.onmessage = (message: MessageEvent<DiffRequest>): void => {
  const { left, right } = message.data;
  const reply: DiffReply = diffLines(splitLines(plainText(left)), splitLines(plainText(right)));
  self.postMessage(reply);
};
