// How an execution ended, in words, and its command on one line.
import { scriptOf } from '../app/commandText';
import { bytes, count, duration } from '../ui/format';
import { runs } from '../strings/runs';
import type { Exit } from './events';

const words = runs.end;

const SIGNALS: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  5: 'SIGTRAP',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  10: 'SIGUSR1',
  11: 'SIGSEGV',
  12: 'SIGUSR2',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  25: 'SIGXFSZ',
  31: 'SIGSYS',
};

export function signalName(signal: number): string {
  return SIGNALS[signal] ?? `signal ${signal}`;
}

/** `exited with 3 after 12.4 s`, `killed: out of memory at 512 MiB`, ... */
export function endWords(exit: Exit, durationMs: number | null): string {
  const time = durationMs === null ? '' : words.after(duration(durationMs));
  const detail = exit.detail ?? null;
  const limit = detail?.kind === 'limit' && typeof detail.limit === 'number' ? detail.limit : null;
  switch (exit.reason) {
    case 'exited': {
      const rest =
        limit === null
          ? ''
          : words.childKilled(
              detail?.which === 'memory_bytes' ? words.memoryOf(bytes(limit)) : words.limitOf(detail?.which ?? ''),
            );
      return words.exited(exit.code ?? 0, time) + rest;
    }
    case 'signalled':
      return words.signalled(signalName(exit.signal ?? 0), time);
    case 'timed_out':
      if (detail?.kind === 'timed_out' && detail.after_ms !== undefined)
        return words.timedOut(duration(detail.after_ms));
      if (limit !== null && detail?.which === 'cpu_ms') return words.cpuTime(duration(limit));
      return words.timedOutPlain(time);
    case 'cancelled':
      if (detail?.kind === 'session_ended') return words.sessionEnded(time);
      if (detail?.kind === 'session_hibernated') return words.sessionHibernated(time);
      return words.cancelled(time);
    case 'oom':
      return limit === null ? words.oomPlain : words.oom(bytes(limit));
    case 'output_limit':
      return limit === null ? words.outputLimitPlain : words.outputLimit(bytes(limit));
    case 'disk_limit':
      if (limit === null) return words.diskLimitPlain;
      return detail?.which === 'inodes' ? words.inodes(count(limit)) : words.diskLimit(bytes(limit));
    case 'setup_failed':
      return setupWords(exit);
    case 'lost':
      return words.lost;
    default:
      return exit.message ?? exit.reason.replaceAll('_', ' ');
  }
}

function setupWords(exit: Exit): string {
  const { detail } = exit;
  const name = detail?.name ?? '';
  switch (detail?.kind) {
    case 'command_not_found':
      return words.setupFailed(words.commandNotFound(name));
    case 'interpreter_not_found':
      return words.setupFailed(words.interpreterNotFound(name));
    case 'not_executable':
      return words.setupFailed(words.notExecutable(name));
    case 'bad_working_directory':
      return words.setupFailed(words.badDirectory(detail.path ?? ''));
    case 'arguments_too_long':
      return words.setupFailed(words.argumentsTooLong);
    case 'no_resources':
      return words.setupFailed(words.noResources);
    default:
      return exit.message ? words.setupFailed(exit.message) : words.setupFailedPlain;
  }
}

/** Whether the end is one that somebody wanted. */
export function isSuccess(exit: Exit): boolean {
  return exit.reason === 'exited' && (exit.code ?? 0) === 0;
}

/** A command as the API returns it, in one of three forms. */
export type Command =
  | { argv: string[] }
  | { shell: string }
  | { code: { language: string; code: string; file?: string | null; args?: string[] } };

/** The command as people type it. Of code, the first line that says something. */
export function commandLine(command: Command): string {
  if ('shell' in command) return oneLine(command.shell);
  if ('argv' in command) return oneLine(scriptOf(command.argv) ?? command.argv.map(quote).join(' '));
  const { language, code, file, args } = command.code;
  const rest = args && args.length > 0 ? ` ${args.map(quote).join(' ')}` : '';
  if (file) return oneLine(`${language} ${quote(file)}${rest}`);
  const first = code.split('\n').find((line) => /\w/.test(line) && !/^\s*(#|\/\/|\/\*|--)/.test(line)) ?? code;
  return oneLine(`${language}: ${first}${rest}`);
}

/** The whole command, for copying. */
export function commandText(command: Command): string {
  if ('shell' in command) return command.shell;
  if ('argv' in command) return command.argv.map(quote).join(' ');
  return command.code.code;
}

function oneLine(text: string): string {
  const short = text.length > 400 ? `${text.slice(0, 400)}…` : text;
  return short.replace(/[\s\x00-\x1f\x7f]+/g, ' ').trim();
}

/** Quotes an argument for a POSIX shell if that is necessary. */
export function quote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
