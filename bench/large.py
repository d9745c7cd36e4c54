#!/usr/bin/env python3
"""Many keys, or much data, beside few: puts, ranges, pages, compaction, defragmentation, a snapshot, memory and a restart
of a server that holds --keys keys (or --bytes of data) beside those of one that holds --base-keys (or --base-bytes).

  bench/large.py                                       100,000,000 keys of small values beside 1,000,000
  bench/large.py --bytes 60G --value-size 60000        60 GB of larger values beside 1 GB
  bench/large.py --keys 200000 --base-keys 20000       to try it

Ranges and pages come twice: over all keys, and over a working set of the first --working-set keys, which fits in memory.
A larger database may cost 1.3 times as much there, and a put's p99 during compaction and defragmentation be 1.5 times
that without.

It looks at the free disk first. A defragmentation writes a second file, so it is left out where there is no room for one.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys

import measures
import programs
import servers
from large_runs import LargeBench, Size, disk_bytes
from table import met_word, number, ratio

WORSE = 1.3
WORSE_DURING_UPKEEP = 1.5
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# (what, measure, unit, digits, whether more is better; None: no bound)
LINES = (
    ("load, in order", "load /s", "/s", 0, True),
    ("put, 256 in flight", "put /s", "/s", 0, True),
    ("put, p99", "put p99 us", "us", 0, False),
    ("range of the working set", "range, working set /s", "/s", 0, True),
    ("range of all keys", "range /s", "/s", 0, None),
    ("page of the working set", "page, working set /s", "/s", 0, True),
    ("page of all keys", "page /s", "/s", 0, None),
    # No goal: of the small one's records half are dropped, of the large one's a hundredth.
    ("compaction: records examined", "compaction records /s", "/s", 0, None),
    ("defragmentation: file read", "defragmentation MB/s", "MB/s", 0, True),
    ("snapshot: sent", "snapshot MB/s", "MB/s", 0, True),
    ("anonymous memory a key, loaded", "bytes a key", "B", 1, None),
    ("anonymous memory a key, restarted", "bytes a key, restarted", "B", 1, None),
    ("file a key", "file bytes a key", "B", 0, None),
    ("restart", "restart s", "s", 2, None),
)


def byte_count(text):
    return int(float(text[:-1]) * UNITS[text[-1]]) if text[-1:] in UNITS else int(text)


def rows(bench, base, large):
    """(what, the base's, the large one's, ratio, goal, met)"""
    for what, measure, unit, digits, more in LINES:
        few, many = (bench.median(size.name, measure) for size in (base, large))
        result = ratio(many, few)
        goal, met = "", None
        if more is not None:
            goal = f"≥ {1 / WORSE:.2g} ×" if more else f"≤ {WORSE:g} ×"
            met = None if result is None else (result >= 1 / WORSE if more else result <= WORSE)
        yield what, number(few, unit, digits), number(many, unit, digits), "" if result is None else f"{result:.2g}", goal, met
    for upkeep in ("compaction", "defragmentation"):
        found = [ratio(bench.median(size.name, f"put during {upkeep} p99 us"), bench.median(size.name, "put alone p99 us"))
                 for size in (base, large)]
        yield (f"p99 of paced puts during {upkeep}, to that without", *(number(value, "×", 2) for value in found), "",
               f"≤ {WORSE_DURING_UPKEEP:g} ×", None if found[1] is None else found[1] <= WORSE_DURING_UPKEEP)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100_000_000)
    parser.add_argument("--base-keys", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=byte_count, help="of values, like 60G: as many keys as that takes")
    parser.add_argument("--base-bytes", type=byte_count, default=10**9)
    parser.add_argument("--key-size", type=int, default=32)
    parser.add_argument("--value-size", type=int, default=32)
    parser.add_argument("--working-set", type=int, help="keys; as many as an eighth of the memory takes, at most 1,000,000")
    parser.add_argument("--seconds", type=float, default=10, help="of each measure")
    parser.add_argument("--rate", type=int, default=2_000, help="paced puts a second, during upkeep")
    parser.add_argument("--skip-base", action="store_true")
    programs.add_programs(parser, "large.json")
    programs.add_any_file_system(parser)
    parser.add_argument("--ctl", type=pathlib.Path, default=programs.BUILT / "kvorumctl")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args()
    options.only = options.only or "kvorum"
    fits = servers.memory_total_bytes() // 8 // (options.key_size + options.value_size)
    options.working_set = options.working_set or min(1_000_000, fits)
    return options


def sizes(options):
    if options.bytes:
        counts = (options.base_bytes // options.value_size, options.bytes // options.value_size)
    else:
        counts = (options.base_keys, options.keys)
    return [Size(name, max(count, measures.PAGE_LIMIT + 1), options.key_size, options.value_size)
            for name, count in zip(("base", "large"), counts)]


def main():
    options = parse_options()
    programs.check(options, options.bench, options.ctl)
    base, large = sizes(options)
    free, needed = shutil.disk_usage(options.data_root).free, disk_bytes(large)
    print(f"{large.keys:,} keys of {large.value_size} bytes: about {needed / 1e9:.1f} GB, and as much again for a "
          f"defragmentation; {free / 1e9:.1f} GB are free", flush=True)
    if needed > free:
        sys.exit(f"not enough disk in {options.data_root}")

    program = next(iter(programs.chosen(options).values()))
    bench = LargeBench(options)
    folder = options.data_root / f"{os.getpid()}-large"
    for size in (large,) if options.skip_base else (base, large):
        folder.mkdir()
        try:
            bench.run(size, program, folder)
        except BaseException:
            shutil.rmtree(folder / "m0", ignore_errors=True)  # the data; the log stays
            raise
        shutil.rmtree(folder)
        options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n", encoding="ascii")

    lines = list(rows(bench, base, large))
    print(f"\n| | {base.keys:,} keys | {large.keys:,} keys | ratio | goal | |\n| --- | ---: | ---: | ---: | ---: | --- |")
    for *cells, met in lines:
        print("| " + " | ".join((*cells, met_word(met))) + " |")
    print(f"\n{options.key_size}-byte keys, {options.value_size}-byte values, {options.seconds:g} s a measure; "
          f"{os.cpu_count()} processors, {servers.memory_total_bytes() / 2**30:.0f} GiB of memory. "
          f"All samples: {options.report}")
    return 1 if options.strict and any(met is False for *_, met in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
