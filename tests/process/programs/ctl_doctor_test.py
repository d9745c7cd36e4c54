"""kvorumctl doctor: what it finds on real servers, and that it changes nothing."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import certificates  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402
from cluster import Cluster, wait_until  # noqa: E402

# What a loaded machine may show at any time.
OF_THE_MACHINE = {"slow-sync", "slow-commit", "slow-read", "elections"}


def examine(endpoints, *arguments):
    """(exit code, {"severity code subject"}, the whole answer); without what only the machine is to blame for."""
    patience = () if "--command-timeout" in arguments else ("--command-timeout", "30s")
    done = ctl.run(endpoints, "doctor", "-w", "json", *patience, *arguments)
    answer = json.loads(done.stdout)
    findings = {f"{f['severity']} {f['code']} {f['subject']}" for f in answer["findings"]
                if f["code"] not in OF_THE_MACHINE}
    worst = {"none": 0, "note": 0, "warning": 1, "critical": 2}[answer["severity"]]
    assert done.returncode == worst, (done.returncode, answer)
    return done.returncode, findings, answer


class DoctorTest(unittest.TestCase):
    def test_one_node(self):
        with server.Server().start() as node:
            ctl.succeed(node.endpoint, "put", "a", "1")
            _, findings, answer = examine(node.endpoint)
            self.assertEqual(findings, {"note single-member cluster"})
            member = answer["members"][0]
            self.assertEqual((member["role"], member["endpoint"], member["clock_ahead_s"]), ("leader", node.endpoint, 0))
            self.assertEqual(answer["revision"], 2)
            text = ctl.run(node.endpoint, "doctor").stdout
            self.assertIn("note: cluster: there is one voting member", text)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("│", text, "no table where there is no terminal")
            self.assertIn("│", ctl.run(node.endpoint, "doctor", "-w", "table").stdout)

    def test_a_cluster_that_loses_its_members(self):
        with Cluster(3).start() as cluster:
            cluster.leader()
            for number in range(50):
                cluster.ctl("put", f"k{number}", "v")
            before = cluster.check_equal()
            _, findings, answer = examine(cluster.members[0].endpoint)
            self.assertEqual(findings, set())
            self.assertEqual(sorted(member["name"] for member in answer["members"]), ["m1", "m2", "m3"],
                             "all of them are asked, whatever endpoint was given")
            self.assertEqual(len({member["hash"] for member in answer["members"]}), 1)
            self.assertEqual(cluster.check_equal(), before, "nothing was written")

            cluster.members[2].kill()
            wait_until(lambda: cluster.leader(), "a leader")
            code, findings, _ = examine(cluster.endpoints, "--command-timeout", "10s")
            self.assertEqual(findings, {"warning unreachable m3", "warning no-spare-member cluster"})
            self.assertEqual(code, 1)
            text = ctl.run(cluster.endpoints, "doctor", "--command-timeout", "10s").stdout
            self.assertIn(f"warning: m3: does not answer at {cluster.members[2].endpoint}: ", text)
            self.assertIn("[unreachable]\n    to do: ", text)

            cluster.members[1].kill()
            wait_until(lambda: cluster.members[0].wait_status().leader == 0, "the last one to know no leader")
            code, findings, _ = examine(cluster.endpoints, "--command-timeout", "2s")
            self.assertEqual(code, 2)
            self.assertLessEqual({"critical no-majority cluster", "critical no-leader m1", "critical read-failed m1"}, findings)

    def test_alarm(self):
        with server.Server("--quota-backend-bytes", "1048576").start() as node:
            self.assertNotEqual(ctl.run(node.endpoint, "put", "large", stdin="x" * 1_200_000).returncode, 0)
            code, findings, _ = examine(node.endpoint)
            self.assertIn("critical alarm-nospace default", findings)
            self.assertEqual(code, 2)
            self.assertIn("NOSPACE", ctl.succeed(node.endpoint, "alarm", "list"), "the alarm is still on")

    def test_a_learner_that_has_not_started(self):
        with server.Server().start() as node:
            ctl.succeed(node.endpoint, "member", "add", "m2", "--learner", "--peer-urls", "http://127.0.0.1:1")
            _, findings, _ = examine(node.endpoint)
            self.assertTrue(any(finding.startswith("warning not-started ") for finding in findings), findings)

    def test_certificates_that_expire(self):
        with Cluster(1, secured=certificates.Secured).start() as cluster:
            files = cluster.secured.client
            done = ctl.run(cluster.endpoints, *files.ctl(), "doctor", "-w", "json")
            found = {f"{f['severity']} {f['code']} {f['subject']}" for f in json.loads(done.stdout)["findings"]}
            self.assertLessEqual({"critical certificate m1", "critical certificate kvorumctl"}, found)
            self.assertNotIn("note no-metrics m1", found)
            without = ctl.run(cluster.endpoints, "--cacert", files.authorities, "doctor", "--command-timeout", "2s")
            self.assertEqual(without.returncode, 2)
            self.assertIn("critical: cluster: no endpoint gives the list of members: ", without.stdout)

    def test_nobody_there(self):
        code, findings, _ = examine("127.0.0.1:1", "--command-timeout", "1s")
        self.assertEqual(code, 2)
        self.assertEqual(findings, {"critical no-member-list cluster", "critical unreachable 127.0.0.1:1"})

    def test_with_users(self):
        with server.Server("--bcrypt-cost", "4").start() as node:
            for command in (("user", "add", "root:secret"), ("user", "grant-role", "root", "root"), ("auth", "enable")):
                ctl.succeed(node.endpoint, *command)
            code, findings, _ = examine(node.endpoint)
            self.assertIn(f"critical refused {node.endpoint}", findings)
            self.assertEqual(code, 2)
            _, findings, answer = examine(node.endpoint, "--user", "root:secret")
            self.assertEqual(findings, {"note single-member cluster"})
            self.assertIn("hash", answer["members"][0])

    def test_two_clusters(self):
        with server.Server().start() as node, server.Server("--initial-cluster-token", "other").start() as other:
            code, findings, _ = examine([node.endpoint, other.endpoint])
            self.assertIn("critical several-clusters cluster", findings)
            self.assertEqual(code, 2)

    def test_the_packaged_etcd(self):
        if not ctl.etcd_is_here():
            self.skipTest("no packaged etcd here")
        with ctl.Etcd() as etcd:
            ctl.succeed(etcd.endpoint, "put", "a", "1")
            _, findings, answer = examine(etcd.endpoint)
            self.assertEqual(findings, {"note single-member cluster"})
            self.assertEqual(answer["members"][0]["clock_ahead_s"], 0)


if __name__ == "__main__":
    unittest.main()
