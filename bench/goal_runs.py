"""What bench/compare.py --all measures of each server: a phase is one start with an empty folder."""

import time

import causes
import measures
import servers
import watching
from measures import PAGE_LIMIT, SMALL_KEY_SPACE, in_flight
from servers import MIB

WATCH = "prefix, 300 puts/s"
STREAMS = "idle streams"
MIXED = "tail: mixed, 64"
PACED_RATES = (1_000, 5_000, 20_000)
PACED_KEYS = 300_000


def of_keys(measure, count):
    return f"{measure}, {count:,} keys"


def paced(rate):
    return f"put, paced at {rate:,}/s"


class GoalBench(watching.WatchBench):
    def _preload(self, members, count):
        return self.load(members, *in_flight(256), "--keys", count, "--sequential", "--count", count, "put")

    def _calls(self, name, members, measure, calls, *operation, keys=SMALL_KEY_SPACE, endpoints=None):
        self.measure(name, members, measure, "--warmup", self._options.warmup, *in_flight(calls), "--keys", keys,
                     *operation, endpoints=endpoints)

    def _charged(self, name, server, measure, *arguments, seconds=None):
        """Its report; with --causes also what the server waited for meanwhile, if it says so."""
        before = server.members[0].get("/metrics") if self._options.causes else None
        report = self.measure(name, server, measure, "--warmup", self._options.warmup, *arguments, seconds=seconds)
        if before is not None:
            for line in causes.lines(before, server.members[0].get("/metrics")):
                print(f"    {line}", flush=True)
        return report

    def one(self, name, program, folder):
        """One node, few keys."""
        with servers.Server(program, folder) as server:
            server.start()
            self._preload(server, SMALL_KEY_SPACE)
            self._calls(name, server, "one put", 1, "put")
            self._calls(name, server, "put", 256, "put")
            self._calls(name, server, "txn", 64, "txn")

    def loaded(self, name, program, folder, count):
        """One node with many keys, and its restart with them."""
        with servers.Server(program, folder, quota_bytes=max(servers.DEFAULT_QUOTA_BYTES, 2048 * count)) as server:
            server.start()
            report = self._preload(server, count)
            self._record_memory(name, "loaded", count, report["server_rss_anon_bytes"])
            self._calls(name, server, of_keys("range", count), 256, "range", keys=count)
            for what, calls in (("one page", 1), ("page", 32)):
                self._calls(name, server, of_keys(what, count), calls, "page", "--limit", PAGE_LIMIT, keys=count)
            server.stop()
            seconds = server.start()
            self.record(name, of_keys("restart s", count), seconds)
            print(f"  {name:6} restarted with {count:,} keys in {seconds:.2f} s", flush=True)
            time.sleep(2)  # what it frees after the start
            self._record_memory(name, "restarted", count, servers.rss_anon_bytes(server.pid))

    def _record_memory(self, name, when, count, anonymous_bytes):
        self.record(name, of_keys(f"bytes a key, {when}", count), anonymous_bytes / count)
        print(f"  {name:6} {when} with {count:,} keys: RssAnon {anonymous_bytes / MIB:.0f} MiB", flush=True)

    def tails(self, name, program, folder):
        """One node, few keys: how far the slow calls are from the median."""
        few = ("--keys", SMALL_KEY_SPACE)
        with servers.Server(program, folder) as server:
            server.start()
            self._preload(server, SMALL_KEY_SPACE)
            for calls in (64, 256):
                self._charged(name, server, f"tail: put, {calls}", *in_flight(calls), *few, "put")
            self._charged(name, server, "tail: txn, 64", *in_flight(64), *few, "txn")
            self._charged(name, server, MIXED, *in_flight(64), *few, "--put-part", 0.1, "range")

    def paced(self, name, program, folder):
        """One node, puts at a rate, their tail in units of a sync of this disk and a round trip."""
        unit_us = self.median("disk", "append into zeroed space") + self.median("host", "echo over loopback")
        with servers.Server(program, folder) as server:
            server.start()
            self._preload(server, PACED_KEYS)
            for rate in PACED_RATES:
                report = self._charged(name, server, paced(rate), *in_flight(256), "--keys", PACED_KEYS, "--rate", rate,
                                       "put", seconds=self._options.paced_seconds)
                for part, value in (("p99", report["p99_us"]), ("p99.9", report["p999_us"])):
                    self.record(name, f"{paced(rate)} {part} in units", value / unit_us)

    def three(self, name, program, folder):
        """Three members, few keys; one call in flight goes to the leader, more to all."""
        with servers.Cluster(program, folder, 3) as members:
            members.start()
            self._preload(members, SMALL_KEY_SPACE)
            self._calls(name, members, "three: one put", 1, "put", endpoints=[members.leader().endpoint])
            for calls in (64, 256):
                self._calls(name, members, f"three: put, {calls}", calls, "put")
            for calls in (64, 256):
                self._calls(name, members, f"three: range, {calls}", calls, "range")
            self._calls(name, members, "three: txn", 64, "txn")

    def events(self, name, program, folder):
        self.watch(name, program, folder, WATCH)

    def streams(self, name, program, folder):
        self.watch(name, program, folder, STREAMS)
