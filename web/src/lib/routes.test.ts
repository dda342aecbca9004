// Tests of the table of routes.
import { describe, expect, test } from 'vitest';
import { matchRoute } from './routes';

describe('routes', () => {
  test.each([
    ['/', 'Home', {}],
    ['/sessions', 'Sessions', {}],
    ['/sessions/', 'Sessions', {}],
    ['/sessions/my%20session', 'Ide', { session: 'my session' }],
    ['/executions/exe_1', 'Execution', { id: 'exe_1' }],
    ['/chat', 'Chat', {}],
    ['/chat/cnv_1', 'Chat', { id: 'cnv_1' }],
    ['/settings', 'Settings', {}],
    ['/settings/tokens', 'Settings', { tab: 'tokens' }],
    ['/sessions/%E0%A4%A', 'Ide', { session: '%E0%A4%A' }],
  ])('%s', (path, page, params) => {
    const match = matchRoute(path);
    expect(match.route?.page).toBe(page);
    expect(match.params).toEqual(params);
  });

  test.each(['/nowhere', '/settings/a/b', '/executions'])('%s is no page', (path) => {
    expect(matchRoute(path).route).toBeNull();
  });
});
