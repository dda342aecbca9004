import { describe, expect, it } from 'vitest';
import { countChecks, levelOf, sortChecks } from './doctor';

const check = (name: string, status: string, ok = true) => ({ name, status, ok, detail: '' });
const checks = [
  check('kernel', 'ok'),
  check('quotas', 'warning'),
  check('seccomp', 'failed', false),
  check('user', 'ok'),
  check('language go', 'warning'),
];

describe('the findings of the doctor', () => {
  it('have the failures first and keep the order of the server within a state', () => {
    expect(sortChecks(checks).map(({ name }) => name)).toEqual(['seccomp', 'quotas', 'language go', 'kernel', 'user']);
    expect(checks[0]?.name, 'the given list is left as it is').toBe('kernel');
  });

  it('are counted by state', () => {
    expect(countChecks(checks)).toEqual({ failed: 1, warning: 2, ok: 2 });
  });

  it('with an unknown state are never shown as fine', () => {
    expect(levelOf({ status: 'skipped', ok: true })).toBe('warning');
    expect(levelOf({ status: 'broken', ok: false })).toBe('failed');
  });
});
