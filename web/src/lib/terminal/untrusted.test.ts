// Tests of the rules for text of programs.

import { expect, it } from 'vitest';
import { isTerminalName, socketAddress } from './address';
import { cleanPaste, cleanTitle, safeLink } from './untrusted';

it('titles are one short line', () => {
  expect(cleanTitle('make\n\u001b[31m all\u0007')).toBe('make [31m all');
  expect(cleanTitle('exe\u202egpj.sh')).toBe('exegpj.sh');
  expect(cleanTitle('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
  expect(Array.from(cleanTitle('😀'.repeat(500)))).toHaveLength(120);
  expect(cleanTitle('  ')).toBe('');
});

it('links lead to http and https only', () => {
  expect(safeLink('https://example.com/a?b#c')).toBe('https://example.com/a?b#c');
  for (const bad of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>1</script>',
    'file:///etc/passwd',
    'vbscript:x',
    'blob:https://example.com/1',
    '//example.com',
    'https://example.com@evil.test/',
    'nonsense',
    '',
  ]) {
    expect(safeLink(bad), bad).toBeUndefined();
  }
});

it('pasted text cannot end its bracket', () => {
  expect(cleanPaste('a\u001b[201~rm -rf .\r\nb\tc')).toBe('a[201~rm -rf .\nb\tc');
});

it('addresses carry where a viewer continues', () => {
  const at = { base: 'https://h/x/', session: 'a b', name: 'main', size: { rows: 2, cols: 3 }, readOnly: false };
  expect(socketAddress({ ...at, resume: undefined })).toBe(
    'wss://h/x/v1/sessions/a%20b/terminal?name=main&frames=binary&rows=2&cols=3',
  );
  const resume = { executionId: 'exe_1', after: 9, skip: 4 };
  expect(socketAddress({ ...at, base: 'http://h', resume, readOnly: true })).toBe(
    'ws://h/v1/sessions/a%20b/terminal?name=main&frames=binary&rows=2&cols=3&read_only=true&execution_id=exe_1&after=9&skip=4',
  );
  expect(['main', 'a.b_c-9', 'n'.repeat(64)].every(isTerminalName)).toBe(true);
  expect(['', 'a b', '../x', 'é', 'n'.repeat(65)].some(isTerminalName)).toBe(false);
});
