"""kvorumctl check: against one node, a cluster of three, and the packaged etcd."""

import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
import server  # noqa: E402
from cluster import Cluster, STEADY  # noqa: E402

DATASCALE = "/etcdctl-check-datascale/"
PASSED = re.compile(r"""PASS: Throughput is \d+ writes/s
(PASS: Slowest request took|Slowest request took too long:) \d+\.\d{6}s
(PASS: Stddev is|Stddev too high:) \d+\.\d{6}s
(PASS|FAIL)
""")


def count(endpoints):
    fields = ctl.succeed(endpoints, "get", "", "--prefix", "--count-only", "-w", "fields")
    return int(re.search(r'"Count" : (\d+)', fields)[1])


class CheckTest(unittest.TestCase):
    def check_perf(self, endpoints):
        done = ctl.run(endpoints, "check", "perf", "--duration", "2s", "--auto-compact")
        lines = done.stdout.splitlines(keepends=True)
        self.assertRegex("".join(lines[:2]), r"^Compacting with revision (\d+)\nCompacted with revision \1\n$")
        # A loaded machine may be slow: then the verdict says so.
        self.assertRegex("".join(lines[2:]), PASSED)
        self.assertEqual(done.returncode, 0 if lines[-1] == "PASS\n" else 1)
        self.assertEqual(done.stderr, "", "no progress where there is no terminal")
        self.assertEqual(count(endpoints), 0)

    def check_datascale(self, endpoints):
        done = ctl.run(endpoints, "check", "datascale", "--auto-defrag")
        first = endpoints if isinstance(endpoints, str) else endpoints[0]
        self.assertRegex(done.stdout, "^Start data scale check for work load \\[10000 key-value pairs, 1024 bytes per "
                         f'key-value, 50 concurrent clients\\].\nDefragmenting "{first}"\nDefragmented "{first}"\n')
        self.assertRegex(done.stdout, r"\nPASS: Approximate system memory used : -?\d+\.\d\d MB.\n$")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(count(endpoints), 0)

    def test_one_node(self):
        with server.Server().start() as node:
            self.check_perf(node.endpoint)
            self.check_datascale(node.endpoint)

    def test_a_cluster(self):
        # A change of the leader may cost a write, which the check would count as an error.
        with Cluster(3, STEADY).start() as cluster:
            self.check_perf(cluster.endpoints)
            self.check_datascale(cluster.endpoints)

    def test_the_packaged_etcd(self):
        if not ctl.etcd_is_here():
            self.skipTest("no packaged etcd here")
        with ctl.Etcd() as etcd:
            self.check_perf(etcd.endpoint)
            self.check_datascale(etcd.endpoint)

    def test_keys_that_are_there_are_left_alone(self):
        with server.Server().start() as node:
            ctl.succeed(node.endpoint, "put", "/mine/a", "1")
            for what, quote in (("perf", "'"), ("datascale", "")):
                done = ctl.run(node.endpoint, "check", what, "--prefix", "/mine/")
                self.assertEqual(done.stderr, 'Error: prefix "/mine/" has keys. Delete with '
                                 f'{quote}kvorumctl del --prefix "/mine/"{quote} first\n')
                self.assertEqual(done.returncode, 3)
            self.assertEqual(count(node.endpoint), 1)

    def test_an_interrupted_check_leaves_no_keys(self):
        with server.Server().start() as node:
            with subprocess.Popen([ctl.CTL, "--endpoints", node.endpoint, "check", "perf"], stdout=subprocess.PIPE,
                                  text=True) as running:
                end = time.monotonic() + 60
                while count(node.endpoint) == 0:
                    self.assertLess(time.monotonic(), end)
                running.send_signal(signal.SIGINT)
                text, _ = running.communicate(timeout=60)
            self.assertRegex(text, "writes/s\n")
            self.assertEqual(count(node.endpoint), 0)

    def test_errors_are_counted_and_fail_the_check(self):
        with server.Server("--quota-backend-bytes", "1048576").start() as node:
            done = ctl.run(node.endpoint, "check", "perf", "--load", "m", "--duration", "2s", "--prefix", DATASCALE)
            self.assertRegex(done.stdout, r"FAIL: ERROR\(etcdserver: mvcc: database space exceeded\) -> \d+\n")
            self.assertRegex(done.stdout, "FAIL\n$")
            self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
