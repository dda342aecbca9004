// The findings of the doctor, the worst first.
import type { DoctorCheck } from 'headwater';

export type Level = 'failed' | 'warning' | 'ok';

const ORDER: readonly Level[] = ['failed', 'warning', 'ok'];

/** A state that this version of the app does not know is a failure if the server says so, otherwise a warning. */
export function levelOf({ status, ok }: Pick<DoctorCheck, 'status' | 'ok'>): Level {
  return ORDER.find((level) => level === status) ?? (ok ? 'warning' : 'failed');
}

/** Failures, then warnings, then what is fine; each in the order of the server, which has the most basic ones first. */
export function sortChecks(checks: readonly DoctorCheck[]): DoctorCheck[] {
  return [...checks].sort((one, other) => ORDER.indexOf(levelOf(one)) - ORDER.indexOf(levelOf(other)));
}

export function countChecks(checks: readonly DoctorCheck[]): Record<Level, number> {
  const counts = { failed: 0, warning: 0, ok: 0 };
  for (const check of checks) counts[levelOf(check)] += 1;
  return counts;
}
