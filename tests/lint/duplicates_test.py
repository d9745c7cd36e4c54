#!/usr/bin/env python3
"""The search for code that stands twice (scripts/duplicates)."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "duplicates")
LOADER = importlib.machinery.SourceFileLoader("duplicates", PATH)
duplicates = importlib.util.module_from_spec(importlib.util.spec_from_loader("duplicates", LOADER))
LOADER.exec_module(duplicates)


def code(name, count):
    return [f"  {name}{number}();" for number in range(count)]


class DuplicatesTest(unittest.TestCase):
    def found(self, *files):
        return duplicates.blocks({f"{number}.cc": "\n".join(lines) for number, lines in enumerate(files)})

    def test_a_block_in_two_files(self):
        self.assertEqual(self.found(["a();", *code("Step", 7)], ["b();", *code("Step", 7), "c();"]),
                         [(7, ("1.cc", 2, 8), ("0.cc", 2, 8))])

    def test_a_block_twice_in_one_file(self):
        self.assertEqual(self.found([*code("Step", 6), "a();", *code("Step", 6)]), [(6, ("0.cc", 8, 13), ("0.cc", 1, 6))])

    def test_every_further_place_counts(self):
        self.assertEqual(len(self.found(code("Step", 6), code("Step", 6), code("Step", 6))), 2)

    def test_comments_and_indentation_part_no_block(self):
        spread = [line for step in code("Step", 6) for line in ("  // why", "", f"    {step}  // how", "  }")]
        self.assertEqual(len(self.found(code("Step", 6), spread)), 1)

    def test_five_lines_are_none(self):
        self.assertEqual(self.found([*code("Step", 5), "a();"], [*code("Step", 5), "b();"]), [])

    def test_labels_and_overrides_do_not_count(self):
        labels = [f"    case Kind::k{number}:" for number in range(9)]
        overrides = [f"  void F{number}() override;" for number in range(9)]
        self.assertEqual(self.found([*labels, *overrides], [*labels, *overrides]), [])

    def test_equal_lines_in_a_row_do_not_copy_themselves(self):
        self.assertEqual(self.found(["  x = x + 1;"] * 8), [])

    def test_the_budget_only_goes_down(self):
        found = self.found(code("Step", 6), code("Step", 6))
        self.assertEqual(duplicates.findings(found, "blocks: 1\nlines: 6\n"), [])
        self.assertIn("1.cc:1-6", duplicates.findings(found, "blocks: 0\nlines: 6\n")[0])
        self.assertIn("lower the 9", duplicates.findings(found, "blocks: 1\nlines: 9\n")[0])


if __name__ == "__main__":
    unittest.main()
