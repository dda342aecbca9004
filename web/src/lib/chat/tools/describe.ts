// What a tool call is about: which card shows it, its command, and one line that sums it up.
import { chat as words } from '../../strings/chat';
import { scriptOf } from '../../app/commandText';
import type { ToolCall } from '../types';
import { partialJson } from './partialJson';

/** Which body the card has. */
export type CardKind = 'output' | 'diff' | 'image' | 'plan' | 'question' | 'agent' | 'other';

export interface Description {
  kind: CardKind;
  /** What is done, in one line. */
  summary: string;
  /** The whole command or code, for cards with output. */
  command: string | null;
  /** The language of the code; null for a command of the shell. */
  language: string | null;
}

/** What people call the tool. */
export function nameOf({ tool }: ToolCall): string {
  return (Object.hasOwn(words.tools.names, tool) ? words.tools.names[tool] : undefined) ?? tool;
}

type Input = Record<string, unknown>;

/** The arguments, also while the model still writes them. */
export function inputOf(call: ToolCall): Input {
  const value = call.input ?? (call.input_text ? partialJson(call.input_text) : null);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Input) : {};
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** One line of at most 200 characters. */
export function oneLine(value: string): string {
  const line = value
    .slice(0, 1000)
    .replace(/[\s\x00-\x1f\x7f]+/g, ' ')
    .trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

/** The first line of code that says something. */
function gist(code: string): string {
  return code.split('\n', 50).find((line) => /\w/.test(line) && !/^\s*(#|\/\/|--|import |from )/.test(line)) ?? code;
}

function output(command: string, language: string | null = null): Description {
  const summary = oneLine(language === null ? command : `${language}: ${gist(command)}`);
  return { kind: 'output', summary, command, language };
}

/** The part of `argv` that a person would have typed. */
function typed(argv: string[]): string {
  const script = scriptOf(argv);
  if (script !== null) return script;
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

/** Files that a patch names. */
export function patchedFiles(patch: string): string[] {
  return [...patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)].map(([, path = '']) => path.trim());
}

const simple = (kind: CardKind, summary: string): Description => ({
  kind,
  summary: oneLine(summary),
  command: null,
  language: null,
});

export function describe(call: ToolCall): Description {
  const input = inputOf(call);
  const path = text(input['file_path']) || text(input['path']) || text(input['dir_path']);
  const id = String(input['session_id'] ?? '');
  const say = words.tools;
  switch (call.tool) {
    case 'exec_command':
      return output(text(input['cmd']));
    case 'shell':
      return output(typed(list(input['command'])));
    case 'shell_command':
    case 'runCommand':
      return output(text(input['command']));
    case 'run_code':
      return output(text(input['code']), text(input['language']) || 'code');
    case 'code_execution': {
      const runtime = text(input['runtime']);
      return output(text(input['code']), runtime === 'terminal' ? null : runtime || 'code');
    }
    case 'write_stdin':
      return {
        ...output(''),
        summary: text(input['chars']) ? say.input(id, oneLine(text(input['chars']))) : say.poll(id),
      };
    case 'wait':
      return { ...output(''), summary: say.wait };
    case 'apply_patch':
      return simple('diff', patchedFiles(text(input['input']) || text(input['patch'])).join(', ') || say.patch);
    case 'edit_file':
      return simple('diff', path);
    case 'write_file':
      return simple('diff', path);
    case 'view_image':
      return simple('image', path);
    case 'update_plan':
      return simple('plan', text(input['explanation']));
    case 'request_user_input':
      return simple('question', say.question);
    case 'spawn_agent':
      return simple('agent', text(input['message']) || say.agent);
    case 'read_file':
    case 'list_dir':
      return simple('other', path || '.');
    case 'grep_files':
      return simple('other', [text(input['pattern']), path].filter(Boolean).join(' · '));
    case 'kill':
    case 'resize':
    case 'read_output':
      return simple('other', say.command(id));
    case 'request_permissions':
      return simple('other', text(input['reason']) || say.permissions);
    default:
      return simple(call.child_id ? 'agent' : 'other', firstText(input));
  }
}

/** The first argument that is a text: for tools that this page does not know. */
function firstText(input: Input): string {
  const found = Object.values(input).find((value) => typeof value === 'string' && value !== '');
  return text(found);
}
