// The editor's theme, derived from the CSS variables, so that the editor, terminals and output match.
import type { editor } from 'monaco-editor/editor';

/** Monaco takes `#rrggbb` only. */
export function hex(colour: string): string {
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(colour);
  if (short !== null)
    return `#${short
      .slice(1)
      .map((digit) => digit.repeat(2))
      .join('')}`;
  return /^#[0-9a-f]{6}([0-9a-f]{2})?$/i.test(colour) ? colour : '#808080';
}

/** Builds the theme. `read` returns the value of a CSS variable. */
export function themeFrom(read: (name: string) => string, isDark: boolean): editor.IStandaloneThemeData {
  const colour = (name: string): string => hex(read(name));
  const rule = (token: string, name: string, fontStyle?: string): editor.ITokenThemeRule => ({
    token,
    foreground: colour(name).slice(1),
    ...(fontStyle === undefined ? {} : { fontStyle }),
  });
  return {
    base: isDark ? 'vs-dark' : 'vs',
    inherit: true,
    rules: [
      rule('', '--text'),
      rule('comment', '--text-faint', 'italic'),
      rule('keyword', '--ansi-5'),
      rule('string', '--ansi-2'),
      rule('string.escape', '--ansi-6'),
      rule('number', '--ansi-3'),
      rule('regexp', '--ansi-1'),
      rule('type', '--ansi-6'),
      rule('tag', '--ansi-4'),
      rule('attribute.name', '--ansi-6'),
      rule('attribute.value', '--ansi-2'),
      rule('metatag', '--ansi-5'),
      rule('annotation', '--ansi-3'),
      rule('function', '--ansi-4'),
      rule('delimiter', '--text-muted'),
      rule('variable', '--text'),
      rule('invalid', '--danger'),
    ],
    colors: {
      'editor.background': colour('--bg'),
      'editor.foreground': colour('--text'),
      'editorLineNumber.foreground': colour('--text-faint'),
      'editorLineNumber.dimmedForeground': colour('--text-faint'),
      'editorLineNumber.activeForeground': colour('--text'),
      'editor.lineHighlightBackground': colour('--bg-hover'),
      'editor.lineHighlightBorder': '#00000000',
      'editor.selectionBackground': colour('--selection'),
      'editor.inactiveSelectionBackground': `${colour('--selection').slice(0, 7)}80`,
      'editorCursor.foreground': colour('--accent'),
      'editorIndentGuide.background1': colour('--border'),
      'editorIndentGuide.activeBackground1': colour('--border-strong'),
      'editorWidget.background': colour('--bg-raised'),
      'editorWidget.foreground': colour('--text'),
      'editorWidget.border': colour('--border'),
      'editorHoverWidget.background': colour('--bg-raised'),
      'editorHoverWidget.border': colour('--border'),
      'editorSuggestWidget.background': colour('--bg-raised'),
      'editorSuggestWidget.border': colour('--border'),
      'editorSuggestWidget.selectedBackground': colour('--bg-active'),
      'editorSuggestWidget.selectedForeground': colour('--text'),
      'editorSuggestWidget.highlightForeground': colour('--accent'),
      'editorGutter.background': colour('--bg'),
      'editorError.foreground': colour('--danger'),
      'editorWarning.foreground': colour('--warning'),
      'editorInfo.foreground': colour('--running'),
      'editorStickyScroll.background': colour('--bg'),
      'editorOverviewRuler.border': '#00000000',
      'editorOverviewRuler.errorForeground': colour('--danger'),
      'editorOverviewRuler.warningForeground': colour('--warning'),
      'minimap.background': colour('--bg'),
      'scrollbarSlider.background': `${colour('--border-strong').slice(0, 7)}50`,
      'scrollbarSlider.hoverBackground': `${colour('--border-strong').slice(0, 7)}80`,
      'scrollbarSlider.activeBackground': colour('--border-strong'),
      'input.background': colour('--bg-inset'),
      'input.foreground': colour('--text'),
      'input.border': colour('--border'),
      'quickInput.background': colour('--bg-raised'),
      'quickInput.foreground': colour('--text'),
      'menu.background': colour('--bg-raised'),
      'menu.foreground': colour('--text'),
      'menu.border': colour('--border'),
      'menu.selectionBackground': colour('--bg-active'),
      'menu.selectionForeground': colour('--text'),
      'list.hoverBackground': colour('--bg-hover'),
      'list.focusBackground': colour('--bg-active'),
      'list.activeSelectionBackground': colour('--bg-active'),
      'list.activeSelectionForeground': colour('--text'),
      'diffEditor.insertedTextBackground': `${colour('--success').slice(0, 7)}30`,
      'diffEditor.removedTextBackground': `${colour('--danger').slice(0, 7)}30`,
      'widget.shadow': '#00000000',
      'scrollbar.shadow': '#00000000',
      focusBorder: colour('--focus'),
    },
  };
}
