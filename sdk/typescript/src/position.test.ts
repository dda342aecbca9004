// Which events are new: the same cases as in the Rust client (crates/client/src/position.rs).
import { expect, test } from 'vitest';
import { Position } from './position.js';
import type { ExecutionEvent } from './types.js';

const output = (seq: number, offset: number, text: string): ExecutionEvent => ({
  type: 'stdout',
  seq,
  at_ms: 0,
  offset,
  text,
});
const gap = (seq: number, from_byte: number, to_byte: number): ExecutionEvent => ({
  type: 'gap',
  seq,
  at_ms: 0,
  stream: 'stdout',
  from_byte,
  to_byte,
});

test('earlier events are not new', () => {
  const position = new Position(3);
  expect(position.pass(output(3, 0, 'a'))).toBeUndefined();
  expect(position.pass(output(5, 0, 'abc'))).toBeDefined();
  expect(position.pass(output(5, 0, 'abc'))).toBeUndefined();
  expect(position.pass(output(4, 0, 'abc'))).toBeUndefined();
  expect(position.seq).toBe(5);
});

test('a gap with the seq before it is returned once', () => {
  const position = new Position();
  expect(position.pass(output(2, 0, 'abc'))).toBeDefined();
  expect(position.pass(gap(2, 3, 10))).toEqual(gap(2, 3, 10));
  expect(position.pass(gap(2, 3, 10))).toBeUndefined();
  expect(position.pass(gap(7, 3, 12))).toEqual(gap(7, 10, 12));
  expect(position.pass(gap(6, 3, 20))).toBeUndefined();
});

test('the length of output is counted in bytes', () => {
  const position = new Position();
  position.pass(output(1, 0, 'ü'));
  expect(position.pass(gap(1, 0, 2))).toBeUndefined();
  position.pass({ type: 'stdout', seq: 2, at_ms: 0, offset: 2, base64: '/w==' });
  expect(position.pass(gap(2, 2, 3))).toBeUndefined();
  expect(position.pass(gap(2, 2, 4))).toEqual(gap(2, 3, 4));
});
