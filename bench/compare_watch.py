#!/usr/bin/python3
"""Measures what watchers cost kvorum beside etcd, on one machine, in one run, with the same settings:
32-byte keys, 256-byte values, a lean client (kvorum-watch-bench) that shares the machine's cores. Prints the medians,
their ratios and the targets.

  bench/compare_watch.py                          three rounds, about eight minutes
  bench/compare_watch.py --only kvorum --rounds 1
  bench/compare_watch.py --max-watch-lag 100      the bound of the measures that have it, 1,000 otherwise
"""

import argparse
import json
import sys
import threading
import time

import grpc

import programs
import servers
import watching
from servers import MIB
from table import print_table, ratio
from watching import BOUNDED


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {tag & 7}")
        yield tag >> 3, value


def revisions(response):
    """The mod_revision of each event of a WatchResponse."""
    for field, event in fields(response):
        if field != 11:
            continue
        kv = next(value for number, value in fields(event) if number == 2)
        yield next(value for number, value in fields(kv) if number == 3)


class SilentWatcher:
    """A watcher of every key whose client does not read until it is told to."""

    def __init__(self, endpoint):
        self._channel = grpc.insecure_channel(endpoint, options=[("grpc.max_receive_message_length", -1)])
        watch = self._channel.stream_stream("/etcdserverpb.Watch/Watch")
        self._end = threading.Event()
        self._call = watch(self._requests())
        next(self._call)  # created

    def _requests(self):
        create = b"\x0a\x01\0\x12\x01\0"  # all keys
        yield b"\x0a" + varint(len(create)) + create
        self._end.wait()

    def read_to(self, last):
        """Reads until `last`; the number of revisions, each of which must follow the one before."""
        expected = None
        count = 0
        while expected is None or expected <= last:
            for revision in revisions(next(self._call)):
                if expected is not None and revision != expected:
                    raise RuntimeError(f"after {expected - 1} the silent watcher was told {revision}")
                expected = revision + 1
                count += 1
        return count

    def close(self):
        self._end.set()
        self._call.cancel()
        self._channel.close()


def revision_of(endpoint):
    with grpc.insecure_channel(endpoint) as channel:
        answer = channel.unary_unary("/etcdserverpb.KV/Range")(b"\x0a\x01x", timeout=30)
    header = next(value for field, value in fields(answer) if field == 1)
    return next(value for field, value in fields(header) if field == 3)


class Bench(watching.WatchBench):
    def silent(self, name, program, folder):
        """One client does not read for as long as others watch and put at full speed; then it does."""
        with servers.Server(program, folder) as server:
            server.start()
            self._run_silent(name, server, with_silent=False)
            most = self._run_silent(name, server, with_silent=True)
            self.record(name, "silent: RssAnon", most)

    def _run_silent(self, name, server, with_silent):
        watcher = SilentWatcher(server.endpoint) if with_silent else None
        before = servers.rss_anon_bytes(server.pid)
        most = [before]
        stop = threading.Event()

        def sample():
            while not stop.wait(0.2):
                most[0] = max(most[0], servers.rss_anon_bytes(server.pid))

        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            report = self.run_watchers(server, "--streams", 20, "--watchers", 10, seconds=self._options.silent_seconds)
        finally:
            stop.set()
            sampler.join()
        which = "silent" if with_silent else "not silent"
        self.record(name, f"{which}: puts", report["puts_per_second"])
        self.record(name, f"{which}: event_p99_ms", report["event_p99_ms"])
        said = ""
        if watcher is not None:
            last = revision_of(server.endpoint)
            begin = time.monotonic()
            count = watcher.read_to(last)
            said = f", then {count} revisions in order in {time.monotonic() - begin:.1f} s"
            watcher.close()
        print(f"  {name:6} {'one client does not read' if with_silent else 'all read':24}"
              f" {report['puts_per_second']:8.0f} puts/s  p99 {report['event_p99_ms']:.2f} ms, RssAnon"
              f" {before / MIB:.0f} to at most {most[0] / MIB:.0f} MiB{said}", flush=True)
        return most[0] - before


