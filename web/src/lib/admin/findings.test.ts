import { describe, expect, it } from 'vitest';
import { findingsOf } from './findings';
import { Measurements } from './metrics';
import { parseMetrics } from './prometheus';

const healthy = `headwater_worker_up 1
headwater_disk_free_bytes 500
headwater_disk_total_bytes 1000
headwater_disk_short 0
headwater_panics{process="server"} 0
headwater_panics{process="worker"} 0
headwater_queue_length 0
headwater_open_files{process="server"} 10
headwater_max_files{process="server"} 1000
headwater_max_files{process="worker"} 0
headwater_open_files{process="worker"} 10
`;

describe('findingsOf', () => {
  it('has nothing to say about a healthy server', () => {
    expect(findingsOf(parseMetrics(healthy), null)).toEqual([]);
  });

  it('reports what is wrong', () => {
    const text = healthy
      .replace('worker_up 1', 'worker_up 0')
      .replace('free_bytes 500', 'free_bytes 50')
      .replace('panics{process="worker"} 0', 'panics{process="worker"} 2')
      .replace('open_files{process="server"} 10', 'open_files{process="server"} 900');
    expect(findingsOf(parseMetrics(text), null).map((finding) => finding.level)).toEqual([
      'danger',
      'warning',
      'danger',
      'warning',
    ]);
  });
});

describe('Measurements', () => {
  it('turns counters into rates and keeps gauges', () => {
    const measurements = new Measurements();
    const scrape = (sent: number): ReturnType<typeof parseMetrics> =>
      parseMetrics(`headwater_sent_bytes_total ${sent}\nheadwater_sessions{state="ready"} 3\n`);
    expect(measurements.next(0, scrape(100)).sent).toBeNull();
    const second = measurements.next(2000, scrape(300));
    expect(second.sent).toBe(100);
    expect(second.ready).toBe(3);
    expect(second.waiting).toBeNull();
  });
});
