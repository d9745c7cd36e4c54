#!/usr/bin/env python3
"""Measures kvorum beside etcd, on the same machine, in one run, with the same settings:
data on disk, 32-byte keys, 256-byte values. Prints the medians, their ratios and the targets.

Each round gives each server, one after the other, a fresh folder twice: once for the calls on a small
key space, once to be loaded with --keys keys, for memory, the same calls after so many puts, pages
out of them, and the restart. Run it on a quiet machine; ratios on a busy one mean little.

  bench/compare.py                          everything, three rounds (about ten minutes)
  bench/compare.py --only etcd --rounds 1   one server alone
  bench/compare.py --all                    every goal, three members and watchers too (a quarter of an hour)
  bench/compare.py --all --quick            the same with little load (three minutes)
  bench/compare.py --all --rows put,range --keys 1000000,10000000
"""

import argparse
import json
import sys
import time

import goals
import measures
import programs
import servers
from measures import PAGE_LIMIT, SMALL_KEY_SPACE
from servers import MIB
from table import number, print_table, ratio


class Bench(measures.Bench):
    def small(self, name, program, folder):
        with servers.Server(program, folder) as server:
            server.start()
            keys = ("--warmup", self._options.warmup, "--keys", SMALL_KEY_SPACE)
            self.load(server, *keys, "--sequential", "--count", SMALL_KEY_SPACE, "put")
            self.measure(name, server, "range, linearizable", *keys, "range")
            self.measure(name, server, "range, serializable", *keys, "range", "--serializable")
            self.measure(name, server, "put", *keys, "put")
            self.measure(name, server, "one put in flight", *keys, *measures.in_flight(1), "put")

    def large(self, name, program, folder):
        count = self._options.keys
        with servers.Server(program, folder) as server:
            server.start()
            keys = ("--warmup", self._options.warmup, "--keys", count)
            report = self.load(server, *keys, "--sequential", "--count", count, "put")
            self.record(name, "RssAnon loaded", report["server_rss_anon_bytes"])
            print(f"  {name:6} loaded {count} keys at {report['per_second']:.0f}/s, RssAnon "
                  f"{report['server_rss_anon_bytes'] / MIB:.0f} MiB", flush=True)
            self.measure(name, server, "range, linearizable, loaded", *keys, "range")
            self.measure(name, server, "range, serializable, loaded", *keys, "range",
                         "--serializable")
            # Enough calls for a median where each walks half the keys; 32 in flight for both.
            self.measure(name, server, "page", "--warmup", 2 * self._options.warmup, "--keys", count,
                         *measures.in_flight(32), "page", "--limit", PAGE_LIMIT,
                         seconds=max(self._options.seconds, min(10, 2 * self._options.seconds)))
            server.stop()
            seconds = server.start()
            time.sleep(2)
            anon = servers.rss_anon_bytes(server.pid)
            self.record(name, "restart s", seconds)
            self.record(name, "RssAnon restarted", anon)
            print(f"  {name:6} restarted in {seconds:.2f} s, RssAnon {anon / MIB:.0f} MiB", flush=True)
            self.measure(name, server, "put, loaded", *keys, "put")


