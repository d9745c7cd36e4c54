#!/usr/bin/python3
"""Measures our informer beside those of others, over one kvorum server, in one run: client-go's shared informer, whose
list and watch come straight from the store, and etcd's cache module. 100,000 keys of 32 bytes with values of 256, and 1,
10 and 100 listeners, which with ours have a thread each or share one. Prints the medians and their ratios.

Two measures each: single puts at 2,000 a second, and transactions of 100 puts as fast as they go; each key is put once
in a measure, so that every listener is told as often. The programs share the machine with the server and the load.

  bench/compare_informers.py                                ours and the first, three rounds (about seven minutes)
  bench/compare_informers.py --etcd-cache DIR               the second too: DIR is the folder cache/ of etcd's sources,
                                                            since the module cannot be had from a registry
  bench/compare_informers.py --only kvorum --rounds 1

The programs of others are built with Go 1.26 or later from bench/informers/others/.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import measures
import servers
import table
from programs import BUILT
from servers import ROOT

SOURCES = ROOT / "bench/informers/others"
PREFIX = "/objects/"
OURS = {"kvorum": 0, "kvorum, one thread": 1}  # the threads that listeners share; 0: one each
OTHERS = {"client-go": "shared", "etcd's cache": "cache"}
RATE = 2_000


def build_others(target, etcd_cache):
    """The Go program, with etcd's cache in it if its sources are there."""
    folder = target.parent
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("go.mod", "go.sum"):
        shutil.copy(SOURCES / name, folder / name)
    flags = [f"-modfile={folder / 'go.mod'}", "-trimpath", "-o", str(target)]
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    if etcd_cache is not None:
        module = "go.etcd.io/etcd/cache/v3"
        subprocess.run(["go", "mod", "edit", f"-require={module}@v3.0.0", f"-replace={module}={etcd_cache.resolve()}",
                        str(folder / "go.mod")], check=True, env=environment)
        flags += ["-tags", "etcdcache", "-mod=mod"]
    subprocess.run(["go", "build", *flags, "."], check=True, cwd=SOURCES, env=environment)


class Follower:
    """A program that follows the prefix, and answers by lines of JSON."""

    def __init__(self, command):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.memory = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()}")
        return json.loads(line)

    def begin(self, changes):
        self.process.stdin.write(f"{changes}\n")
        self.process.stdin.flush()
        self.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Bench(measures.Bench):
    def round(self, followers, folder):
        with servers.Server(self._options.kvorum, folder) as server:
            server.start()
            self.load(server, self._options.objects, 100, 0)
            for listeners in self._options.listeners:
                for name in followers:
                    self.follow(name, server, listeners)

    def load(self, server, *numbers):
        subprocess.run([str(self._options.load), server.endpoint, PREFIX, *map(str, numbers)], check=True,
                       stdin=subprocess.DEVNULL)

    def command(self, name, server, listeners):
        objects = self._options.objects
        if name in OURS:
            return [self._options.follow, server.endpoint, PREFIX, objects, listeners, OURS[name]]
        return [self._options.others, "-kind", OTHERS[name], "-endpoint", server.endpoint, "-prefix", PREFIX,
                "-objects", objects, "-listeners", listeners]

    def follow(self, name, server, listeners):
        with Follower(self.command(name, server, listeners)) as follower:
            for unit in ("heap_bytes", "rss_bytes"):
                self.record(name, f"{listeners}: {unit}", follower.memory[unit] / self._options.objects)
            rated = min(self._options.objects, int(RATE * self._options.seconds))
            for measure, changes, size, rate in (("rate", rated, 1, RATE), ("full", self._options.objects, 100, 0)):
                follower.begin(changes)
                self.load(server, changes, size, rate)
                report = follower.read()
                told = report["told"] / changes
                if told < 1:
                    print(f"  {name}: a listener was told of {told:.0%} of the changes", flush=True)
                self.record(name, f"{listeners}, {measure}: told", told)
                self.record(name, f"{listeners}, {measure}: cpu", report["cpu_us"] / changes)
                self.record(name, f"{listeners}, {measure}: events", report["told"] / report["seconds"])
                for part in ("p50_us", "p99_us"):
                    self.record(name, f"{listeners}, {measure}: {part}", report[part] / 1000)
                print(f"  {name:18} {listeners:3} listeners, {measure:4} {report['told'] / report['seconds']:9.0f}"
                      f" events/s  p50 {report['p50_us'] / 1000:8.2f} ms  p99 {report['p99_us'] / 1000:8.2f} ms"
                      f"  CPU {report['cpu_us'] / changes:7.2f} us an event", flush=True)


