// How sessions are called.
import { expect, test } from 'vitest';
import { strings } from '$lib/strings/en';
import { nameOf } from './names';

test.each([
  ['dev', 'dev'],
  [' ', strings.sessions.unnamed],
  [undefined, strings.sessions.unnamed],
  ['conversation:cnv_6b8fafa583d9dd2908aa', 'Conversation 6b8fafa5'],
  ['conversation: about fish', 'conversation: about fish'],
])('%j', (name, shown) => expect(nameOf(name === undefined ? {} : { name })).toBe(shown));