def rows(bench, keys):
    """(what, etcd's, kvorum's, ratio, target, met) as text and truth; truth None: not measured."""
    def row(what, measure, unit, target, at_least, scale=1.0, digits=0):
        peer, ours = bench.median("etcd", measure), bench.median("kvorum", measure)
        peer, ours = (None if v is None else v * scale for v in (peer, ours))
        result = ratio(ours, peer)
        met = None if result is None else (result >= target if at_least else result <= target)
        sign = "at least" if at_least else "at most"
        return (what, number(peer, unit, digits), number(ours, unit, digits),
                "" if result is None else f"{result:.3g}", f"{sign} {target:.3g}", met)

    yield row("put, 256 in flight", "put /s", "/s", 5, True)
    yield row("range, linearizable", "range, linearizable /s", "/s", 7, True)
    yield row("range, serializable", "range, serializable /s", "/s", 8, True)
    loaded = f"after {keys:,} puts: "
    yield row(loaded + "put", "put, loaded /s", "/s", 5, True)
    yield row(loaded + "range, linearizable", "range, linearizable, loaded /s", "/s", 7, True)
    yield row(loaded + "range, serializable", "range, serializable, loaded /s", "/s", 8, True)
    yield row(f"pages of {PAGE_LIMIT:,} of {keys:,} keys", "page /s", "/s", 100, True)
    yield row(f"RssAnon, {keys:,} keys loaded", "RssAnon loaded", "MiB", 1 / 3, False, 1 / MIB)
    yield row("RssAnon after a restart", "RssAnon restarted", "MiB", 1 / 3, False, 1 / MIB)
    yield row("restart until healthy", "restart s", "s", 1 / 6, False, digits=2)

    # The second is the harder one: no journal has to record that the file grew.
    single = {name: bench.median(name, "one put in flight p50 us") for name in ("etcd", "kvorum")}
    for name, target in (("append", 1.5), ("append into reserved space", None)):
        disk = bench.median("disk", name)
        result = ratio(single["kvorum"], disk)
        yield (f"one put in flight, p50, to {name} + fdatasync ({number(disk, 'us')})",
               number(single["etcd"], "us"), number(single["kvorum"], "us"),
               "" if result is None else f"{result:.3g}",
               "" if target is None else f"at most {target}",
               None if result is None or target is None else result <= target)
    for kind in ("linearizable", "serializable"):
        before, after = (bench.median("kvorum", f"range, {kind}{when} /s") for when in ("", ", loaded"))
        result = ratio(after, before)
        yield (f"range, {kind}: ours, loaded to small", "", number(after, "/s"),
               "" if result is None else f"{result:.3g}", "at least 0.9",
               None if result is None else result >= 0.9)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of each measure")
    parser.add_argument("--keys", type=lambda text: [int(part) for part in text.split(",")], default=[1_000_000],
                        help="with --all: one number or more, with commas")
    parser.add_argument("--paced-seconds", type=float, default=60, help="with --all: of each load at a rate")
    parser.add_argument("--causes", action="store_true",
                        help="with --all: print what the server waited for during the rows of tails and paced loads")
    parser.add_argument("--skip-small", action="store_true")
    parser.add_argument("--skip-large", action="store_true")
    programs.add_programs(parser, "compare.json")
    programs.add_any_file_system(parser)
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    parser.add_argument("--all", action="store_true", help="every goal, of one node, three members and watchers")
    parser.add_argument("--rows", type=lambda text: text.split(","), help=f"with --all: some of {','.join(goals.ROWS)}")
    parser.add_argument("--quick", action="store_true", help="with --all: one short round with 100,000 keys")
    options = parser.parse_args()
    if unknown := set(options.rows or ()) - set(goals.ROWS):
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    if not options.all and (len(options.keys) > 1 or options.rows or options.quick):
        parser.error("several --keys, --rows and --quick go with --all")
    return options


def main():
    options = parse_options()
    if options.all:
        return goals.run(options)
    programs.check(options, options.bench)
    options.keys = options.keys[0]
    options.warmup = min(1, options.seconds)

    bench = Bench(options)
    phases = []
    if not options.skip_small:
        phases.append(bench.small)
    if not options.skip_large:
        phases.append(bench.large)
    for turn in range(1, options.rounds + 1):
        print(f"round {turn} of {options.rounds}", flush=True)
        bench.probe_disk(options.data_root)
        for phase in phases:
            programs.measure_each(options, phase)

    table = list(rows(bench, options.keys))
    print_table(table)
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")
    return 1 if options.strict and any(met is False for *_, met in table) else 0


if __name__ == "__main__":
    sys.exit(main())
