import { describe, expect, it } from 'vitest';
import { DroppedError, Limited } from './limited';

function gate(): { open: () => void; wait: Promise<void> } {
  let open = (): void => undefined;
  const wait = new Promise<void>((resolve) => (open = resolve));
  return { open, wait };
}

describe('Limited', () => {
  it('runs a bounded number at once, the newest first', async () => {
    const limited = new Limited(1);
    const order: string[] = [];
    const first = gate();
    const work = (name: string, until?: Promise<void>): Promise<void> =>
      limited.run(async () => {
        order.push(name);
        await until;
      });
    const all = [work('a', first.wait), work('b'), work('c')];
    await Promise.resolve();
    expect(order).toEqual(['a']);
    first.open();
    await Promise.all(all);
    expect(order).toEqual(['a', 'c', 'b']);
  });

  it('goes on after a failure', async () => {
    const limited = new Limited(1);
    await expect(limited.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(limited.run(() => Promise.resolve(1))).resolves.toBe(1);
  });

  it('drops the oldest work beyond its bound', async () => {
    const limited = new Limited(1, 1);
    const first = gate();
    const running = limited.run(() => first.wait);
    const dropped = limited.run(() => Promise.resolve('old'));
    const kept = limited.run(() => Promise.resolve('new'));
    await expect(dropped).rejects.toBeInstanceOf(DroppedError);
    first.open();
    await running;
    await expect(kept).resolves.toBe('new');
  });
});
