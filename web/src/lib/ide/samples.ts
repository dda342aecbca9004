// The programs that an empty workspace offers. Each shows input, a loop and output, and runs at once.

export interface Sample {
  id: 'python' | 'cpp' | 'javascript';
  path: string;
  text: string;
}

export const SAMPLES: readonly Sample[] = [
  {
    id: 'python',
    path: 'main.py',
    text: `import time


def main() -> None:
    print("Hello from Python")
    for step in range(1, 6):
        print(f"step {step} of 5", flush=True)
        time.sleep(0.3)
    print("done")


if __name__ == "__main__":
    main()
`,
  },
  {
    id: 'cpp',
    path: 'main.cpp',
    text: `#include <iostream>
#include <numeric>
#include <vector>

int main() {
    std::vector<int> numbers(10);
    std::iota(numbers.begin(), numbers.end(), 1);
    std::cout << "Hello from C++\\n";
    std::cout << "the sum of 1 to 10 is " << std::accumulate(numbers.begin(), numbers.end(), 0) << "\\n";
    return 0;
}
`,
  },
  {
    id: 'javascript',
    path: 'index.js',
    text: `const words = ["hello", "from", "node", process.version];

console.log(words.join(" "));
setTimeout(() => console.log("one second later"), 1000);
`,
  },
];
