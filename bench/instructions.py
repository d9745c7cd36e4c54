#!/usr/bin/python3
"""Counts the instructions that a lone put, range, transaction and watch event cost two servers, under callgrind, and
prints the medians and their ratio. Beside instructions the time on this machine does not matter: other work may go on.

  bench/instructions.py OLD NEW                a few minutes; programs of kvorum
  bench/instructions.py OLD NEW --rounds 5

What a server does in the same time while nobody calls is taken off. A run differs from the next by some tenths of a
percent, since sockets and timers interleave otherwise.
"""

import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import servers
from programs import BUILT

CALLS = {"put": ["put"], "range": ["range"], "txn": ["txn"]}
WATCHERS = 100
WATCH_RATE = 50


class Counted:
    """A server under callgrind, in a folder of its own."""

    def __init__(self, program, folder):
        self._folder = folder
        wrapper = folder / "server"
        wrapper.write_text("#!/bin/sh\nexec valgrind --quiet --tool=callgrind --instr-atstart=no "
                           f"--callgrind-out-file={folder}/counted.%p {program} \"$@\"\n", encoding="ascii")
        wrapper.chmod(0o755)
        self.member = servers.Member(wrapper, folder, "m0", ["--heartbeat-interval=1000", "--election-timeout=10000"])
        self.member.start([self.member])
        limit = time.monotonic() + 120
        while not self.member.is_healthy():
            self.member.check_runs()
            if time.monotonic() > limit:
                raise RuntimeError(f"{program} does not answer: see {self.member.log}")
            time.sleep(0.1)
        self._idle_per_second = 0
        self._idle_per_second = self.instructions(lambda: time.sleep(5)) / 5

    def _control(self, *arguments):
        subprocess.run(["callgrind_control", *arguments, str(self.member.pid)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def instructions(self, run):
        """Of the server while `run` does, above those of an idle one."""
        for old in self._folder.glob("counted.*"):
            old.unlink()
        self._control("--instr=on")
        begin = time.monotonic()
        run()
        seconds = time.monotonic() - begin
        self._control("--dump")
        self._control("--instr=off")
        totals = [int(line.split()[1]) for part in self._folder.glob("counted.*")
                  for line in part.read_text(encoding="ascii", errors="replace").splitlines()
                  if re.match(r"totals: \d+$", line)]
        if not totals:
            raise RuntimeError(f"callgrind wrote no totals in {self._folder}")
        return sum(totals) - self._idle_per_second * seconds

    def stop(self):
        self.member.stop()


def call(options, server, count, *arguments):
    subprocess.run([options.bench, "--json", "--endpoint", server.member.endpoint, "--connections", "1", "--streams",
                    "1", "--keys", "1000", "--count", str(count), *arguments], check=True, stdout=subprocess.DEVNULL)


def watch(options, server, seconds):
    """Events that so many seconds of puts make."""
    subprocess.run([options.watch_bench, "--endpoint", server.member.endpoint, "--connections", "1", "--streams", "1",
                    "--watchers", str(WATCHERS), "--rate", str(WATCH_RATE), "--in-flight", "1", "--warmup", "0",
                    "--seconds", str(seconds)], check=True, stdout=subprocess.DEVNULL)


def measure(options, program):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kvorum-instructions-"))
    server = Counted(program, folder)
    try:
        call(options, server, 1000, "--sequential", "put")  # the keys, and what only first calls do
        per = {}
        for name, arguments in CALLS.items():
            call(options, server, 50, *arguments)
            per[name] = server.instructions(lambda words=arguments: call(options, server, options.count, *words)) / options.count
        seconds = 20
        per["watch event"] = (server.instructions(lambda: watch(options, server, seconds)) /
                              (seconds * WATCH_RATE * WATCHERS))
        return per
    finally:
        server.stop()
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=2000, help="of the calls of each kind")
    parser.add_argument("--bench", type=pathlib.Path, default=BUILT / "kvorum-bench")
    parser.add_argument("--watch-bench", type=pathlib.Path, default=BUILT / "kvorum-watch-bench")
    options = parser.parse_args()
    samples = {options.old: [], options.new: []}
    for _ in range(options.rounds):
        for program, kept in samples.items():
            kept.append(measure(options, program.resolve()))
            print(program, {name: round(value) for name, value in kept[-1].items()}, flush=True)
    print(f"\n| instructions of the server | {options.old} | {options.new} | ratio |\n| --- | ---: | ---: | ---: |")
    for name in samples[options.new][0]:
        old, new = (statistics.median(sample[name] for sample in samples[program]) for program in (options.old, options.new))
        print(f"| {name} | {old:,.0f} | {new:,.0f} | {new / old:.4f} |")


if __name__ == "__main__":
    main()
