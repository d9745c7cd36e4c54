"""The lint's check of the kinds of faults that docs/simulation.md counts."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "lint")
LOADER = importlib.machinery.SourceFileLoader("lint", PATH)
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", LOADER))
LOADER.exec_module(lint)

PAGE = ("Each of the 5 kinds has a counter.\nThere are 4 more for watchers and leases, 3 for users, 1 for locks\nand elections, 1 for agents "
        "and caches and 1 for archives (lint\ncompares). More.\n")


def findings(page, kinds):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (("docs/simulation.md", page),
                           ("tests/sim/fault_counters.h", f"std::array<std::string_view, {kinds}> kFaultNames = {{}};\n")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        kept, lint.ROOT = lint.ROOT, root
        try:
            return lint.faults_that_the_page_miscounts()
        finally:
            lint.ROOT = kept


class FaultCountsTest(unittest.TestCase):
    def test_numbers_that_add_up_are_right(self):
        self.assertEqual(findings(PAGE, 15), [])

    def test_a_kind_more_or_less_is_found(self):
        for kinds in (14, 16):
            self.assertEqual(len(findings(PAGE, kinds)), 1, kinds)

    def test_a_page_without_the_sentence_is_found(self):
        self.assertEqual(len(findings("Each kind has a counter.\n", 15)), 1)

    def test_this_tree_adds_up(self):
        self.assertEqual(lint.faults_that_the_page_miscounts(), [])


if __name__ == "__main__":
    unittest.main()
