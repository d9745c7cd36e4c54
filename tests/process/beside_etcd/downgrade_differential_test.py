"""Downgrades beside an etcd of 3.7 ($KVORUM_PEER_DIR): the same answers, and the same state."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
import server  # noqa: E402
from cluster import wait_until  # noqa: E402
from downgrade_test import state  # noqa: E402


class DowngradeDifferentialTest(unittest.TestCase):
    def test_the_same_answers(self):
        requests = [("validate", "3.6"), ("validate", "3.5"), ("validate", "x"), ("validate", "3.6.4-rc.1"), ("cancel",),
                    ("enable", "3.8"), ("enable", "3"), ("enable", "3.6.1+b")]
        with server.Server().start() as ours, ctl.Etcd() as etcd:
            for endpoint in (ours.endpoint, etcd.endpoint):
                wait_until(lambda e=endpoint: ctl.run(e, "downgrade", "validate", "3.6").returncode == 0, "a version")
            for request in requests:
                answers = [ctl.run(endpoint, "downgrade", *request) for endpoint in (ours.endpoint, etcd.endpoint)]
                self.assertEqual(*[(a.returncode, a.stdout, a.stderr.splitlines()[-1:]) for a in answers], request)
            for endpoint in (ours.endpoint, etcd.endpoint):
                wait_until(lambda e=endpoint: state(e) == (True, "3.6.0", "3.6.0"), "the lower version")
            answers = [ctl.run(endpoint, "downgrade", "cancel").stdout for endpoint in (ours.endpoint, etcd.endpoint)]
            self.assertEqual(*answers)


def has_peer():
    shown = subprocess.run([ctl.ETCD, "--version"], capture_output=True, check=True, timeout=30).stdout.decode()
    return tuple(int(part) for part in shown.split()[2].split(".")[:2]) >= (3, 7)


if __name__ == "__main__":
    if not has_peer():
        print(f"SKIPPED: {ctl.ETCD} is no etcd of 3.7")
        sys.exit(0)
    unittest.main()
