"""Counts the words of a text."""
import sys
from collections import Counter


def count(text: str) -> Counter[str]:
    return Counter(text.lower().split())


if __name__ == "__main__":
    text = " ".join(sys.argv[1:]) or "the quick brown fox jumps over the lazy dog"
    for word, times in count(text).most_common(5):
        print(f"{times:3} {word}")
