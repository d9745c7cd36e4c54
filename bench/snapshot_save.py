#!/usr/bin/env python3
"""A client saves snapshots of a large database: the latency of puts meanwhile beside that without, the time of a save
beside reading and hashing as many bytes, and the server's memory.

  snapshot_save.py [--server PATH] [--bench PATH] [--ctl PATH] [--keys N] [--value-size N] [--rate N] [--seconds S]
                   [--rounds N] [--dir FOLDER] [--file-dir FOLDER]

Windows with and without follow each other, so that the machine's other load meets both. Saves follow each other
without a pause within a window: the worst that puts may see. Their client is usually on another machine, so here it is
a lean one that keeps nothing; at the end kvorumctl saves once, for the bytes to hash.
"""

import argparse
import hashlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import servers  # noqa: E402
import upkeep  # noqa: E402

BIN = os.environ.get("KVORUM_BIN_DIR", "build/release/bin")


class Saves:
    """The time of each save, and the most memory that the server had during one."""

    def __init__(self, args, node):
        self.args = args
        self.node = node
        self.path = os.path.join(args.file_dir, f"snapshot-save-{os.getpid()}.db")
        self.seconds = []
        self.most_memory = 0

    def save(self):
        begun = time.monotonic()
        self.watch([self.args.bench, "--endpoint", self.node.endpoint, "--connections", "1", "--streams", "1", "--count", "1",
                    "snapshot"])
        self.seconds.append(time.monotonic() - begun)

    def watch(self, command):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as saving:
            while saving.poll() is None:
                self.most_memory = max(self.most_memory, servers.rss_anon_bytes(self.node.pid))
                time.sleep(0.02)
        if saving.returncode != 0:
            raise SystemExit("a save failed")

    def keep(self):
        """A file with the saved bytes."""
        self.watch([self.args.ctl, "--endpoints", self.node.endpoint, "--command-timeout", "600s", "snapshot", "save",
                    self.path])

    def hash_seconds(self):
        """Reads and hashes what was saved, from memory like the server's reads."""
        begun = time.monotonic()
        digest = hashlib.sha256()
        with open(self.path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=f"{BIN}/kvorum")
    parser.add_argument("--bench", default=f"{BIN}/kvorum-bench")
    parser.add_argument("--ctl", default=f"{BIN}/kvorumctl")
    parser.add_argument("--keys", type=int, default=1_250_000)
    parser.add_argument("--value-size", type=int, default=4096)
    parser.add_argument("--rate", type=int, default=2_000, help="calls a second")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="for the data")
    parser.add_argument("--file-dir", default="/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir(),
                        help="for the client's file")
    args = parser.parse_args()

    with (tempfile.TemporaryDirectory(prefix="kvorum-save-", dir=args.dir) as folder,
          servers.Server(args.server, pathlib.Path(folder), quota_bytes=upkeep.QUOTA_BYTES) as node):
        node.start()
        saves = Saves(args, node)
        run = upkeep.Run(args, node)
        run.bench("put", "--preload", str(args.keys), "--count", "1")
        rate = ["--rate", str(args.rate), "--seconds", str(args.seconds), "--warmup", "0.5"]
        run.bench("put", *rate)
        idle = servers.rss_anon_bytes(node.pid)
        alone, beside = [], []
        for _ in range(args.rounds):
            alone.append(run.bench("put", *rate)["p99_us"])
            with upkeep.Repeated(saves.save):
                beside.append(run.bench("put", *rate)["p99_us"])
        quiet = len(saves.seconds)
        for _ in range(args.rounds):
            saves.save()
        saves.keep()
        hashing = [saves.hash_seconds() for _ in range(args.rounds)]
        save = statistics.median(saves.seconds[quiet:])
        print(f"{os.path.getsize(saves.path) >> 20} MiB in the file, {args.rate} puts a second, load average "
              f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n"
              f"  p99 of puts: {statistics.median(alone):.0f} us without, {statistics.median(beside):.0f} us beside "
              f"{quiet} saves\n"
              f"  a save: {save:.2f} s; reading and hashing it: {statistics.median(hashing):.2f} s\n"
              f"  memory: {idle >> 20} MiB before, at most {saves.most_memory >> 20} MiB during saves")
        os.remove(saves.path)


if __name__ == "__main__":
    main()
