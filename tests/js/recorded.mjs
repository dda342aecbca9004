// A recorded terminal session in a page: ```console blocks with `$ commands` (`> ` continues one) and their output.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const BLOCK = /```console\n([\s\S]*?)```/g;

/** The commands of a page with the output that it shows, block by block. */
export function parse(page) {
  return [...page.matchAll(BLOCK)].map(([, text]) => {
    const steps = [];
    for (const line of text.split("\n").slice(0, -1)) {
      if (line.startsWith("$ ")) steps.push({ lines: [line.slice(2)], output: [] });
      else if (line.startsWith("> ") && steps.at(-1).output.length === 0) steps.at(-1).lines.push(line.slice(2));
      else steps.at(-1).output.push(line);
    }
    return steps.map(({ lines, output }) => ({ command: lines.join("\n"), output: output.join("\n") }));
  });
}

/** The page with other outputs. */
export function write(page, blocks) {
  let at = 0;
  return page.replace(BLOCK, () => {
    const shown = blocks[at++].map(({ command, output }) => `$ ${command.replaceAll("\n", "\n> ")}\n${output}${output && "\n"}`);
    return `\`\`\`console\n${shown.join("")}\`\`\``;
  });
}

/**
 * Runs the commands in one shell, which stops at the first that fails. Returns the output of each, or throws with that of
 * the one that failed.
 */
export async function run(blocks, { cwd, env, edit }) {
  const folder = await mkdtemp(join(tmpdir(), "hw-page-"));
  const steps = blocks.flat();
  const file = (n) => join(folder, `${n}.out`);
  try {
    const script = steps.map(({ command }, n) => `{\n${edit(command)}\n} >'${file(n)}' 2>&1 || exit 1\n`).join("");
    await writeFile(join(folder, "script"), `set -o pipefail\n${script}`);
    const failure = await promisify(execFile)("bash", [join(folder, "script")], { cwd, env, timeout: 110_000 }).catch((error) => error);
    const outputs = [];
    for (let n = 0; n < steps.length; n++) outputs.push(await readFile(file(n), "utf8").catch(() => undefined));
    if (failure instanceof Error) {
      const last = outputs.findLastIndex((output) => output !== undefined);
      throw new Error(`failed: ${steps[last]?.command}\n${outputs[last]}\n${failure.stderr}`);
    }
    let at = 0;
    return blocks.map((block) => block.map(({ command }) => ({ command, output: outputs[at++].trimEnd() })));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What stays the same from run to run: ids, times and large numbers are replaced. */
export function shape(text) {
  return text
    .replace(/\b(exe|ses|req)_[0-9a-f]+/g, "$1_ID")
    .replace(/\b[0-9a-f]{64}\b/g, "HASH")
    .replace(/Chunk ID: [0-9a-f]{6}/g, "Chunk ID: ID")
    .replace(/\b\d+\.\d+\b/g, "N.N")
    .replace(/\b\d{4,}\b/g, "N");
}
