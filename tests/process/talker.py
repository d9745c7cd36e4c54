"""A program that is told things line by line, and says things line by line."""

import queue
import subprocess
import threading


class Talker:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self._reader.join()
        self.process.stdout.close()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self, timeout=60):
        """Its next line."""
        line = self._lines.get(timeout=timeout)
        assert line is not None, "it has ended"
        return line

    def says_nothing(self, seconds):
        try:
            said = self._lines.get(timeout=seconds)
        except queue.Empty:
            return True
        raise AssertionError(f"it said {said!r}")

    def terminate(self, timeout=30):
        """Its exit code after a SIGTERM."""
        self.process.terminate()
        return self.process.wait(timeout)
