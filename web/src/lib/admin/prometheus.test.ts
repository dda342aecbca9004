import { describe, expect, it } from 'vitest';
import { parseMetrics, valueOf } from './prometheus';

const TEXT = `# HELP headwater_sessions sessions, by state.
# TYPE headwater_sessions gauge
headwater_sessions{state="ready"} 3
headwater_sessions{state="hibernated"} 2
headwater_requests_total{status="200"} 1.5e3 1700000000
headwater_queue_length 0
headwater_start_seconds_bucket{le="+Inf"} 7 # {trace_id="x"} 0.5
headwater_odd{path="C:\\\\tmp \\"a\\"\\n}", b="1",} NaN
headwater_infinite +Inf
not a sample
# EOF
`;

describe('parseMetrics', () => {
  const scrape = parseMetrics(TEXT);

  it('reads values with and without labels', () => {
    expect(valueOf(scrape, 'headwater_sessions', { state: 'ready' })).toBe(3);
    expect(valueOf(scrape, 'headwater_queue_length')).toBe(0);
    expect(valueOf(scrape, 'headwater_requests_total')).toBe(1500);
  });

  it('sums the series that match', () => {
    expect(valueOf(scrape, 'headwater_sessions')).toBe(5);
  });

  it('tells an absent metric from zero', () => {
    expect(valueOf(scrape, 'headwater_absent')).toBeNull();
    expect(valueOf(scrape, 'headwater_sessions', { state: 'gone' })).toBeNull();
  });

  it('resolves escapes, keeps braces in values and ignores exemplars', () => {
    const odd = scrape.get('headwater_odd')?.[0];
    expect(odd?.labels['path']).toBe('C:\\tmp "a"\n}');
    expect(odd?.labels['b']).toBe('1');
    expect(odd?.value).toBeNaN();
    expect(valueOf(scrape, 'headwater_start_seconds_bucket', { le: '+Inf' })).toBe(7);
    expect(valueOf(scrape, 'headwater_infinite')).toBe(Infinity);
  });

  it('leaves out lines that it does not understand', () => {
    expect(scrape.has('not')).toBe(false);
    expect(parseMetrics('a{b="unclosed 1\nc{=} 2\nd\n').size).toBe(0);
  });
});
