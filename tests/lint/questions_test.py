"""The lint's check of the questions in docs/architecture.md: each has one file or two that exist and have the name."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "lint")
LOADER = importlib.machinery.SourceFileLoader("lint", PATH)
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", LOADER))
LOADER.exec_module(lint)

GOOD = "`wal/log.cc`: `Log::Append`"


def findings(last_row, rows=9):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "wal").mkdir()
        (root / "wal" / "log.cc").write_text("void Log::Append() {}\nvoid Log::Sync() {}\n")
        table = "".join(f"| Question {i}? | {GOOD} |\n" for i in range(rows)) + last_row
        (root / "docs" / "architecture.md").write_text(f"# A\n\n## Ten questions\n\n| question | open |\n| --- | --- |\n{table}\n## B\n")
        kept, lint.ROOT = lint.ROOT, root
        try:
            return lint.questions_without_an_answer()
        finally:
            lint.ROOT = kept


class QuestionsTest(unittest.TestCase):
    def test_files_that_have_the_names_are_an_answer(self):
        self.assertEqual(findings(f"| Last? | {GOOD} |\n"), [])
        self.assertEqual(findings(f"| Last? | {GOOD}; `wal/log.cc`: `Log::Sync` |\n"), [])

    def test_a_file_that_is_gone_or_lacks_the_name_is_found(self):
        for answer in ("`wal/gone.cc`: `Log::Append`", "`wal/log.cc`: `Log::Cut`", "`wal/log.cc`: `Log::App`"):
            self.assertEqual(len(findings(f"| Last? | {answer} |\n")), 1, answer)

    def test_an_answer_has_one_file_or_two_each_with_a_name(self):
        for answer in ("", "`wal/log.cc`", f"{GOOD}; `wal/log.cc`", f"{GOOD}; {GOOD}; {GOOD}"):
            self.assertEqual(len(findings(f"| Last? | {answer} |\n")), 1, answer)

    def test_ten_are_needed(self):
        self.assertEqual(len(findings("")), 1)
        self.assertEqual(len(findings(f"| No question | {GOOD} |\n")), 1)


if __name__ == "__main__":
    unittest.main()
