// What the model says in the benchmarks of the chat.
import { flood } from '../common.mjs';

const DONE = { text: 'That is all.' };
const call = (runtime, code) => ({ name: 'code_execution', arguments: { runtime, code } });
const on = (text, ...turns) => ({ when: { last_user_contains: text }, turns });

/** Tokens of one answer. */
export const TOKENS = 50;
/** Calls of the long conversation, and seconds of its flood. */
export const CALLS = 100;
export const FLOOD_SECONDS = 5;
/** Commands that print a lot, and the bytes of each. */
export const LARGE_CALLS = 10;
export const LARGE_BYTES = 10_000_000;

const LINE = 'the quick brown fox jumps over the lazy dog 0123456789 abcdefghijkl';
const times = (count, make) => Array.from({ length: count }, (_, number) => make(number));

export const RULES = [
  // Each token is the time at which it is sent. Paragraphs, as in answers.
  on('tokens', { text: times(TOKENS, (n) => `{{now_ms}}${n % 10 === 9 ? '\n\n' : ' '}`).join(''), delay_ms: 21 }),
  on('first output', { tool_calls: [call('terminal', 'echo "at ${EPOCHREALTIME/[.,]/}"')] }, DONE),
  on('many calls', { tool_calls: times(CALLS, (n) => call('terminal', `echo ${n}`)) }, DONE),
  on('a flood', { tool_calls: [call('python', flood(FLOOD_SECONDS))] }, DONE),
  on(
    'much output',
    { tool_calls: times(LARGE_CALLS, (n) => call('terminal', `yes '${LINE} ${n}' | head -c ${LARGE_BYTES}`)) },
    DONE,
  ),
  on('little output', { tool_calls: times(LARGE_CALLS, (n) => call('terminal', `echo '${LINE} ${n}'`)) }, DONE),
];
