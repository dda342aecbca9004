import { describe, expect, it } from 'vitest';
import { hex, themeFrom } from './theme';

describe('editor theme', () => {
  it('uses the colours of the page', () => {
    const theme = themeFrom((name) => (name === '--bg' ? '#0d1217' : '#abc'), true);
    expect(theme.base).toBe('vs-dark');
    expect(theme.colors['editor.background']).toBe('#0d1217');
    expect(theme.rules.find((rule) => rule.token === 'comment')).toMatchObject({ foreground: 'aabbcc' });
    expect(themeFrom(() => '#fff', false).base).toBe('vs');
  });

  it('gives Monaco only colours that it can read', () => {
    expect(hex('#fff')).toBe('#ffffff');
    expect(hex('')).toBe('#808080');
    expect(hex('rgb(0 0 0)')).toBe('#808080');
    for (const value of Object.values(themeFrom(() => 'oklch(1 0 0)', true).colors)) {
      expect(value).toMatch(/^#[0-9a-f]{6}([0-9a-f]{2})?$/);
    }
  });
});
