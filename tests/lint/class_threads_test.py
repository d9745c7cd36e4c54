"""The lint's check that a class says which threads may use it: the words that it takes for that."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "lint")
LOADER = importlib.machinery.SourceFileLoader("lint", PATH)
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", LOADER))
LOADER.exec_module(lint)


def findings(of_header, of_class, members=" private:\n  int size_ = 0;\n"):
    header = f"// {of_header}\n#pragma once\n\n// {of_class}\nclass Table {{\n{members}}};\n"
    return lint.classes_without_threads({"room/table.h": header})


class ClassThreadsTest(unittest.TestCase):
    def test_the_class_or_its_header_says_it(self):
        for said in ("Used by the apply executor only.", "Thread-safe.", "Used on the loop's thread.", "Immutable.",
                     "A value.", "A plain value.", "Both types are values.", "Guarded by the hub's lock.",
                     "Belongs to the holder of the lock around it."):
            self.assertEqual(findings("A table.", f"Rows. {said}"), [], said)
            self.assertEqual(findings(f"A table. {said}", "Rows."), [], said)

    def test_words_about_other_things_do_not_say_it(self):
        for said in ("Each value is checked.", "A value of a row is text.", "The block of a clock.",
                     "An open file with a lock that ends with it.", "The values' sum.", "A looped list of planes."):
            self.assertEqual(findings("A table.", said), ["room/table.h:5: say which threads may use Table"], said)

    def test_a_class_without_state_need_not_say_it(self):
        self.assertEqual(findings("A table.", "Rows.", members=" public:\n  virtual void Add() = 0;\n"), [])

    def test_a_tool_says_it_too(self):
        self.assertNotIn("tools/", lint.UNTHREADED)


if __name__ == "__main__":
    unittest.main()
