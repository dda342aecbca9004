// Splits streamed Markdown into blocks. Only the last block can still change, so that a frame costs as much as that
// block, not as the whole text. Each character is looked at once.

export interface TextBlock {
  kind: 'text';
  text: string;
}

export interface CodeBlock {
  kind: 'code';
  /** The first word after the fence. */
  lang: string;
  /** The code in pieces; only the last one grows. */
  pieces: string[];
  /** Whether the fence is closed. */
  isClosed: boolean;
}

export type Block = TextBlock | CodeBlock;

/** A piece of code grows up to this size, in characters. */
const PIECE = 4096;
const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^\n`]*)$/;
/** A line that continues a list, a quotation or indented text after an empty line. */
const CONTINUES = /^(?: {2,}|\t|[-*+] |\d{1,9}[.)] |>)/;
const LIST = /^ {0,3}(?:[-*+] |\d{1,9}[.)] )/;

/** The block of code that is open. */
interface Fence {
  indent: number;
  close: RegExp;
  block: CodeBlock;
}

/** The blocks of one text that grows. */
export class Blocks {
  #seen = 0;
  #done: Block[] = [];
  /** Complete lines of the block that is open. */
  #open: string[] = [];
  #hasGap = false;
  #isList = false;
  #fence: Fence | null = null;
  #text = '';

  /** Takes the whole text as it is now, and returns its blocks. Text that did not grow begins anew. */
  update(text: string, isComplete: boolean): Block[] {
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    let from = this.#seen;
    for (let end = text.indexOf('\n', from); end >= 0; end = text.indexOf('\n', from)) {
      this.#line(text.slice(from, end).replace(/\r$/, ''));
      from = end + 1;
    }
    this.#seen = from;
    return this.#blocks(text.slice(from), isComplete);
  }

  #reset(): void {
    this.#seen = 0;
    this.#done = [];
    this.#open = [];
    this.#hasGap = false;
    this.#isList = false;
    this.#fence = null;
  }

  #line(line: string): void {
    if (this.#fence) this.#codeLine(line, this.#fence);
    else {
      const fence = FENCE.exec(line);
      // A fence inside of a list belongs to the list.
      if (fence && !(this.#isList && (fence[1] ?? '').length > 1)) this.#begin(fence);
      else if (line.trim() === '') this.#hasGap = this.#open.length > 0;
      else this.#textLine(line);
    }
  }

  #textLine(line: string): void {
    if (this.#hasGap && !(CONTINUES.test(line) && (this.#isList || !LIST.test(line)))) this.#close();
    if (this.#hasGap) this.#open.push('');
    this.#hasGap = false;
    if (this.#open.length === 0) this.#isList = LIST.test(line);
    this.#open.push(line);
  }

  #close(): void {
    if (this.#open.length > 0) this.#done.push({ kind: 'text', text: this.#open.join('\n') });
    this.#open = [];
    this.#hasGap = false;
    this.#isList = false;
  }

  #begin(fence: RegExpExecArray): void {
    this.#close();
    const [, indent = '', marks = '```', info = ''] = fence;
    const lang = info.trim().split(/\s+/)[0] ?? '';
    const block: CodeBlock = { kind: 'code', lang, pieces: [''], isClosed: false };
    const close = new RegExp(`^ {0,3}${marks[0] === '~' ? '~' : '`'}{${marks.length},}[ \\t]*$`);
    this.#fence = { indent: indent.length, close, block };
    this.#done.push(block);
  }

  #codeLine(line: string, { indent, close, block }: Fence): void {
    const { pieces } = block;
    if (close.test(line)) {
      // The last line break belongs to the fence.
      pieces[pieces.length - 1] = (pieces.at(-1) ?? '').replace(/\n$/, '');
      this.#done[this.#done.length - 1] = { ...block, isClosed: true };
      this.#fence = null;
      return;
    }
    if ((pieces.at(-1) ?? '').length > PIECE) pieces.push('');
    pieces[pieces.length - 1] += `${dedent(line, indent)}\n`;
  }

  /** What is complete, and the open block with the line that is still being written. */
  #blocks(rest: string, isComplete: boolean): Block[] {
    if (this.#fence) {
      const { block, indent, close } = this.#fence;
      const isClosing = close.test(rest);
      const pieces = [...block.pieces];
      const last = pieces.length - 1;
      if (!isClosing) pieces[last] += dedent(rest, indent);
      if (isComplete) pieces[last] = (pieces[last] ?? '').replace(/\n$/, '');
      return [...this.#done.slice(0, -1), { ...block, pieces, isClosed: isComplete || isClosing }];
    }
    if (this.#open.length === 0 && rest.trim() === '') return [...this.#done];
    const open = [...this.#open];
    if (this.#hasGap && rest.trim() !== '') {
      const follows = CONTINUES.test(rest) && (this.#isList || !LIST.test(rest));
      if (!follows && open.length > 0) {
        return [...this.#done, { kind: 'text', text: open.join('\n') }, { kind: 'text', text: rest }];
      }
      open.push('');
    }
    const fence = FENCE.exec(rest);
    if (fence && !this.#isList) {
      const done: Block[] =
        open.length > 0 ? [...this.#done, { kind: 'text', text: open.join('\n') }] : [...this.#done];
      return [...done, { kind: 'code', lang: '', pieces: [''], isClosed: false }];
    }
    if (rest !== '') open.push(rest);
    return [...this.#done, { kind: 'text', text: open.join('\n') }];
  }
}

function dedent(line: string, by: number): string {
  let at = 0;
  while (at < by && line[at] === ' ') at += 1;
  return line.slice(at);
}

/** The code of a block. */
export function codeOf(block: CodeBlock): string {
  return block.pieces.join('');
}
