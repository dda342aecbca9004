import { describe, expect, it } from 'vitest';
import { decideIncoming } from './document.svelte';

const document = { etag: '1', baseText: 'base', isDirty: true };

describe('a file that changes underneath', () => {
  it('decides what to do', () => {
    expect(decideIncoming(document, { etag: '1', text: 'x' }, 'mine')).toBe('same');
    expect(decideIncoming(document, { etag: '2', text: 'base' }, 'mine')).toBe('adopt');
    expect(decideIncoming(document, { etag: '2', text: 'mine' }, 'mine')).toBe('saved');
    expect(decideIncoming(document, { etag: '2', text: 'theirs' }, 'mine')).toBe('conflict');
    expect(decideIncoming({ ...document, isDirty: false }, { etag: '2', text: 'theirs' }, 'base')).toBe('replace');
  });
});
