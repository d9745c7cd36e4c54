#!/usr/bin/env python3
"""The time from the start of the process until it serves, after a clean stop, after kill -9, and after a stop without the
saved key index: the same database, starts of each kind in turns, so that the machine's other load meets all.

  restart.py [--server PATH] [--bench PATH] [--keys N] [--value-size N] [--rounds N] [--cold] [--dir FOLDER]
             [--fill FOLDER | --filled FOLDER]

Until it serves is until the log says `ready to serve client requests`. Before each kill keys are overwritten, from none to
one in sixteen over the rounds, which is what a server lets gather before it saves the index again; older servers save none
while they serve. The time of a stop that saves is printed beside that of one that has no key to save. With --cold the
database and the index leave the page cache before each start. --fill makes the database in a folder and ends, and
--filled measures one that was made so, so that a quiet machine is needed for the second alone.
"""

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "process"))

import ports  # noqa: E402

BIN = os.environ.get("KVORUM_BIN_DIR", "build/release/bin")
READY = b"ready to serve client requests"
READ = b"read the saved key index"
MIB = 1 << 20


class Node:
    """A member over one folder, started and stopped again and again."""

    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.snap = os.path.join(folder, "data", "member", "snap")
        self.index = os.path.join(self.snap, "db.index")
        self.log = os.path.join(folder, "log")
        self.client = None
        self.process = None

    def start(self):
        """Seconds until it serves."""
        self.client, peer = (f"127.0.0.1:{ports.free_port()}" for _ in range(2))
        with open(self.log, "wb") as log:
            begun = time.monotonic()
            self.process = subprocess.Popen(
                [self.args.server, "--name=n1", f"--data-dir={self.folder}/data", "--quota-backend-bytes=68719476736",
                 f"--listen-client-urls=http://{self.client}", f"--advertise-client-urls=http://{self.client}",
                 f"--listen-peer-urls=http://{peer}", f"--initial-advertise-peer-urls=http://{peer}",
                 f"--initial-cluster=n1=http://{peer}"], stdout=log, stderr=log)
        while READY not in self.said():
            if self.process.poll() is not None:
                raise SystemExit(f"{self.args.server} does not start; see {self.log}")
            time.sleep(0.002)
        return time.monotonic() - begun

    def said(self):
        with open(self.log, "rb") as log:
            return log.read()

    def stop(self):
        """Seconds until it is gone."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(300) != 0:
            raise SystemExit(f"{self.args.server} does not stop in order; see {self.log}")
        return time.monotonic() - begun

    def kill(self):
        time.sleep(0.3)  # the last writes are in the database then, not only in the log
        self.process.kill()
        self.process.wait()

    def load(self):
        self.put("--preload", str(self.args.keys), "--count", "1")

    def put(self, *arguments):
        subprocess.run([self.args.bench, "--endpoint", self.client, "--keys", str(self.args.keys), "--value-size",
                        str(self.args.value_size), "--connections", "4", "--streams", "64", *arguments, "put"],
                       stdout=subprocess.DEVNULL, check=True)

    def later_records(self):
        """What a start after a kill would read beside the index; None if this server does not tell."""
        with urllib.request.urlopen(f"http://{self.client}/metrics", timeout=10) as answer:
            found = re.search(r"^kvorum_saved_index_later_records (\S+)$", answer.read().decode(), re.MULTILINE)
        return None if found is None else float(found[1])

    def wait_saved(self):
        """Until a kill costs no more than the bound says, or never would."""
        limit = time.monotonic() + 300
        while (later := self.later_records()) is not None and later > self.args.keys / 16:
            if time.monotonic() > limit:
                raise SystemExit(f"the index is not saved while it serves; see {self.log}")
            time.sleep(0.2)

    def rss_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024

    def forget_pages(self):
        for name in ("db", "db.index"):
            path = os.path.join(self.snap, name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=f"{BIN}/kvorum")
    parser.add_argument("--bench", default=f"{BIN}/kvorum-bench")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--value-size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="for the data")
    parser.add_argument("--fill", help="makes the database in this folder, and no more")
    parser.add_argument("--filled", help="the folder of such a database, which is copied")
    args = parser.parse_args()

    if args.fill is not None:
        os.makedirs(args.fill)
        node = Node(args, args.fill)
        node.start()
        node.load()
        node.stop()
        return
    with tempfile.TemporaryDirectory(prefix="kvorum-restart-", dir=args.dir) as folder:
        measure(args, folder)


def measure(args, folder):
    node = Node(args, folder)
    node.start()
    empty_stop = node.stop()
    if args.filled is not None:
        shutil.rmtree(os.path.join(folder, "data"))
        shutil.copytree(os.path.join(args.filled, "data"), os.path.join(folder, "data"))
        node.start()
    else:
        node.start()
        node.load()
    stops = [node.stop()]
    index_bytes = os.path.getsize(node.index)
    found = {"stopped": [], "killed": [], "without": []}
    read = []
    node.start()
    for number in range(args.rounds):
        for kind in found:
            if kind == "killed":
                changes = args.keys // 16 * number // max(args.rounds - 1, 1)
                node.wait_saved()
                if changes > 0:
                    node.put("--count", str(changes))
                node.kill()
            else:
                stops.append(node.stop())
            if kind == "without":
                os.remove(node.index)
            if args.cold:
                node.forget_pages()
            found[kind].append(node.start())
            if kind != "killed" and (READ in node.said()) != (kind == "stopped"):
                raise SystemExit(f"a start {kind} was none; see {node.log}")
            if kind == "killed":
                read.append(READ in node.said())
    database_bytes = os.path.getsize(os.path.join(node.snap, "db"))
    memory = node.rss_mib()
    stops.append(node.stop())

    print(f"{args.keys} keys of {args.value_size} bytes ({database_bytes / MIB:.0f} MiB, index {index_bytes / MIB:.0f} MiB), "
          f"{'cold' if args.cold else 'in the page cache'}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} "
          "processors")
    usual = statistics.median(found["stopped"])
    for kind, seconds in found.items():
        print(f"  start {kind:8} {statistics.median(seconds):6.2f} s  ({min(seconds):.2f} to {max(seconds):.2f})  "
              f"ratio {statistics.median(seconds) / usual:.2f}")
    print(f"  with the saved index after a kill: {sum(read)} of {len(read)}; most memory of the last start {memory:.0f} MiB")
    print(f"  stop   {statistics.median(stops):.2f} s, of an empty one {empty_stop:.2f} s")


if __name__ == "__main__":
    main()
