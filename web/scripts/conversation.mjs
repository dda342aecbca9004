// The conversations of the pictures: what the scripted model says, and what people wrote.

const PATCH = `*** Begin Patch
*** Update File: main.py
@@
 """Counts the words of a text."""
+import re
 import sys
@@ def count(text: str) -> Counter[str]:
-    return Counter(text.lower().split())
+    return Counter(re.findall(r"[\\w']+", text.lower()))
*** End Patch`;
const ANSWER = `The counts were wrong because punctuation was part of the words: \`fox\` and \`fox,\` were two of them.
\`count\` now takes words by a regular expression, and **all three tests pass**.

| text | before | now |
| --- | ---: | ---: |
| \`the fox, the dog\` | 4 words | 3 words |
| \`don't stop\` | 2 words | 2 words |

\`\`\`python
def count(text: str) -> Counter[str]:
    return Counter(re.findall(r"[\\w']+", text.lower()))
\`\`\`
`;
const TESTS = `for n in 1 2 3; do printf '\\033[32mok\\033[0m %s - counts words\\n' $n; done; echo 'deprecated: assertEquals' >&2`;
const WATCH = `for n in $(seq 1 40); do echo "test case_$n ... ok"; done; sleep 0.3; echo 'waiting for the database' >&2; sleep 900`;
const PLAN = ['Reproduce the wrong count', 'Fix how words are split', 'Run the tests'];
const plan = (done) => ({
  name: 'update_plan',
  arguments: {
    plan: PLAN.map((step, at) => ({ step, status: at < done ? 'completed' : at === done ? 'in_progress' : 'pending' })),
  },
});
const run = (cmd) => ({ name: 'exec_command', arguments: { cmd } });

const rule = (text, ...turns) => ({ when: { last_user_contains: text }, turns });

/** The script of the model. */
export const script = {
  rules: [
    rule(
      'counts wrong',
      {
        reasoning: 'The report names commas. Look at how the text is split before changing anything.',
        text: 'I will reproduce it first.',
        tool_calls: [plan(0), run('python3 main.py the fox, the dog')],
        usage: { input_tokens: 2400, cached_tokens: 1800, output_tokens: 96, cost: 0.0018 },
      },
      { tool_calls: [{ name: 'apply_patch', arguments: { input: PATCH } }, run(TESTS)] },
      { tool_calls: [plan(3)] },
      { text: ANSWER, usage: { input_tokens: 5200, cached_tokens: 4100, output_tokens: 310, cost: 0.0042 } },
    ),
    rule('publish', {
      text: 'The package is built. I would upload it now.',
      tool_calls: [
        {
          name: 'exec_command',
          arguments: {
            cmd: 'twine upload dist/wordcount-1.4.0.tar.gz',
            justification: 'Version 1.4.0 becomes public and cannot be taken back.',
          },
        },
      ],
    }),
    rule('watch', {
      text: 'The tests run; I wait for them.',
      tool_calls: [{ name: 'code_execution', arguments: { runtime: 'terminal', code: WATCH, timeout: 1800 } }],
    }),
  ],
  turns: [{ text: 'Done.' }],
};

const OTHERS = [
  'تقرير الأسبوع: لخّص السجلات',
  'Compare the throughput of the three parsers on the corpus of last year and draw it as a table with percentiles',
  'Why does the build fail on Fridays?',
];

/** Has the conversations on a server whose model follows the script. Returns their ids. */
export async function converse(server, session) {
  const begin = async (text, more = {}) => {
    const { id } = await server.api('POST', '/v1/conversations', more);
    await server.api('POST', `/v1/conversations/${id}/messages`, { text });
    return id;
  };
  const until = async (id, isReached) => {
    for (let attempt = 0; attempt < 300; attempt += 1) {
      const now = await server.api('GET', `/v1/conversations/${id}`);
      if (isReached(now)) return;
      await new Promise((resolved) => setTimeout(resolved, 100));
    }
    throw new Error(`${id} did not get that far`);
  };
  const isDone = ({ is_running }) => !is_running;
  for (const text of OTHERS) await until(await begin(text), isDone);
  const chat = await begin('Somebody says that it counts wrong if there are commas. Find out why and fix it.', {
    session_id: session,
  });
  await until(chat, isDone);
  const running = await begin('Run the tests and watch them', { session_id: session });
  await until(running, ({ is_running }) => is_running);
  const approval = await begin('Build the package and publish it', { approval_policy: 'unless-trusted' });
  await until(approval, ({ is_waiting }) => is_waiting);
  return { chat, running, approval };
}
