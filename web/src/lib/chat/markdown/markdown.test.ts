// Blocks of streamed Markdown, links and formulas.
import { describe, expect, it } from 'vitest';
import { Blocks, codeOf, type Block } from './blocks';
import { decode, parse, safeHref } from './inline';

const TEXT = `# Title

A paragraph with \`code\`
in two lines.

- one

- two
  \`\`\`sh
  in a list
  \`\`\`

1. first
2. second

> quoted

\`\`\`python title
print(1)

print(2)
\`\`\`
After it.

| a | b |
| - | - |
| 1 | 2 |

~~~~
\`\`\`
~~~
~~~~
The end`;

const shape = (blocks: Block[]): unknown[] =>
  blocks.map((block) => (block.kind === 'text' ? block.text : [block.lang, codeOf(block), block.isClosed]));

describe('Blocks', () => {
  it('splits at empty lines and fences', () => {
    expect(shape(new Blocks().update(TEXT, true))).toEqual([
      '# Title',
      'A paragraph with `code`\nin two lines.',
      '- one\n\n- two\n  ```sh\n  in a list\n  ```\n\n1. first\n2. second\n\n> quoted',
      ['python', 'print(1)\n\nprint(2)', true],
      'After it.',
      '| a | b |\n| - | - |\n| 1 | 2 |',
      ['', '```\n~~~', true],
      'The end',
    ]);
  });

  it('gives the same wherever the text is cut', () => {
    const whole = shape(new Blocks().update(TEXT, true));
    for (let cut = 0; cut <= TEXT.length; cut += 1) {
      const blocks = new Blocks();
      blocks.update(TEXT.slice(0, cut), false);
      expect(shape(blocks.update(TEXT, true)), `cut at ${cut}`).toEqual(whole);
    }
  });

  it('keeps what was complete while the rest grows, byte by byte', () => {
    const blocks = new Blocks();
    let before: Block[] = [];
    for (let end = 1; end <= TEXT.length; end += 1) {
      const now = blocks.update(TEXT.slice(0, end), false);
      // All but the last two: a line that has only begun may still join the block before it.
      expect(shape(now).slice(0, Math.max(0, before.length - 2))).toEqual(
        shape(before).slice(0, Math.max(0, before.length - 2)),
      );
      before = now;
    }
  });

  it('begins anew with another text', () => {
    const blocks = new Blocks();
    blocks.update('one\n\ntwo', false);
    expect(shape(blocks.update('other', false))).toEqual(['other']);
  });

  it('does not take longer for each line of a long block', () => {
    const blocks = new Blocks();
    let text = '```\n';
    for (let line = 0; line < 20_000; line += 1) text += `line ${line}\n`;
    const [code] = blocks.update(text, false);
    expect(code?.kind === 'code' && code.pieces.length).toBeGreaterThan(20);
    expect(code?.kind === 'code' && Math.max(...code.pieces.map((piece) => piece.length))).toBeLessThan(5000);
  });
});

describe('inline', () => {
  it.each([
    ['https://example.org/a?b=c', 'https://example.org/a?b=c'],
    ['mailto:ann@example.org', 'mailto:ann@example.org'],
    ['HTTP://EXAMPLE.org', 'http://example.org/'],
  ])('opens %s', (href, expected) => expect(safeHref(href)).toBe(expected));

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    '&#106;avascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example',
    '/v1/logout',
    '#x',
    'http://',
    'blob:http://x/1',
  ])('does not open %s', (href) => expect(safeHref(href)).toBeNull());

  it('reads character references as text', () => {
    expect(decode('a &amp; b &lt;i&gt; &#65;&#x42; &unknown; &#0; &#xd800;')).toBe(
      'a & b <i> AB &unknown; \ufffd \ufffd',
    );
  });

  const formulas = (text: string): string[] => {
    const [paragraph] = parse(text);
    const tokens = paragraph && 'tokens' in paragraph ? (paragraph.tokens ?? []) : [];
    return tokens.filter(({ type }) => type === 'math').map((token) => (token as unknown as { text: string }).text);
  };

  it('finds formulas, and leaves money alone', () => {
    expect(formulas('so $x^2$ and \\(y\\) and $$z$$')).toEqual(['x^2', 'y', 'z']);
    expect(formulas('\\[\na + b\n\\]')).toEqual(['a + b']);
    expect(formulas('it costs $5 and then $10 more')).toEqual([]);
    expect(formulas('`$x$`')).toEqual([]);
  });

  it('parses no block that is too long', () => {
    expect(parse('*'.repeat(100_000))[0]?.type).toBe('plain');
  });
});
