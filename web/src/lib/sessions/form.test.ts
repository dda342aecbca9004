import { describe, expect, it } from 'vitest';
import { parseSize, parseTime } from './amounts';
import { NO_LIMITS, parseEnvLines, PRESET_LIMITS, presetOf, requestOf, type SessionForm } from './form';

const empty: SessionForm = { template: '', name: ' ', network: 'none', idle: '', limits: NO_LIMITS, env: [] };

describe('amounts', () => {
  it('reads sizes', () => {
    expect(parseSize('512 MiB')).toBe(512 * 1024 ** 2);
    expect(parseSize('1.5g')).toBe(1.5 * 1024 ** 3);
    expect(parseSize('64')).toBe(64 * 1024 ** 2);
    expect(parseSize('100 B')).toBe(100);
    expect(parseSize('4KB')).toBe(4096);
    for (const bad of ['', 'x', '-1 MiB', '1 PiB', '1e9']) expect(parseSize(bad)).toBeNull();
  });

  it('reads times', () => {
    expect(parseTime('90s')).toBe(90_000);
    expect(parseTime('2 h')).toBe(7_200_000);
    expect(parseTime('30')).toBe(1_800_000);
    expect(parseTime('500ms')).toBe(500);
    for (const bad of ['', 'soon', '-1m']) expect(parseTime(bad)).toBeNull();
  });
});

describe('requestOf', () => {
  it('leaves out what was not filled in', () => {
    expect(requestOf(empty)).toEqual({ request: { network: 'none' }, errors: null });
  });

  it('has everything that was', () => {
    const form: SessionForm = {
      template: 'python',
      name: ' api ',
      network: 'packages',
      idle: '2h',
      limits: { ...NO_LIMITS, memory: '1 GiB', cpus: '0.5', pids: '64', wall: '10m', output: '10 MiB', disk: '2g' },
      env: [
        { name: 'KEY', value: 'secret', isSecret: true },
        { name: '', value: '', isSecret: false },
        { name: 'A', value: '', isSecret: false },
      ],
    };
    expect(requestOf(form).request).toEqual({
      template: 'python',
      name: 'api',
      network: 'packages',
      idle_timeout_ms: 7_200_000,
      limits: {
        memory_bytes: 1024 ** 3,
        cpus: 0.5,
        disk_bytes: 2 * 1024 ** 3,
        pids: 64,
        wall_ms: 600_000,
        output_bytes: 10 * 1024 ** 2,
      },
      env: { KEY: 'secret', A: '' },
      secret_env: ['KEY'],
    });
  });

  it('says which field is wrong', () => {
    const { errors } = requestOf({
      ...empty,
      idle: 'soon',
      limits: { ...NO_LIMITS, memory: 'much', cpus: '0' },
      env: [
        { name: '1x', value: '', isSecret: false },
        { name: 'A', value: '1', isSecret: false },
        { name: 'A', value: '2', isSecret: false },
        { name: 'S', value: 'abc', isSecret: true },
      ],
    });
    expect(Object.keys(errors ?? {}).sort()).toEqual(['cpus', 'env.0', 'env.2', 'env.3', 'idle', 'memory']);
  });
});

describe('presets', () => {
  it('are recognised by their limits', () => {
    expect(presetOf(NO_LIMITS)).toBe('default');
    expect(presetOf(PRESET_LIMITS.medium)).toBe('medium');
    expect(presetOf({ ...PRESET_LIMITS.medium, memory: '3 GiB' })).toBe('custom');
  });

  it('are valid requests', () => {
    for (const limits of Object.values(PRESET_LIMITS)) {
      expect(requestOf({ ...empty, limits }).errors).toBeNull();
    }
  });
});

describe('parseEnvLines', () => {
  it('reads the lines of a file .env', () => {
    expect(parseEnvLines('# c\nexport A="x y"\nB=1=2\r\nbad line\nC=')).toEqual([
      { name: 'A', value: 'x y', isSecret: false },
      { name: 'B', value: '1=2', isSecret: false },
      { name: 'C', value: '', isSecret: false },
    ]);
  });
});
