"""The lint's check of names in comments: what it takes for a name, and where it looks for it."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "lint")
LOADER = importlib.machinery.SourceFileLoader("lint", PATH)
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", LOADER))
LOADER.exec_module(lint)


def findings(comment):
    sources = {"room/code.cc": "class LeaseTable { void Attach(int key_id); int size_; };  // NoName\n",
               "room/table.h": f"// {comment}\n"}
    return [found.split(": ")[-1] for found in
            lint.comments_that_name_nothing(sources, {"tool.py": "def read_all(): pass\n"})
            if found.startswith("room/table.h:")]


class CommentNamesTest(unittest.TestCase):
    def test_names_of_the_code_exist(self):
        for comment in ("LeaseTable::Attach", "`key_id`", "size_ grows", "Attach() and read_all()", "room/code.cc",
                        "code.cc and table.h", "`LeaseTable::Attach(key_id)`"):
            self.assertEqual(findings(comment), [], comment)

    def test_a_name_that_no_code_has_is_found(self):
        for comment, word in (("LeaseTree", "LeaseTree"), ("`row_id` is one", "row_id"), ("count_ grows", "count_"),
                              ("LeaseTable::Detach", "Detach"), ("kMostKeys", "kMostKeys"), ("Detach()", "Detach")):
            self.assertEqual(findings(comment), [f"nothing is named {word}"], comment)

    def test_a_name_that_only_another_comment_has_is_found(self):
        self.assertEqual(findings("NoName"), ["nothing is named NoName"])

    def test_a_file_that_is_gone_is_found(self):
        self.assertEqual(findings("see room/gone.h"), ["there is no room/gone.h"])
        self.assertEqual(findings("see other/code.cc"), ["there is no other/code.cc"])

    def test_english_and_foreign_names_are_none(self):
        for comment in ("A plain sentence, with HashiCorp's name.", "::1 is an address", "etcd's `ps`",
                        'as "folder/file.cc"', "<fmt/format.h>", "https://example.com/file.h"):
            self.assertEqual(findings(comment), [], comment)


if __name__ == "__main__":
    unittest.main()
