"""A downgrade of the cluster: the leader lowers the version to its target, that survives a crash, and the version rises
again once it is cancelled."""

import json
import pathlib
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
from cluster import Cluster, wait_until  # noqa: E402

IN_PROCESS = "etcdserver: cluster has a downgrade job in progress"


def versions(member):
    with urllib.request.urlopen(f"http://{member.endpoint}/version", timeout=10) as answer:
        told = json.load(answer)
        return told["etcdcluster"], told["storage"]


def state(endpoint):
    """(is one under way, its target, the storage's version) as Status tells it."""
    status = json.loads(ctl.succeed(endpoint, "endpoint", "status", "-w", "json"))[0]["Status"]
    downgrade = status["downgradeInfo"]
    return downgrade.get("enabled", False), downgrade.get("targetVersion", ""), status["storageVersion"]


class DowngradeTest(unittest.TestCase):
    def test_down_and_up_again(self):
        with Cluster(3) as members:
            members.start()
            first, second, third = members.members
            wait_until(lambda: versions(first) == ("3.7.0", "3.7.0"), "the version of the cluster")
            done = ctl.run(first.endpoint, "downgrade", "enable", "3.6")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (
                0, "Downgrade enable success, cluster version 3.7\n",
                "A leader of kvorum does not end a downgrade by itself: only `downgrade cancel` ends it.\n"))
            done = ctl.run(second.endpoint, "downgrade", "enable", "3.6")
            self.assertEqual(done.returncode, 1)
            # The version may have fallen already.
            self.assertTrue(IN_PROCESS in done.stderr or "invalid downgrade target version" in done.stderr, done.stderr)
            for member in members.members:
                wait_until(lambda member=member: versions(member) == ("3.6.0", "3.6.0"), f"3.6 at {member.name}")
                self.assertEqual(state(member.endpoint), (True, "3.6.0", "3.6.0"))
            ctl.succeed(third.endpoint, "put", "a", "1")
            third.kill()
            third.start()
            self.assertEqual(state(third.endpoint), (True, "3.6.0", "3.6.0"))
            self.assertEqual(ctl.succeed(third.endpoint, "downgrade", "cancel"),
                             "Downgrade cancel success, cluster version 3.6\n")
            for member in members.members:
                wait_until(lambda member=member: versions(member) == ("3.7.0", "3.7.0"), f"3.7 at {member.name}")
                self.assertEqual(state(member.endpoint), (False, "", "3.7.0"))
            members.check_equal()


if __name__ == "__main__":
    unittest.main()
