// What the IDE shows where: which parts are open, zen mode, and the one part that a phone shows.
import type { Memory } from './remember';

export type SidePart = 'files' | 'search' | 'executions';
export type RightPart = 'output' | 'preview' | 'port';
export type BottomPart = 'terminal' | 'problems';
export type PhonePart = 'files' | 'editor' | 'output' | 'terminal' | 'problems';

export class Layout {
  side: SidePart = $state('files');
  right: RightPart = $state('output');
  bottom: BottomPart = $state('terminal');
  phone: PhonePart = $state('files');
  isSideOpen = $state(true);
  isRightOpen = $state(true);
  isBottomOpen = $state(true);
  isZen = $state(false);
  isQuickOpen = $state(false);
  /** Counts requests to put the focus into the search field. */
  searchFocus = $state(0);
  /** Changes when the sizes are to be reset: the panes are made anew. */
  generation = $state(0);

  constructor(private readonly memory: Memory) {
    const stored = memory.read('parts');
    if (typeof stored !== 'object' || stored === null) return;
    const from = stored as Record<string, unknown>;
    if (from['side'] === 'search' || from['side'] === 'executions') this.side = from['side'];
    if (from['bottom'] === 'problems') this.bottom = 'problems';
    this.isSideOpen = from['isSideOpen'] !== false;
    this.isRightOpen = from['isRightOpen'] !== false;
    this.isBottomOpen = from['isBottomOpen'] !== false;
  }

  /** Remembers what is open. Read in an effect, so that every change is kept. */
  remember(): void {
    const { side, bottom, isSideOpen, isRightOpen, isBottomOpen } = this;
    this.memory.write('parts', { side, bottom, isSideOpen, isRightOpen, isBottomOpen });
  }

  showSide(part: SidePart): void {
    this.side = part;
    this.isSideOpen = true;
    this.isZen = false;
    this.phone = 'files';
  }

  showOutput(): void {
    this.right = 'output';
    this.isRightOpen = true;
    this.phone = 'output';
  }

  showPort(): void {
    this.right = 'port';
    this.isRightOpen = true;
    this.isZen = false;
    this.phone = 'output';
  }

  showProblems(): void {
    this.bottom = 'problems';
    this.isBottomOpen = true;
    this.isZen = false;
    this.phone = 'problems';
  }

  /** Ctrl+`: shows the terminal, or hides it if it is shown. */
  toggleTerminal(): void {
    const isShown = this.isBottomOpen && this.bottom === 'terminal' && !this.isZen;
    this.isBottomOpen = !isShown;
    this.bottom = 'terminal';
    this.isZen = false;
    this.phone = 'terminal';
  }

  search(): void {
    this.showSide('search');
    this.searchFocus += 1;
  }

  reset(): void {
    this.memory.write('panes-main', null);
    this.memory.write('panes-rest', null);
    this.memory.write('panes-top', null);
    this.isSideOpen = true;
    this.isRightOpen = true;
    this.isBottomOpen = true;
    this.generation += 1;
  }
}
