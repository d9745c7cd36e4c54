#!/usr/bin/env python3
"""Measures for how long a cluster of three takes no writes when its leader goes: killed without warning, and stopped
gracefully. Default time-outs (heartbeat 100 ms, election 1 s) unless told otherwise.

Each member gets a put every few milliseconds, whether or not the last one was answered: a put that the old leader took
with it is lost to whoever waits for it, and says nothing of the next one. The gap is the longest time around the
leader's end in which no put was acknowledged anywhere. Printed: each gap, the median, and the target of each kind:
below two election time-outs after a kill, below 100 ms after a graceful stop.

  bench/failover.py                  20 kills and 20 stops, about four minutes
  bench/failover.py --kills 5 --stops 5 --election-ms 500
"""

import argparse
import os
import pathlib
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("KVORUM_BIN_DIR", str(ROOT / "build" / "release" / "bin"))
sys.path.insert(0, str(ROOT / "tests" / "process"))

import grpc  # noqa: E402
from etcd3.etcdrpc import rpc_pb2  # noqa: E402

import cluster  # noqa: E402
import server  # noqa: E402

# Acknowledgements before and after the leader goes, so that the gap is one of a cluster that is used.
SETTLED = 50
PERIOD_SECONDS = 0.005
CALL_SECONDS = 10


class Writer(threading.Thread):
    """A put every PERIOD_SECONDS to one member, answered or not."""

    def __init__(self, member):
        super().__init__()
        self.member = member
        self.stopping = False
        self.acknowledged = []  # times

    def run(self):
        with cluster.channel_to(self.member.endpoint) as channel:
            stub = server.kv(channel)
            request = rpc_pb2.PutRequest(key=self.member.name.encode(), value=b"x" * 32)
            while not self.stopping:
                # Waits for its connection rather than failing while the member is away.
                stub.Put.future(request, timeout=CALL_SECONDS, wait_for_ready=True).add_done_callback(self.done)
                time.sleep(PERIOD_SECONDS)

    def done(self, call):
        if call.code() == grpc.StatusCode.OK:
            self.acknowledged.append(time.monotonic())


def gap(members, end_leader):
    """Seconds of the longest silence of all writers around the leader's end."""
    writers = [Writer(m) for m in members.members]
    for writer in writers:
        writer.start()
    try:
        def settled(since):
            return all(sum(1 for t in w.acknowledged if t > since) >= SETTLED for w in writers if w.member.alive)
        cluster.wait_until(lambda: settled(0), "the writers to get going")
        leader = members.leader()
        begin = time.monotonic()
        end_leader(leader)
        gone = time.monotonic()
        cluster.wait_until(lambda: settled(gone), "the writers to go on")
    finally:
        for writer in writers:
            writer.stopping = True
        for writer in writers:
            writer.join()
    times = sorted(t for w in writers for t in w.acknowledged)
    first = max((t for t in times if t < begin), default=begin)
    times = [t for t in times if t >= first]
    longest = max(b - a for a, b in zip(times, times[1:]))
    leader.start()
    members.leader()
    return longest


def report(what, gaps, target_seconds):
    shown = " ".join(f"{g * 1000:.0f}" for g in sorted(gaps))
    median = statistics.median(gaps)
    verdict = "met" if median < target_seconds else "MISSED"
    print(f"{what}: median {median * 1000:.0f} ms, longest {max(gaps) * 1000:.0f} ms of {len(gaps)}; target below "
          f"{target_seconds * 1000:.0f} ms: {verdict}\n  {shown}", flush=True)
    return median < target_seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--heartbeat-ms", type=int, default=100)
    parser.add_argument("--election-ms", type=int, default=1000)
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()
    flags = ["--heartbeat-interval", str(options.heartbeat_ms), "--election-timeout", str(options.election_ms)]
    fine = True
    with cluster.Cluster(3, flags) as members:
        members.start()
        members.leader()
        kinds = (("leader killed", cluster.Member.kill, options.kills, 2 * options.election_ms / 1000),
                 ("leader stopped", cluster.Member.stop, options.stops, 0.1))
        for what, end_leader, count, target in kinds:
            gaps = [gap(members, end_leader) for _ in range(count)]
            if gaps:
                fine = report(what, gaps, target) and fine
        members.check_equal()
    return 1 if options.strict and not fine else 0


if __name__ == "__main__":
    sys.exit(main())
