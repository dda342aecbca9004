// The form for a new session: presets of limits, and the request that the fields stand for.

import type { Limits, SessionRequest } from 'headwater';
import { strings } from '$lib/strings/en';
import { parseSize, parseTime } from './amounts';

/** Common limits. They are filled into the fields, nothing else: the server does not know them. */
export const PRESETS = ['default', 'small', 'medium', 'large', 'custom'] as const;
export type Preset = (typeof PRESETS)[number];

/** The fields of limits, as text. Empty means the server's default. */
export interface LimitFields {
  memory: string;
  cpus: string;
  disk: string;
  pids: string;
  wall: string;
  output: string;
}

export interface EnvField {
  name: string;
  value: string;
  isSecret: boolean;
}

/** Everything that can be filled in. */
export interface SessionForm {
  /** The name of a template, or empty. */
  template: string;
  name: string;
  network: 'none' | 'packages' | 'full';
  idle: string;
  limits: LimitFields;
  env: EnvField[];
}

export const NO_LIMITS: LimitFields = { memory: '', cpus: '', disk: '', pids: '', wall: '', output: '' };

export const PRESET_LIMITS: Readonly<Record<Exclude<Preset, 'custom'>, LimitFields>> = {
  default: NO_LIMITS,
  small: { ...NO_LIMITS, memory: '512 MiB', cpus: '1', disk: '1 GiB', pids: '128' },
  medium: { ...NO_LIMITS, memory: '2 GiB', cpus: '2', disk: '5 GiB', pids: '512' },
  large: { ...NO_LIMITS, memory: '8 GiB', cpus: '4', disk: '20 GiB', pids: '2048' },
};

/** The preset whose limits these are. */
export function presetOf(limits: LimitFields): Preset {
  const names = Object.keys(limits) as (keyof LimitFields)[];
  const found = (Object.keys(PRESET_LIMITS) as Exclude<Preset, 'custom'>[]).find((preset) =>
    names.every((name) => PRESET_LIMITS[preset][name] === limits[name].trim()),
  );
  return found ?? 'custom';
}

/** Messages by field. Fields of variables are `env.0`, `env.1`, … */
export type FormErrors = Readonly<Record<string, string>>;

/** The request of a form, or what is wrong with it. */
export function requestOf(
  form: SessionForm,
): { request: SessionRequest; errors: null } | { request: null; errors: FormErrors } {
  const words = strings.sessions.form;
  const errors: Record<string, string> = {};
  const read = (
    name: keyof LimitFields | 'idle',
    text: string,
    parse: (text: string) => number | null,
    message: string,
  ): number | null => {
    if (text.trim() === '') return null;
    const value = parse(text);
    if (value === null || value <= 0) errors[name] = message;
    return value;
  };
  const { limits: fields } = form;
  const all = {
    memory_bytes: read('memory', fields.memory, parseSize, words.badSize),
    cpus: read('cpus', fields.cpus, parseCount, words.badNumber),
    disk_bytes: read('disk', fields.disk, parseSize, words.badSize),
    pids: read('pids', fields.pids, parseWhole, words.badWhole),
    wall_ms: read('wall', fields.wall, parseTime, words.badTime),
    output_bytes: read('output', fields.output, parseSize, words.badSize),
  };
  const idle = read('idle', form.idle, parseTime, words.badTime);
  const { env, secrets } = readEnv(form.env, errors);
  if (Object.keys(errors).length > 0) return { request: null, errors };
  const limits = Object.fromEntries(Object.entries(all).filter((entry) => entry[1] !== null)) as Limits;
  const name = form.name.trim();
  const request: SessionRequest = {
    network: form.network,
    ...(form.template ? { template: form.template } : {}),
    ...(name ? { name } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(idle === null ? {} : { idle_timeout_ms: idle }),
    ...(Object.keys(env).length > 0 ? { env } : {}),
    ...(secrets.length > 0 ? { secret_env: secrets } : {}),
  };
  return { request, errors: null };
}

function parseCount(text: string): number | null {
  return /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
}

function parseWhole(text: string): number | null {
  return /^\s*\d{1,9}\s*$/.test(text) ? Number(text) : null;
}

function readEnv(
  fields: readonly EnvField[],
  errors: Record<string, string>,
): { env: Record<string, string>; secrets: string[] } {
  const words = strings.sessions.form;
  const env: Record<string, string> = {};
  const secrets: string[] = [];
  fields.forEach((field, at) => {
    const name = field.name.trim();
    if (name === '' && field.value === '') return;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) errors[`env.${at}`] = words.badVariable;
    else if (Object.hasOwn(env, name)) errors[`env.${at}`] = words.doubleVariable;
    else if (field.isSecret && new TextEncoder().encode(field.value).length < 4)
      errors[`env.${at}`] = words.shortSecret;
    else {
      env[name] = field.value;
      if (field.isSecret) secrets.push(name);
    }
  });
  return { env, secrets };
}

/** Variables from pasted lines of the form `NAME=value`, as in a file `.env`. Comments are left out. */
export function parseEnvLines(text: string): EnvField[] {
  const found: EnvField[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (!match) continue;
    const value = (match[2] ?? '').trim().replace(/^(["'])(.*)\1$/, '$2');
    found.push({ name: match[1] ?? '', value, isSecret: false });
  }
  return found;
}