def rows(bench, followers, options):
    """(what, each follower's median and its ratio to ours)"""
    lines = [("memory an object: heap, bytes", "1: heap_bytes"), ("resident, bytes", "1: rss_bytes")]
    for listeners in options.listeners:
        plural = "s" if listeners > 1 else ""
        lines += [(f"{listeners} listener{plural}, {RATE:,} puts/s: put to handler, p50, ms",
                      f"{listeners}, rate: p50_us"),
                     ("p99, ms", f"{listeners}, rate: p99_us"), ("CPU an event, us", f"{listeners}, rate: cpu"),
                     ("full speed: events/s", f"{listeners}, full: events"),
                     ("p99, ms", f"{listeners}, full: p99_us"), ("CPU an event, us", f"{listeners}, full: cpu")]
    for what, measure in lines:
        ours = bench.median("kvorum", measure)
        cells = []
        for name in followers:
            value = bench.median(name, measure)
            if value is None:  # not measured in this run
                cells.append("-")
                continue
            ratio = table.ratio(value, ours)
            told = bench.median(name, f"{measure.split(':')[0]}: told")
            lost = "" if told in (None, 1) else f", told of {told:.0%}"
            cells.append(f"{value:,.2f}" + ("" if name == "kvorum" or ratio is None else f" ({ratio:.2g}{lost})"))
        yield what, cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="for which puts come at a rate")
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--listeners", type=int, action="append", help="instead of 1, 10 and 100")
    parser.add_argument("--only", choices=[*OURS, *OTHERS], action="append")
    parser.add_argument("--etcd-cache", type=pathlib.Path, help="the folder cache/ of etcd's sources")
    parser.add_argument("--kvorum", type=pathlib.Path, default=BUILT / "kvorum")
    parser.add_argument("--follow", type=pathlib.Path, default=BUILT / "kvorum-informer-follow")
    parser.add_argument("--load", type=pathlib.Path, default=BUILT / "kvorum-informer-load")
    parser.add_argument("--others", type=pathlib.Path, default=ROOT / "build/informers/informers")
    parser.add_argument("--data-root", type=pathlib.Path, default=ROOT / "build/bench-data")
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "build/compare_informers.json")
    options = parser.parse_args()
    options.listeners = options.listeners or [1, 10, 100]

    followers = [*OURS, "client-go"] + (["etcd's cache"] if options.etcd_cache else [])
    if options.only:
        followers = [name for name in followers if name in options.only]
    if set(followers) - set(OURS):
        build_others(options.others, options.etcd_cache)
    bench = Bench(options)
    for number in range(1, options.rounds + 1):
        print(f"round {number} of {options.rounds}", flush=True)
        folder = options.data_root / f"{os.getpid()}-informers"
        folder.mkdir(parents=True)
        bench.round(followers, folder)
        shutil.rmtree(folder)
    print("\n| | " + " | ".join(followers) + " |\n| --- |" + " ---: |" * len(followers))
    for what, cells in rows(bench, followers, options):
        print(f"| {what} | " + " | ".join(cells) + " |")
    print("\nMedians of the rounds; in brackets, the ratio to ours.")
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")


if __name__ == "__main__":
    sys.exit(main())
