#!/usr/bin/python3
"""The time until a replica whose database was spoiled is known: one value changed, or one record lost, in the database
of a follower that runs, or while it is down; under load, and idle. Each time the member is re-seeded afterwards.

  spoiled_replica.py [--keys N] [--value-size N] [--rates R,R...] [--rounds N] [--settle SECONDS]

It needs kvorum, kvorumctl, kvorum-bench and kvorum-spoil-backend in $KVORUM_BIN_DIR (build/release/bin). It fails (exit
code 1) if one took longer than --busy-limit or --idle-limit seconds.
"""

import argparse
import os
import subprocess
import sys
import time

os.environ.setdefault("KVORUM_BIN_DIR", os.path.abspath("build/release/bin"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "process"))

import cluster  # noqa: E402

BIN = os.environ["KVORUM_BIN_DIR"]
FOUND = b"this member's database differs from the other members'"


def bench(members, *arguments, **options):
    return subprocess.Popen([f"{BIN}/kvorum-bench", "--endpoint", members.leader().endpoint, "--key-size", "16",
                             *arguments],
                            stdout=subprocess.DEVNULL, **options)


def spoil(member, how, key):
    subprocess.run([f"{BIN}/kvorum-spoil-backend", os.path.join(member.data_dir, "member", "snap", "db"), how, key],
                   check=True)
    return time.monotonic()


def wait_found(member, begun, before):
    cluster.wait_until(lambda: member.log().count(FOUND) > before, "the member to be found out", timeout=600)
    return time.monotonic() - begun


def measure(members, args, how, runs, rate):
    """Seconds from when the record was spoiled, or the member served again, until it was known."""
    victim = members.followers()[0]
    # A key that the load does not write.
    key = f"{args.keys - 1:016x}"
    load = None
    if rate is not None:
        load = bench(members, "--keys", str(args.keys // 2), "--value-size", str(args.value_size), "--rate", str(rate),
                     "--connections", "4", "--streams", "8", "--seconds", "3600", "put")
    try:
        if runs:
            # In the middle of the check's rounds, whatever they are.
            time.sleep(args.settle)
            before = victim.log().count(FOUND)
            begun = spoil(victim, how, key)
        else:
            victim.stop()
            spoil(victim, how, key)
            victim.start(timeout=300)
            before, begun = 0, time.monotonic()
        return wait_found(victim, begun, before)
    finally:
        if load is not None:
            load.kill()
            load.wait()
        members.ctl("member", "reseed", endpoints=[victim.endpoint], timeout=600)
        members.check_equal(timeout=600)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--value-size", type=int, default=256)
    parser.add_argument("--rates", default="2000", help="puts a second of the load; 0: as fast as they go")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--settle", type=float, default=15, help="seconds before a member that runs is spoiled")
    parser.add_argument("--busy-limit", type=float, default=5)
    parser.add_argument("--idle-limit", type=float, default=60)
    args = parser.parse_args()

    took_too_long = False
    with cluster.Cluster(3, flags=(*cluster.QUICK, "--quota-backend-bytes", "17179869184")) as members:
        members.start()
        fill = bench(members, "--keys", str(args.keys), "--value-size", str(args.value_size), "--preload",
                     str(args.keys), "--count", "1", "put")
        assert fill.wait() == 0
        members.check_equal(timeout=300)
        print(f"{args.keys} keys of {args.value_size} bytes\n  spoiled  while    load (puts/s)  found after s",
              flush=True)
        for _ in range(args.rounds):
            for runs in (True, False):
                for how in ("change", "lose"):
                    for rate in (None, *args.rates.split(",")):
                        seconds = measure(members, args, how, runs, rate)
                        limit = args.idle_limit if rate is None else args.busy_limit
                        took_too_long |= seconds > limit
                        print(f"  {how:7}  {'running' if runs else 'down':7}  {rate or 'none':>13}  {seconds:13.1f}",
                              flush=True)
    sys.exit(1 if took_too_long else 0)


if __name__ == "__main__":
    main()
