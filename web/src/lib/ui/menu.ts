// What a menu contains.
import type { Icon } from './icon';

export interface MenuAction {
  label: string;
  icon?: Icon;
  /** The keys that do the same. */
  keys?: string;
  danger?: boolean;
  disabled?: boolean;
  /** For a choice: whether it is the current one. */
  checked?: boolean;
  onselect?: () => void;
  /** Whether it gives the focus to something: it runs when the menu is gone, which otherwise takes the focus back. */
  takesFocus?: boolean;
  href?: string;
}

export type MenuItem = MenuAction | 'separator';
