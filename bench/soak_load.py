"""The load of bench/soak.py: everything that clients do, at once."""

import json
import subprocess
import threading

from measures import in_flight

KEPT_LEASES = 1_000
KEPT_TTL_SECONDS = 60
# Leases that expire are numbered from here on: above those kept alive, and within what an id has room for.
FIRST_EXPIRING = 1_000_000
BATCH = 500
# A round of renewals takes a sixth of the time to live, or somewhat more beside full load.
RENEWALS_PER_SECOND = KEPT_LEASES * 6 // KEPT_TTL_SECONDS
LEASED_KEY_SIZE = 30  # no other key has that many bytes


class SoakLoad:
    """Programs of ours run beside each other. What one of them reports as wrong is kept in `failures`."""

    def __init__(self, options, cluster):
        self._options = options
        self._cluster = cluster
        self._first_kept = 0
        self._renewed = 0
        self._next_lease = FIRST_EXPIRING
        self.failures = []

    def run(self, number, seconds):
        """A window of full load; what its puts report."""
        keys = ("--keys", self._options.keys)
        timed = ("--warmup", 0, "--seconds", seconds, "--seed", number + 1)
        watched = ("--warmup", 0, "--seconds", seconds, "--key-space", self._options.keys)
        endpoints = self._cluster.endpoints
        beside = {
            "range": self._calls(*timed, *keys, *in_flight(32), "range"),
            "page": self._calls(*timed, *keys, "--connections", 1, "--streams", 1, "--rate", 20, "page"),
            "txn": self._calls(*timed, *keys, *in_flight(32), "txn"),
            "watchers of keys": self._watchers(endpoints[-1], *watched, "--streams", 50, "--watchers", 20, "--own-keys",
                                               "--rate", 100),
            "watchers of everything": self._watchers(endpoints[0], *watched, "--streams", 2, "--watchers", 1,
                                                     "--rate", 10),
        }
        puts = self._report("put", self._calls(*timed, *keys, *in_flight(64), "put"))
        for what, process in beside.items():
            self._report(what, process)
        if not puts:
            raise RuntimeError(f"no puts: {self.failures}")
        return puts

    def leases(self):
        return Leases(self)

    def grant_kept(self):
        """Others each time: those of the last time may still be there."""
        self._first_kept += KEPT_LEASES
        self._report("grants", self._calls("--first-key", self._first_kept, "--count", KEPT_LEASES, "--keys", KEPT_LEASES,
                                           "--sequential", "lease-grant", "--ttl", KEPT_TTL_SECONDS))

    def renew(self):
        """The next of them, each once; those of a second."""
        first = self._first_kept + self._renewed % KEPT_LEASES
        self._renewed += RENEWALS_PER_SECOND
        self._report("renewals", self._calls("--first-key", first, "--keys", RENEWALS_PER_SECOND, "--count",
                                             RENEWALS_PER_SECOND, "--rate", RENEWALS_PER_SECOND, "--sequential",
                                             "lease-keep-alive"))

    def grant_expiring(self):
        """A batch of leases that nobody renews, each with a key."""
        batch = ("--first-key", self._next_lease, "--keys", BATCH, "--count", BATCH, "--sequential")
        self._next_lease += BATCH
        self._report("grants", self._calls(*batch, "lease-grant", "--ttl", self._options.ttl))
        self._report("puts on leases", self._calls(*batch, "--key-size", LEASED_KEY_SIZE, "leased-put"))

    def _calls(self, *arguments):
        return self._begin(self._options.bench, "--json", "--endpoint", ",".join(self._cluster.endpoints), *arguments)

    def _watchers(self, endpoint, *arguments):
        return self._begin(self._options.watch_bench, "--endpoint", endpoint, *arguments)

    def _begin(self, *command):
        return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def _report(self, what, process):
        with process:
            out, error = process.communicate()
        report = json.loads(out or "{}")
        if process.returncode != 0:
            self.failures.append(f"{what}: {report.get('first_failure') or error.strip()}")
        return report


class Leases:
    """Grants and renews leases, about once a second, until the end of the with."""

    def __init__(self, load):
        self._load = load
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._ends.wait(0.5):
            self._load.grant_expiring()
            self._load.renew()

    def __enter__(self):
        self._load.grant_kept()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()
