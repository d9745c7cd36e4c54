"""The completion scripts of kvorumctl and kvorumutl, each in its own shell."""

import os
import subprocess
import tempfile
import unittest

BIN_DIR = os.environ["KVORUM_BIN_DIR"]


def run(*command):
    environment = dict(os.environ, PATH=f"{BIN_DIR}:{os.environ['PATH']}")
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout


class CompletionTest(unittest.TestCase):
    def candidates(self, shell, ask):
        """The lines that `ask` prints after the script was read from $1."""
        with tempfile.NamedTemporaryFile("w", prefix="kvorum-completion-") as script:
            script.write(run("kvorumctl", "completion", shell))
            script.flush()
            return run(shell, "-c", ask.replace("$1", script.name)).splitlines()

    def test_bash(self):
        self.assertEqual(
            self.candidates("bash", "source $1; COMP_LINE='kvorumctl comp'; COMP_POINT=14; _kvorumctl; "
                                    "printf '%s\\n' \"${COMPREPLY[@]}\""),
            ["compaction", "completion"])

    def test_kvorumutl_has_its_own(self):
        with tempfile.NamedTemporaryFile("w", prefix="kvorum-completion-") as script:
            script.write(run("kvorumutl", "completion", "bash"))
            script.flush()
            found = run("bash", "-c", f"source {script.name}; COMP_LINE='kvorumutl snapshot '; COMP_POINT=19; _kvorumutl; "
                        "printf '%s\\n' \"${COMPREPLY[@]}\"").splitlines()
        self.assertEqual(sorted(found), ["restore", "status"])

    def test_zsh(self):
        found = self.candidates("zsh", "compdef() { : }; _describe() { print -l -- $candidates }; "
                                       "source $1; words=(kvorumctl comp); CURRENT=2; _kvorumctl")
        self.assertEqual([line.split(":")[0] for line in found], ["compaction", "completion"])

    def test_fish(self):
        found = self.candidates("fish", "source $1; complete -C 'kvorumctl comp'")
        self.assertEqual([line.split("\t")[0] for line in found], ["compaction", "completion"])


if __name__ == "__main__":
    unittest.main()
