// Tests of navigation: the address, the history, links, and who may keep a page.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { beforeLeave, navigate, router, setQuery, startRouter } from './router.svelte';

let stop: () => void;

beforeEach(() => {
  history.replaceState(null, '', '/');
  router.sync();
  stop = startRouter();
});
afterEach(() => {
  stop();
  document.body.replaceChildren();
});

function click(href: string, attributes: Record<string, string> = {}): MouseEvent {
  const link = document.createElement('a');
  link.href = href;
  for (const [name, value] of Object.entries(attributes)) link.setAttribute(name, value);
  document.body.append(link);
  const event = new MouseEvent('click', { bubbles: true, cancelable: true, button: 0 });
  link.dispatchEvent(event);
  return event;
}

test('navigate changes the address and what it means', () => {
  navigate('/sessions/abc?file=a.py&line=3#L1');
  expect(router.path).toBe('/sessions/abc');
  expect(router.params).toEqual({ session: 'abc' });
  expect(router.query.get('file')).toBe('a.py');
  expect(router.hash).toBe('#L1');
});

test('setQuery changes some parameters and removes empty ones', () => {
  navigate('/history?state=running&text=x');
  setQuery({ text: '', owner: 'ann' });
  expect(location.search).toBe('?state=running&owner=ann');
});

test('a link of this origin is handled here, others are not', () => {
  expect(click('/settings').defaultPrevented).toBe(true);
  expect(router.path).toBe('/settings');
  const addresses: [string, Record<string, string>?][] = [
    ['/docs'],
    ['/v1/executions/x/output'],
    ['/history', { target: '_blank' }],
    ['/history', { download: '' }],
  ];
  for (const [href, attributes] of addresses) {
    // Stops the environment from following the link.
    const cancel = (event: Event): void => event.preventDefault();
    let wasHandled = false;
    const look = (event: Event): void => {
      wasHandled = event.defaultPrevented;
      cancel(event);
    };
    addEventListener('click', look);
    click(href, attributes);
    removeEventListener('click', look);
    expect(wasHandled, href).toBe(false);
  }
  expect(router.path).toBe('/settings');
});

test('a page can keep the person', () => {
  const remove = beforeLeave(() => false);
  navigate('/sessions');
  expect(router.path).toBe('/');
  remove();
  navigate('/sessions');
  expect(router.path).toBe('/sessions');
});
