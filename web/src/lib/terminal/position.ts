// The position of a viewer in a terminal's log: where it continues after its connection broke, so that no byte comes twice
// and none is lost.
//
// The server may divide an output event to keep within the credit. All parts but the last carry the `seq` of the event
// before it; a viewer that continues within such an event says how many of its bytes it has (`skip`). A screen
// (`snapshot`) replaces everything before it; a viewer that got only part of one begins again with a new screen.

import { isOutput, type ServerFrame } from 'headwater';

/** The parameters by which a connection continues. */
export interface Resume {
  executionId: string;
  after: number;
  skip: number;
}

/** What to do with the viewer's screen before the frame is shown. */
export type Step = 'keep' | 'clear' | 'restart';

export class Position {
  #executionId: string | undefined;
  #seq: number | undefined;
  /** Bytes of the event after `#seq` that the viewer has. */
  #skip = 0;
  /** Bytes of a screen that have not come yet. */
  #screenLeft = 0;
  /** Whether the present connection was opened with `skip`. */
  #skipped = false;

  /** The last event that was received completely, or undefined if nothing can be continued. */
  get resume(): Resume | undefined {
    if (this.#executionId === undefined || this.#seq === undefined || this.#screenLeft > 0) return undefined;
    return { executionId: this.#executionId, after: this.#seq, skip: this.#skip };
  }

  get executionId(): string | undefined {
    return this.#executionId;
  }

  /** Forgets everything: the next connection begins with the screen. */
  reset(): void {
    this.#executionId = undefined;
    this.#seq = undefined;
    this.#skip = 0;
    this.#screenLeft = 0;
  }

  /** A connection was opened with the parameters of `resume`. */
  connecting(): void {
    this.#skipped = (this.resume?.skip ?? 0) > 0;
    if (this.#screenLeft > 0) this.reset();
  }

  /** Counts a frame. */
  take(frame: ServerFrame): Step {
    if (isOutput(frame)) {
      this.#output(frame.seq, frame.bytes.length);
      return 'keep';
    }
    switch (frame.type) {
      case 'attached':
        return this.#attached(frame.execution_id);
      case 'snapshot':
        this.#screenLeft = frame.bytes;
        this.#seq = frame.seq;
        this.#skip = 0;
        return 'keep';
      case 'prompt':
      case 'command_started':
      case 'command_ended':
      case 'directory':
        // The shell's marks refer to output that came before them.
        return 'keep';
      case 'resized':
      case 'error':
        return 'keep';
      default:
        this.#reached(frame.seq);
        return 'keep';
    }
  }

  #attached(executionId: string): Step {
    const before = this.#executionId;
    if (before === undefined || before === executionId) {
      this.#executionId = executionId;
      return 'keep';
    }
    // Another terminal has the name now: `after` did not count, but `skip` did.
    const lost = this.#skipped;
    this.reset();
    if (lost) return 'restart';
    this.#executionId = executionId;
    return 'clear';
  }

  #output(seq: number, length: number): void {
    if (this.#screenLeft > 0) {
      this.#screenLeft = Math.max(0, this.#screenLeft - length);
      return;
    }
    // Without a screen before it, output begins with the first event of the log.
    const before = this.#seq ?? 0;
    this.#skip = seq > before ? 0 : this.#skip + length;
    this.#seq = Math.max(before, seq);
  }

  #reached(seq: number | undefined): void {
    if (seq === undefined || (this.#seq !== undefined && seq <= this.#seq)) return;
    this.#seq = seq;
    this.#skip = 0;
  }
}
