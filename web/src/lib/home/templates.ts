// Templates: a session with a few files to begin with. Offered if their language is installed.
import { client } from '../app/client';
import type { Session } from 'headwater';

export interface Template {
  id: string;
  title: string;
  text: string;
  /** The language that must be installed. */
  language: string;
  /** The file that is opened. */
  main: string;
  files: Record<string, string>;
}

export const templates: readonly Template[] = [
  {
    id: 'python',
    title: 'Python',
    text: 'A script and a test',
    language: 'python',
    main: 'main.py',
    files: {
      'main.py': `"""Counts the words of a text."""
import sys
from collections import Counter


def count(text: str) -> Counter[str]:
    return Counter(text.lower().split())


if __name__ == "__main__":
    text = " ".join(sys.argv[1:]) or "the quick brown fox jumps over the lazy dog"
    for word, times in count(text).most_common(5):
        print(f"{times:3} {word}")
`,
      'test_main.py': `"""Run with: python3 -m unittest"""
import unittest

from main import count


class CountTest(unittest.TestCase):
    def test_case_does_not_matter(self) -> None:
        self.assertEqual(count("A a b")["a"], 2)
`,
    },
  },
  {
    id: 'cpp',
    title: 'C++',
    text: 'Two files, compiled at a click',
    language: 'cpp',
    main: 'main.cpp',
    files: {
      'main.cpp': `#include <iostream>

#include "primes.hpp"

int main() {
    for (int prime : primes_below(50)) std::cout << prime << ' ';
    std::cout << '\\n';
}
`,
      'primes.hpp': `#pragma once

#include <vector>

inline std::vector<int> primes_below(int limit) {
    std::vector<bool> is_composite(limit, false);
    std::vector<int> primes;
    for (int n = 2; n < limit; ++n) {
        if (is_composite[n]) continue;
        primes.push_back(n);
        for (int m = n * n; m < limit; m += n) is_composite[m] = true;
    }
    return primes;
}
`,
    },
  },
  {
    id: 'web',
    title: 'Web server',
    text: 'A page served by Node.js on port 3000',
    language: 'node',
    main: 'server.js',
    files: {
      'server.js': `const { createServer } = require("node:http");
const { readFileSync } = require("node:fs");

const port = 3000;

createServer((request, response) => {
  console.log(request.method, request.url);
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(readFileSync("index.html"));
}).listen(port, () => console.log(\`listening on port \${port}\`));
`,
      'index.html': `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>Hello</title>
  <h1>Hello from a session</h1>
</html>
`,
    },
  },
];

/** Creates a session with the files of a template. */
export async function createFrom(template: Template): Promise<Session> {
  const session = await client.sessions.create({ name: template.title });
  for (const [path, content] of Object.entries(template.files)) {
    await client.files.write(session.id, path, new TextEncoder().encode(content));
  }
  return session;
}
