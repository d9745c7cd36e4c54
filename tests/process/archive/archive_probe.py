"""A continuous archive for tests: where it is, the tool that works on it, and what its server says of it."""

import dataclasses
import json
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")


@dataclasses.dataclass
class Place:
    """An archive's URL, and the flags of its store without their names' beginning."""
    url: str
    options: tuple = ()

    @staticmethod
    def of_folder(path):
        return Place("file://" + path)

    @staticmethod
    def of_bucket(fake, credentials_file, prefix="kv"):
        return Place(f"s3://{fake.BUCKET}/{prefix}", (("endpoint", fake.endpoint), ("region", fake.region),
                                                      ("path-style", "path"), ("credentials-file", credentials_file)))

    @property
    def server_flags(self):
        return [f"--archive-{name}={value}" for name, value in (("url", self.url), *self.options)]

    def run(self, command, *arguments, timeout=300):
        """kvorumutl archive COMMAND, to its end."""
        flags = [f"--{name}={value}" for name, value in (("url", self.url), *self.options)]
        return subprocess.run([UTL, "archive", command, *flags, *arguments], capture_output=True, text=True, check=False,
                              timeout=timeout, stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})

    def succeed(self, command, *arguments, **more):
        """What it prints."""
        done = self.run(command, *arguments, **more)
        assert done.returncode == 0, (command, arguments, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def json(self, command, *arguments, **more):
        return json.loads(self.succeed(command, *arguments, "-w", "json", **more))


def metrics(endpoint, prefix="kvorum_archive_"):
    """The values of the server's metrics of that beginning, by the text before them; None: it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{endpoint}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except (OSError, urllib.error.URLError):
        return None
    return {found[1]: float(found[2]) for found in re.finditer(rf"^({prefix}\S+) (\S+)$", text, re.MULTILINE)}


def memory_kib(pid, name):
    """VmHWM, VmRSS and the like."""
    with open(f"/proc/{pid}/status", encoding="utf8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":"))


class LagProbe(threading.Thread):
    """Asks a leader many times how far the archive is, beside what its clients know to be acknowledged."""

    PAUSE_S = 0.03

    def __init__(self, endpoint, acknowledged):
        super().__init__(name="lag-probe")
        self.endpoint = endpoint
        self.acknowledged = acknowledged
        self.samples = []  # (by the clients, by the metric), in seconds
        self._stops = threading.Event()

    def run(self):
        while not self._stops.wait(self.PAUSE_S):
            asked = time.time()
            found = metrics(self.endpoint)
            if found is not None:
                self.samples.append((self.acknowledged.behind(found["kvorum_archive_revision"], asked),
                                     found["kvorum_archive_lag_seconds"]))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._stops.set()
        self.join()
