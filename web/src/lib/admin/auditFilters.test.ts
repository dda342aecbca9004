import { describe, expect, it } from 'vitest';
import { exportQuery, fromQuery, serverQuery } from './auditFilters';

describe('filters of the audit log', () => {
  const filters = fromQuery(new URLSearchParams('owner=ann&action=session.create&result=denied&since=1h&object=ses_1'));

  it('are read from the address', () => {
    expect(filters).toEqual({
      owner: 'ann',
      action: 'session.create',
      object: 'ses_1',
      result: 'denied',
      since: '1h',
    });
    expect(fromQuery(new URLSearchParams('result=odd&since=toString')).since).toBe('');
  });

  it('become the query of the server', () => {
    expect(serverQuery(filters, 3_600_001)).toEqual({
      owner: 'ann',
      action: 'session.create',
      object: 'ses_1',
      result: 'denied',
      since_ms: 1,
    });
    expect(exportQuery(filters, 3_600_001)).toEqual({ owner: 'ann', since_ms: 1 });
  });
});
