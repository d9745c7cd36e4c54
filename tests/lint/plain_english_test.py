"""The rule of scripts/lint about roundabout words: what of a line it looks at, and that its budget only goes down."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_lint():
    loader = importlib.machinery.SourceFileLoader("lint", str(ROOT / "scripts" / "lint"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
    loader.exec_module(module)
    return module


lint = load_lint()


class PlainEnglishTest(unittest.TestCase):
    def test_comments_and_texts_are_looked_at_apart(self):
        self.assertEqual(lint.roundabout("int x = 0;  // whoever asks"), {"comments"})
        self.assertEqual(lint.roundabout('return Fail(path + " is no folder");'), {"texts"})
        self.assertEqual(lint.roundabout('Log("nobody listens");  // nobody at all'), {"comments", "texts"})

    def test_code_and_single_words_are_left_alone(self):
        for line in ("bool told = Nobody(whatever);", 'Count("told");', "// There are those that have none.",
                     "// so that there is no lock", 'char quote = \'"\';  int a = 1 / 2;'):
            self.assertEqual(lint.roundabout(line), set(), line)

    def test_a_mark_of_a_comment_within_a_text_begins_none(self):
        self.assertEqual(lint.roundabout('Get("http://localhost/whatever", "a url");'), set())
        self.assertEqual(lint.roundabout('Get("http://localhost", "the url is no url");'), {"texts"})

    def test_each_roundabout_word_is_found(self):
        for text in ("Whoever", "whomever", "whatever", "nobody", "no one that", "is told", "a lock of its own",
                     "what it has", "is no key", "was none"):
            self.assertEqual(lint.roundabout(f"// {text}"), {"comments"}, text)

    def test_no_longer_is_plain(self):
        for text in ("It is no longer held.", "There is no lock.", "there are no more"):
            self.assertEqual(lint.roundabout(f"// {text}"), set(), text)

    def kinds(self, name, *lines):
        return [kind for kind, _ in lint.roundabout_places(name, "\n".join(lines))]

    def test_pages_count_without_blocks_and_code(self):
        self.assertEqual(self.kinds("a.md", "The member is told.", "```text", "nobody", "```", "`nobody` is a user"), ["pages"])

    def test_sentences_of_pages_name_their_subject_first(self):
        for text in ("What is left is kept.", "It ends. Of three members two vote.", "- As in etcd.", "1. Whoever asks"):
            self.assertIn("openings of pages", self.kinds("a.md", text), text)
        for text in ("What is left?", "# What is left", "| What is left |", "It keeps\nWhat stands on a second line.", "No member asks."):
            self.assertEqual(self.kinds("a.md", text), [], text)
        self.assertEqual(self.kinds("docs/reference/" "a.md", "What is left is kept."), [])

    def test_comments_of_scripts_count(self):
        self.assertEqual(self.kinds("scripts/a", "x = 1  #" " nobody asks", 'print("nobody asks")', '"""Waits."""'),
                         ["scripts"])
        self.assertEqual(self.kinds("tests/a.py", '    """Is told."""'), ["scripts of tests"])

    def test_the_budget_refuses_more_and_wants_to_be_lowered(self):
        sources = {"base/a.cc": "// whatever\n// nobody\n", "tests/base/a_test.cc": '// told\nFail("is no key");\n'}
        exact = "# why\ncomments: 2\ntexts: 0\ncomments of tests: 1\ntexts of tests: 1\n"
        self.assertEqual(lint.roundabout_english(sources, exact), [])
        more = lint.roundabout_english(sources, exact.replace("comments: 2", "comments: 1"))
        self.assertEqual(len(more), 1)
        self.assertIn("base/a.cc:2: // nobody", more[0])
        fewer = lint.roundabout_english(sources, exact.replace("texts: 0", "texts: 3"))
        self.assertEqual(fewer, ["scripts/english.txt: texts: 0 are left, so lower the 3"])
        self.assertEqual(len(lint.roundabout_english(sources, "")), 3)


if __name__ == "__main__":
    unittest.main()
