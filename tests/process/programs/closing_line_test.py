"""The closing lines of scripts/test: what passed, failed and skipped itself, over a tree of small tests."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"


class ClosingLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvorum-closing-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        for name in ("part", "test"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")
        for name in ("build", "fuzz", "setup"):
            stand_in = self.root / "scripts" / name
            stand_in.write_text("#!/bin/sh\n")
            stand_in.chmod(0o755)

    def write_tests(self, **commands_of_labels):
        """Each command is a test of its label; the exit code 77 skips it."""
        folder = self.root / "build" / "release"
        folder.mkdir(parents=True)
        (folder / "CTestTestfile.cmake").write_text("".join(
            f'add_test({name} "/bin/sh" "-c" "{command}")\n'
            f"set_tests_properties({name} PROPERTIES LABELS {label} SKIP_RETURN_CODE 77)\n"
            for label, commands in commands_of_labels.items() for name, command in commands.items()))

    def run_script(self):
        environment = {k: v for k, v in os.environ.items() if k not in ("CTEST_ARGS", "KVORUM_MINUTES")}
        done = subprocess.run([self.root / "scripts" / "test"], env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        return done.returncode, done.stdout

    def test_what_skips_itself_has_not_passed(self):
        self.write_tests(unit={"Good": "true", "NoRight": "exit 77", "AlsoGood": "true"},
                         process={"script": "echo Ran 5; echo 'OK (skipped=2)'", "other": "true"})
        code, output = self.run_script()
        self.assertEqual((code, output.splitlines()[-1]),
                         (0, "kvorum: 4 passed, 0 failed, 3 skipped"))
        self.assertIn("skipped:\n  NoRight\n  2 cases within the process tests\n", output)

    def test_skips_do_not_hide_failures(self):
        self.write_tests(unit={"Bad": "false", "NoRight": "exit 77"}, process={"other": "true"})
        code, output = self.run_script()
        self.assertEqual((code, output.splitlines()[-1]),
                         (1, "kvorum: 1 passed, 1 failed, 1 skipped"))
        self.assertIn("failed:\n  Bad", output)

    def test_minutes_are_noted_by_part(self):
        self.write_tests(unit={"Good": "true"}, process={"other": "true"})
        self.assertEqual(self.run_script()[0], 0)
        parts = [line.split("\t")[0] for line in (self.root / "build" / "minutes.tsv").read_text().splitlines()]
        self.assertEqual(sorted(parts), ["build: programs, release", "build: tests, release", "peers, meanwhile",
                                         "process tests, release", "unit tests, release"])


if __name__ == "__main__":
    unittest.main()