def rows(bench):
    """(what, etcd's, kvorum's, ratio, target, met), as print_table takes them."""
    def row(what, measure, unit, target=None, at_least=False, digits=2, of_etcd=None):
        peer, ours = bench.median("etcd", of_etcd or measure), bench.median("kvorum", measure)
        result = ratio(ours, peer)
        met = None
        if result is not None and target is not None:
            met = result >= target if at_least else result <= target
        text = ["" if v is None else f"{v:,.{digits}f} {unit}" for v in (peer, ours)]
        sign = "at least" if at_least else "at most"
        return (what, *text, "" if result is None else f"{result:.3g}",
                "" if target is None else f"{sign} {target:.3g}", met)

    for load in ("300 puts/s", "full speed"):
        name = f"prefix, {load}"
        yield row(f"1,000 watchers on a prefix, {load}: CPU an event", f"{name}: server_cpu_us_per_event", "us", 0.25,
                  digits=3)
        yield row(f"{name}: puts", f"{name}: puts_per_second", "/s", *((4, True) if load == "full speed" else ()),
                  digits=0)
        yield row(f"{name}: events", f"{name}: events_per_second", "/s", digits=0)
        yield row(f"{name}: events a message", f"{name}: events_per_message", "", digits=1)
        yield row(f"{name}: put to event, p50", f"{name}: event_p50_ms", "ms")
        yield row(f"{name}: put to event, p99", f"{name}: event_p99_ms", "ms", 0.1)
    for what, key, unit in (("puts", "puts_per_second", "/s"), ("put to event, p50", "event_p50_ms", "ms"),
                            ("put to event, p99", "event_p99_ms", "ms")):
        yield row(f"{BOUNDED}: {what}", f"{BOUNDED}: {key}", unit, of_etcd=f"prefix, full speed: {key}")
    for load in ("300 puts/s", "full speed"):
        name = f"own keys, {load}"
        yield row(f"10,000 watchers on own keys, {load}: CPU a put", f"{name}: server_cpu_us_per_event", "us", digits=1)
        yield row(f"{name}: puts", f"{name}: puts_per_second", "/s", digits=0)
        yield row(f"{name}: put to event, p99", f"{name}: event_p99_ms", "ms")
    yield row("memory of an idle watcher, on a prefix", "idle on a prefix: bytes_per_watcher", "B", 0.5, digits=0)
    yield row("memory of an idle watcher, on its own key", "idle on own keys: bytes_per_watcher", "B", 0.5, digits=0)
    yield row("memory of a stream", "idle streams: bytes_per_watcher", "B", 0.25, digits=0)
    for name in ("etcd", "kvorum"):
        none, idle = (bench.median(name, f"{m}: puts_per_second") for m in ("no watcher, full speed", "idle, full speed"))
        result = ratio(idle, none)
        yield (f"puts with 100,000 idle watchers to none, {name}", "", "", "" if result is None else f"{result:.3g}",
               "at least 0.9" if name == "kvorum" else "",
               None if result is None or name == "etcd" else result >= 0.9)
    yield row("one client silent: memory it costs", "silent: RssAnon", "B", digits=0)
    yield row("one client silent: the others' p99", "silent: event_p99_ms", "ms")
    yield row("the same, all reading", "not silent: event_p99_ms", "ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of each measure")
    parser.add_argument("--silent-seconds", type=float, default=60, help="for which one client does not read; 0: skip")
    parser.add_argument("--max-watch-lag", type=int, default=1000, help="of the measure with a bound")
    parser.add_argument("--measure", choices=list(watching.MEASURES), action="append", help="only this one")
    programs.add_programs(parser, "compare_watch.json")
    options = parser.parse_args()

    bench = Bench(options)
    for number in range(1, options.rounds + 1):
        print(f"round {number} of {options.rounds}", flush=True)
        for measure in options.measure or watching.MEASURES:
            programs.measure_each(options, bench.watch, measure)
    if options.silent_seconds != 0:
        programs.measure_each(options, bench.silent)

    print_table([row for row in rows(bench) if any(row[1:4])])
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")


if __name__ == "__main__":
    sys.exit(main())
