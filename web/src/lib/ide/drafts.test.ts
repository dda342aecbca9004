import { beforeEach, describe, expect, it } from 'vitest';
import { Drafts, hashOf } from './drafts';

const draft = (path: string, text: string, at = 1) => ({ path, text, at, etag: '"1"', base: hashOf('') });

describe('drafts', () => {
  beforeEach(() => localStorage.clear());

  it('keeps the text until it is saved', () => {
    const drafts = new Drafts('s', 'tab1', localStorage);
    drafts.put(draft('a.py', 'x = 1'));
    expect(drafts.find('a.py', new Set())).toMatchObject({ text: 'x = 1', etag: '"1"', tab: 'tab1' });
    drafts.remove('a.py');
    expect(drafts.find('a.py', new Set())).toBe(null);
  });

  it('does not take the draft of a tab that lives', () => {
    new Drafts('s', 'tab1', localStorage).put(draft('a.py', 'theirs'));
    const mine = new Drafts('s', 'tab2', localStorage);
    expect(mine.find('a.py', new Set(['tab1']))).toBe(null);
    expect(mine.find('a.py', new Set())?.text).toBe('theirs');
    mine.put(draft('a.py', 'mine'));
    expect(mine.find('a.py', new Set())?.text).toBe('mine');
  });

  it('keeps sessions apart and survives damaged entries', () => {
    new Drafts('s', 't', localStorage).put(draft('a', '1'));
    localStorage.setItem('headwater:draft:s:t:b', '{broken');
    expect(new Drafts('s2', 't', localStorage).all()).toEqual([]);
    expect(new Drafts('s', 't', localStorage).all()).toHaveLength(1);
  });

  it('says when there is no room', () => {
    const full = {
      length: 0,
      key: () => null,
      getItem: () => null,
      removeItem: () => undefined,
      setItem: () => {
        throw new DOMException('full', 'QuotaExceededError');
      },
    };
    expect(new Drafts('s', 't', full).put(draft('a', '1'))).toBe(false);
  });

  it('hashes texts', () => {
    expect(hashOf('a')).not.toBe(hashOf('b'));
    expect(hashOf('')).toBe(hashOf(''));
  });
});
