"""Programs of a test that are asked by lines."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import server  # noqa: E402

BIN = os.environ["KVORUM_BIN_DIR"]


class Talk:
    """A program that answers each line by one; lines that begin with "wrong" it says unasked, and they are in `said`."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([*server.ENDS_WITH_US, os.path.join(BIN, program), *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = []

    def read(self):
        while line := self.process.stdout.readline().rstrip("\n"):
            if not line.startswith("wrong "):
                return line
            self.said.append(line)
        raise AssertionError(f"it ended with {self.process.wait(timeout=60)}; said before: {self.said[-5:]}")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        """Its standard input ends; returns the lines that are left, and the exit code."""
        self.process.stdin.close()
        rest = self.process.stdout.read().splitlines()
        return rest, self.process.wait(timeout=60)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf8")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
