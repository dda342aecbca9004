// The scopes of a token: one choice for each area, and the list that the API takes.

export const AREAS = ['sessions', 'executions', 'files', 'terminals', 'builds', 'tokens', 'metrics'] as const;
export type Area = (typeof AREAS)[number];
export type Access = 'none' | 'read' | 'write';

/** The scopes of the API for the choices. `write` includes `read`. */
export function scopesOf(choices: Partial<Record<Area, Access>>): string[] {
  return AREAS.flatMap((area) => {
    const access = choices[area] ?? 'none';
    return access === 'none' ? [] : [`${area}:${access}`];
  });
}

/** Areas for a role: only tokens of an admin may read metrics. */
export function areasFor(role: string): Area[] {
  return AREAS.filter((area) => area !== 'metrics' || role === 'admin');
}

/** What an area can be given. Metrics can only be read. */
export function accessFor(area: Area, role: string): Access[] {
  return area === 'metrics' || role === 'reader' ? ['none', 'read'] : ['none', 'read', 'write'];
}

/** Roles that somebody of this role may give. */
export function rolesUpTo(role: string): ('admin' | 'member' | 'reader')[] {
  if (role === 'admin') return ['member', 'reader', 'admin'];
  return role === 'member' ? ['member', 'reader'] : ['reader'];
}

export interface TokenDates {
  revoked_at?: string | null | undefined;
  expires_at?: string | null | undefined;
}

/** Whether a token still works. */
export function tokenState(token: TokenDates, now: number = Date.now()): 'works' | 'revoked' | 'expired' {
  if (token.revoked_at) return 'revoked';
  if (token.expires_at && new Date(token.expires_at).getTime() <= now) return 'expired';
  return 'works';
}
