// The steps of a plan in the arguments of `update_plan`.
import type { PlanStep, ToolCall } from '../types';
import { inputOf } from './describe';

const STATUS = new Set(['pending', 'in_progress', 'completed']);

export function planOf(call: ToolCall): PlanStep[] {
  const { plan } = inputOf(call);
  if (!Array.isArray(plan)) return [];
  return plan.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null) return [];
    const { step, status } = item as Record<string, unknown>;
    if (typeof step !== 'string') return [];
    return [{ step, status: STATUS.has(String(status)) ? (status as PlanStep['status']) : 'pending' }];
  });
}
