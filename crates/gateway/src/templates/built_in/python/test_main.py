"""Run with: python3 -m unittest"""
import unittest

from main import count


class CountTest(unittest.TestCase):
    def test_case_does_not_matter(self) -> None:
        self.assertEqual(count("A a b")["a"], 2)
