// Plays a recording of a terminal: where it is, how fast it goes, and what the emulator has drawn.

import type { Terminal } from '@xterm/xterm';
import { convertTime, eventsUntil, timeOf } from './asciicast';
import type { Recording } from './asciicast';

export const SPEEDS = [0.5, 1, 2, 4, 8, 16] as const;

/** More markers than this could not be told apart. */
const MAX_MARKERS = 300;

export interface Marker {
  time: number;
  label: string;
}

export class Player {
  readonly recording: Recording;
  /** Seconds since the beginning. */
  time = $state(0);
  isPlaying = $state(false);
  speed = $state(1);
  #skipsPauses = $state(true);
  readonly #terminal: Terminal;
  /** How many events are drawn. */
  #drawn = 0;
  #frame: number | undefined;
  #last = 0;

  constructor(recording: Recording, terminal: Terminal) {
    this.recording = recording;
    this.#terminal = terminal;
    terminal.resize(recording.cols, recording.rows);
  }

  get duration(): number {
    return this.#skipsPauses ? this.recording.played : this.recording.duration;
  }

  get isAtEnd(): boolean {
    return this.time >= this.duration;
  }

  /** Whether long pauses are shortened. The moment that is shown stays the same. */
  get skipsPauses(): boolean {
    return this.#skipsPauses;
  }

  set skipsPauses(skips: boolean) {
    if (skips === this.#skipsPauses) return;
    this.time = convertTime(this.recording, this.time, skips);
    this.#skipsPauses = skips;
  }

  readonly markers: Marker[] = $derived.by(() =>
    this.recording.events
      .filter((event) => event.code === 'm')
      .slice(0, MAX_MARKERS)
      .map((event) => ({ time: timeOf(event, !this.#skipsPauses), label: event.label })),
  );

  play(): void {
    if (this.isPlaying) return;
    if (this.isAtEnd) this.seek(0);
    this.isPlaying = true;
    this.#last = performance.now();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  pause(): void {
    this.isPlaying = false;
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
  }

  toggle(): void {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  seek(time: number): void {
    this.time = Math.min(this.duration, Math.max(0, time));
    const wanted = eventsUntil(this.recording, this.time, !this.#skipsPauses);
    // A terminal cannot go back: it is drawn again from the beginning.
    if (wanted < this.#drawn) {
      this.#drawn = 0;
      this.#terminal.reset();
      this.#terminal.resize(this.recording.cols, this.recording.rows);
    }
    this.#draw(wanted);
  }

  #tick(now: number): void {
    const passed = ((now - this.#last) / 1000) * this.speed;
    this.#last = now;
    this.seek(this.time + passed);
    if (this.isAtEnd) this.pause();
    else if (this.isPlaying) this.#frame = requestAnimationFrame((next) => this.#tick(next));
  }

  #draw(until: number): void {
    let text = '';
    const flush = (): void => {
      if (text !== '') this.#terminal.write(text);
      text = '';
    };
    for (const event of this.recording.events.slice(this.#drawn, until)) {
      if (event.code === 'o') text += event.data;
      else if (event.code === 'r') {
        flush();
        // In order with what is written before it.
        this.#terminal.write('', () => this.#terminal.resize(event.cols, event.rows));
      }
    }
    flush();
    this.#drawn = until;
  }
}
