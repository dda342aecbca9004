import { describe, expect, it } from 'vitest';
import { plainText } from './plainText';

describe('plainText', () => {
  it('removes colours, titles and links', () => {
    expect(plainText('\u001b[1;31mred\u001b[0m')).toBe('red');
    expect(plainText('\u001b]0;title\u0007text')).toBe('text');
    expect(plainText('\u001b]8;;https://x.example\u001b\\link\u001b]8;;\u001b\\')).toBe('link');
    expect(plainText('\u001b(Ba\u001b=b')).toBe('ab');
  });

  it('keeps the last text of a line that was overwritten', () => {
    expect(plainText('10%\r50%\r100%\ndone\r\n')).toBe('100%\ndone\n');
  });

  it('removes control characters, not tabs and not line feeds', () => {
    expect(plainText('a\u0008\tb\u0000\nc')).toBe('a\tb\nc');
  });
});
