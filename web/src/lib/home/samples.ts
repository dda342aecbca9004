// What the "run something" box contains at first, for each language of the registry. Short, and visibly alive.

const samples: Record<string, string> = {
  python: `import time

for step in range(1, 6):
    print(f"step {step} of 5", flush=True)
    time.sleep(0.3)

print("done")
`,
  bash: `echo "Hello from $(uname -s)"
for n in 1 2 3; do
  echo "line $n"
  sleep 0.3
done
`,
  node: `for (let n = 1; n <= 5; n++) {
  console.log(\`\${n} squared is \${n * n}\`);
  await new Promise((done) => setTimeout(done, 200));
}
`,
  typescript: `const names: string[] = ["Ada", "Grace", "Linus"];
for (const name of names) console.log(\`Hello, \${name}\`);
`,
  c: `#include <stdio.h>

int main(void) {
    for (int n = 1; n <= 5; n++)
        printf("%d squared is %d\\n", n, n * n);
    return 0;
}
`,
  cpp: `#include <iostream>
#include <vector>

int main() {
    std::vector<int> primes{2, 3, 5, 7, 11};
    for (int prime : primes) std::cout << prime << " is prime\\n";
}
`,
  rust: `fn main() {
    let total: u64 = (1..=100).sum();
    println!("1 + 2 + ... + 100 = {total}");
}
`,
  go: `package main

import "fmt"

func main() {
	for n := 1; n <= 5; n++ {
		fmt.Printf("%d squared is %d\\n", n, n*n)
	}
}
`,
  java: `public class Main {
    public static void main(String[] args) {
        for (int n = 1; n <= 5; n++) {
            System.out.println(n + " squared is " + n * n);
        }
    }
}
`,
  perl: `for my $n (1 .. 5) {
    printf "%d squared is %d\\n", $n, $n ** 2;
}
`,
  ruby: `(1..5).each { |n| puts "#{n} squared is #{n**2}" }
`,
  php: `<?php
for ($n = 1; $n <= 5; $n++) {
    echo "$n squared is ", $n * $n, "\\n";
}
`,
  lua: `for n = 1, 5 do
  print(n .. " squared is " .. n * n)
end
`,
  r: `for (n in 1:5) cat(n, "squared is", n^2, "\\n")
`,
};

/** The sample of a language; '' for one that the operator has added. */
export function sampleOf(language: string): string {
  return samples[language] ?? '';
}

const titles: Record<string, string> = {
  bash: 'Bash',
  c: 'C',
  cpp: 'C++',
  go: 'Go',
  java: 'Java',
  lua: 'Lua',
  node: 'JavaScript',
  perl: 'Perl',
  php: 'PHP',
  python: 'Python',
  r: 'R',
  ruby: 'Ruby',
  rust: 'Rust',
  typescript: 'TypeScript',
};

/** The name of a language as people write it. */
export function titleOf(language: string): string {
  return titles[language] ?? language;
}

/** Installed languages first, Python before the others, as most people begin with it. */
export function sortLanguages<T extends { name: string; available: boolean }>(languages: readonly T[]): T[] {
  const rank = (language: T): string =>
    `${language.available ? 0 : 1}${language.name === 'python' ? 0 : 1}${titleOf(language.name).toLowerCase()}`;
  return [...languages].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
