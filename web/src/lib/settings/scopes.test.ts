// Tests of the scopes of tokens.
import { expect, test } from 'vitest';
import { accessFor, areasFor, rolesUpTo, scopesOf, tokenState } from './scopes';

test('scopes come in the order of the areas, without those that are not given', () => {
  expect(scopesOf({ files: 'read', sessions: 'write', builds: 'none' })).toEqual(['sessions:write', 'files:read']);
  expect(scopesOf({})).toEqual([]);
});

test('only an admin can give metrics, and only to read', () => {
  expect(areasFor('member')).not.toContain('metrics');
  expect(areasFor('admin')).toContain('metrics');
  expect(accessFor('metrics', 'admin')).toEqual(['none', 'read']);
  expect(accessFor('files', 'reader')).toEqual(['none', 'read']);
});

test('nobody gives more than they have', () => {
  expect(rolesUpTo('reader')).toEqual(['reader']);
  expect(rolesUpTo('member')).not.toContain('admin');
});

test('a token works until it expires or is revoked', () => {
  expect(tokenState({})).toBe('works');
  expect(tokenState({ expires_at: '2026-01-01T00:00:00Z' }, Date.parse('2026-01-02T00:00:00Z'))).toBe('expired');
  expect(tokenState({ revoked_at: '2026-01-01T00:00:00Z' })).toBe('revoked');
});
