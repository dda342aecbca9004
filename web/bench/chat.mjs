// Measures the chat in a real browser against the real binary and a scripted model, beside floors of the same run: from
// the model's token to the page, from the first output of a command to its glyph, frames while a command floods a long
// conversation, heap with 100 MB of output, time to interactive. Needs `npm run build`, HEADWATER_BIN, and the binary
// scripted-model beside it. `node bench/chat.mjs chat-token chat-output ...` selects some.
import { launch, openPage, runParts } from './common.mjs';
import { ScriptedModel } from '../tests/model.mjs';
import { TestServer } from '../tests/server.mjs';
import { heap } from './chat/heap.mjs';
import { load } from './chat/load.mjs';
import { output } from './chat/output.mjs';
import { RULES } from './chat/script.mjs';
import { smooth } from './chat/smooth.mjs';
import { token } from './chat/token.mjs';

const model = await ScriptedModel.start({ rules: RULES, turns: [{ text: 'I have no more to say.' }] });
const server = await TestServer.create({ config: model.config });
const browser = await launch();

/** What the parts work with. */
const stage = {
  model,
  server,
  open: (path) => openPage(browser, server, path),
  /** A new conversation. Returns its id. */
  conversation: async () => (await server.api('POST', '/v1/conversations', {})).id,
  send: (id, text) => server.api('POST', `/v1/conversations/${id}/messages`, { text }),
  /** Waits until the turn has ended, and returns the conversation. For what is not measured meanwhile. */
  ended: async (id) => {
    for (;;) {
      const conversation = await server.api('GET', `/v1/conversations/${id}`);
      const { turn } = conversation;
      if (turn?.outcome === 'completed') return conversation;
      if (turn?.outcome) throw new Error(`the turn has ${turn.outcome}: ${turn.error ?? ''}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  },
};
/** A part of `stage`, which a name on the command line selects. */
const part = (measure) => () => measure(stage);

try {
  await runParts(
    {
      'chat-token': part(token),
      'chat-output': part(output),
      'chat-smooth': part(smooth),
      'chat-heap': part(heap),
      'chat-load': part(load),
    },
    process.argv.slice(2),
  );
} finally {
  await browser.close();
  await server.close();
  await model.close();
}
