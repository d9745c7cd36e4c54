"""kill -9 in the middle of what administrators do: nothing is lost, and the same action again finishes. Each action is
killed at the points of the code that it passes, while its caller waits.
"""

import os
import subprocess
import threading
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import points
import server

COMPACTION = ("compactBeforeCommitScheduledCompact", "compactAfterCommitScheduledCompact", "compactBeforeCommitBatch",
              "compactAfterCommitBatch", "compactBeforeSetFinishedCompact")
DEFRAGMENTATION = ("defragBeforeCopy", "defragBeforeRename", "backendBetweenRenames", "backendBeforeDirectorySync")
CTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumctl")


class AdminCrashTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server("--bcrypt-cost", "4", "--snapshot-count", "20", "--backend-batch-interval", "5ms")
        self.addCleanup(self.member.close)
        self.points = points.Points(self.member)
        self.user = []
        self.asking = None
        self.member.start()
        with self.member.channel() as channel:
            for number in range(40):
                server.put(server.kv(channel), b"key/%03d" % (number % 20), b"value %d" % number)
        self.content = self.rows()

    def ctl(self, *words):
        """Runs kvorumctl; its output. CalledProcessError has what it refuses with."""
        command = [CTL, "--endpoints", self.member.endpoint, "--command-timeout", "20s", *self.user, *words]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as self.asking:
            out, err = self.asking.communicate(timeout=60)
        if self.asking.returncode != 0:
            raise subprocess.CalledProcessError(self.asking.returncode, command, out, err)
        return out.decode()

    def rows(self):
        return self.ctl("get", "key/", "--prefix", "-w", "fields").split('"Key"')[1:]

    def kill_at(self, point, act, in_log):
        """Kills the member within the action: at the point, while the caller waits for its answer."""
        acknowledged = []

        def run():
            try:
                act()
                acknowledged.append(True)
            except (subprocess.CalledProcessError, grpc.RpcError):
                pass
        self.points.stop_at(point)
        caller = threading.Thread(target=run)
        caller.start()
        try:
            self.points.wait_at(point)
            if in_log:  # the log may have come there with something else
                cluster.wait_until(lambda: points.proposals_pending(self.member.endpoint) > 0, "the action")
            self.assertTrue(caller.is_alive(), f"answered before {point}")
        finally:
            self.member.kill()
            while caller.is_alive():  # nobody answers it any more
                if self.asking is not None:
                    self.asking.kill()
                caller.join(0.05)
        self.assertEqual(acknowledged, [], point)

    def crash_and_repeat(self, act, holds, undo, *done_already, at=points.OF_AN_ENTRY):
        for point in at:
            self.kill_at(point, act, in_log=point in points.OF_AN_ENTRY + points.OF_A_CONF_CHANGE)
            self.member.start()
            try:
                act()
            except subprocess.CalledProcessError as error:
                self.assertTrue(any(text in error.stderr.decode() for text in done_already), error.stderr)
            self.assertTrue(holds(), "after it was done again")
            self.assertEqual(self.rows(), self.content)
            undo()

    def test_compaction(self):
        def revision():
            return int(self.ctl("get", "none", "-w", "fields").split('"Revision" : ')[1].split("\n")[0])
        target = [revision()]

        def is_compacted():
            with self.assertRaises(subprocess.CalledProcessError) as refused:
                self.ctl("get", "key/000", "--rev", str(target[0] - 1))
            return b"required revision has been compacted" in refused.exception.stderr

        def write_more():
            self.ctl("put", "other", "v")
            target[0] = revision()
        self.crash_and_repeat(lambda: self.ctl("compact", str(target[0]), "--physical"), is_compacted, write_more,
                              "required revision has been compacted", at=points.OF_AN_ENTRY + COMPACTION)

    def test_defragmentation(self):
        self.crash_and_repeat(lambda: self.ctl("defrag"), lambda: True, lambda: self.ctl("put", "other", "v" * 5000),
                              at=DEFRAGMENTATION)

    def test_alarms(self):
        def change(action):
            with self.member.channel() as channel:
                maintenance = rpc_pb2_grpc.MaintenanceStub(channel)
                member = maintenance.Status(rpc_pb2.StatusRequest(), timeout=20).header.member_id
                maintenance.Alarm(rpc_pb2.AlarmRequest(action=action, memberID=member, alarm=rpc_pb2.NOSPACE),
                                  timeout=20)
        activate, disarm = rpc_pb2.AlarmRequest.ACTIVATE, rpc_pb2.AlarmRequest.DEACTIVATE
        self.crash_and_repeat(lambda: change(activate), lambda: "NOSPACE" in self.ctl("alarm", "list"),
                              lambda: self.ctl("alarm", "disarm"))
        change(activate)
        self.crash_and_repeat(lambda: self.ctl("alarm", "disarm"), lambda: self.ctl("alarm", "list") == "",
                              lambda: change(activate))

    def test_users_and_roles(self):
        self.crash_and_repeat(lambda: self.ctl("user", "add", "ann:pw"), lambda: "ann" in self.ctl("user", "list"),
                              lambda: self.ctl("user", "delete", "ann"), "user name already exists")
        self.crash_and_repeat(lambda: self.ctl("role", "add", "reader"), lambda: "reader" in self.ctl("role", "list"),
                              lambda: self.ctl("role", "delete", "reader"), "role name already exists")
        self.ctl("user", "add", "ann:pw")
        self.ctl("role", "add", "reader")
        self.crash_and_repeat(lambda: self.ctl("role", "grant-permission", "reader", "read", "key/", "--prefix"),
                              lambda: "key/" in self.ctl("role", "get", "reader"),
                              lambda: self.ctl("role", "revoke-permission", "reader", "key/", "--prefix"))
        self.crash_and_repeat(lambda: self.ctl("user", "grant-role", "ann", "reader"),
                              lambda: "reader" in self.ctl("user", "get", "ann"),
                              lambda: self.ctl("user", "revoke-role", "ann", "reader"))

    def test_turning_auth_on_and_off(self):
        self.ctl("user", "add", "root:pw")
        self.ctl("user", "grant-role", "root", "root")
        root = ["--user", "root:pw"]

        def is_on():
            self.user = root
            return "Authentication Status: true" in self.ctl("auth", "status")

        def enable():
            # By nobody where it is still off, by root where the crash came after it.
            self.user = []
            try:
                self.ctl("auth", "enable")
            except subprocess.CalledProcessError as error:
                if b"user name is empty" not in error.stderr:
                    raise
                self.user = root
                self.ctl("auth", "enable")

        def disable():
            self.user = root
            self.ctl("auth", "disable")
            self.user = []
        self.crash_and_repeat(enable, is_on, disable)

    def test_members(self):
        # A member's id comes from its URLs and the second: one that was removed cannot come back at once.
        port = [1]

        def learners():
            return [line.split(", ")[0] for line in self.ctl("member", "list").splitlines() if line.endswith("true")]

        def add():
            self.ctl("member", "add", "other", "--learner", "--peer-urls", f"http://127.0.0.1:{port[0]}")

        def remove():
            for member in learners():
                self.ctl("member", "remove", member)

        def remove_for_another():
            remove()
            port[0] += 1

        def add_another():
            port[0] += 1
            add()
        self.crash_and_repeat(add, learners, remove_for_another, "Peer URLs already exists", "member ID already exist",
                              at=points.OF_A_CONF_CHANGE)
        add()
        self.crash_and_repeat(remove, lambda: not learners(), add_another, at=points.OF_A_CONF_CHANGE)

    def test_leases(self):
        lease = ["none"]

        def grant():
            lease[0] = self.ctl("lease", "grant", "600").split()[1]
            self.ctl("put", "leased", "v", "--lease", lease[0])

        def is_revoked():
            return lease[0] not in self.ctl("lease", "list") and self.ctl("get", "leased") == ""
        grant()
        self.crash_and_repeat(lambda: self.ctl("lease", "revoke", lease[0]), is_revoked, grant,
                              "requested lease not found")


class DefragmentationTest(unittest.TestCase):
    """Those that members begin by themselves, killed when the copy is whole and before it takes the database's place."""

    FREE_MIB = 30
    POINT = "defragBeforeRename"

    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)
        self.points = points.Points(self.member)
        self.member.start()
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for number in range(20):
                server.put(stub, b"kept%d" % number, b"v" * 100_000)
            for _ in range(self.FREE_MIB):
                revision = server.put(stub, b"big", os.urandom(1 << 20)).header.revision
            stub.Compact(rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=60)

    def kill_before_the_rename(self):
        self.points.wait_started_at(self.POINT)
        self.assertTrue(os.path.exists(os.path.join(self.member.data_dir, "member", "snap", "db.tmp")))
        self.member.kill()
        self.points.pass_from_the_start()

    def check_finishes(self, size):
        """What was written is there, and the rerun has made the file small."""
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for number in range(20):
                self.assertEqual(len(server.get(stub, b"kept%d" % number).kvs[0].value), 100_000)
            cluster.wait_until(lambda: size(channel) < 10 << 20, "the file to be small", timeout=120)
            server.put(stub, b"goes", b"on")

    @staticmethod
    def size(channel):
        return server.maintenance(channel).Status(rpc_pb2.StatusRequest(), timeout=20).dbSize

    def test_at_a_start(self):
        self.member.kill()
        self.member.flags += ["--bootstrap-defrag-threshold-megabytes", "5"]
        self.points.stop_from_the_start(self.POINT)
        with open(self.member.log_path, "wb") as log:
            self.member.process = subprocess.Popen(self.member.command(), stdout=log, stderr=log,
                                                   env=self.member.environment, cwd=self.member.folder)
        self.kill_before_the_rename()
        self.member.start()
        self.check_finishes(self.size)

    def test_by_itself(self):
        """Looked for every ten seconds."""
        self.member.kill()
        self.member.flags += ["--auto-defrag-threshold-percent", "50"]
        self.points.stop_from_the_start(self.POINT)
        self.member.start()
        self.kill_before_the_rename()
        self.member.start()
        self.check_finishes(self.size)


class ClusterCrashTest(unittest.TestCase):
    """What takes several members."""

    def begin(self, *flags):
        members = cluster.Cluster(3, flags=(*cluster.QUICK, *flags))
        self.addCleanup(members.close)
        self.points = {member: points.Points(member) for member in members.members}
        members.start()
        return members

    def kill_during(self, members, victim, is_within, *words):
        """Kills the member within the command, while that waits for its answer; it is up again at the end."""
        ctl = subprocess.Popen([CTL, "--endpoints", victim.endpoint, "--command-timeout", "20s", *words],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            cluster.wait_until(is_within, f"the member to be within {words[0]} {words[1]}")
            self.assertIsNone(ctl.poll(), "it was answered")
        finally:
            victim.kill()
            ctl.kill()  # nobody answers it any more
            ctl.wait()
        victim.start()
        members.leader()

    @staticmethod
    def until_accepted(members, done_already, *words):
        """Runs the command again until it is done; refusals for want of a leader or of health pass."""
        def attempt():
            try:
                members.ctl(*words, endpoints=[members.leader().endpoint])
                return True
            except AssertionError as error:
                return done_already in str(error)
        cluster.wait_until(attempt, " ".join(words), timeout=120)

    def test_moving_the_leader(self):
        members = self.begin()
        leader = members.leader()
        target = members.followers()[0]
        target_id = f"{target.wait_status().header.member_id:x}"
        # Who stands still cannot take over, so the leader waits for it.
        target.pause()
        self.addCleanup(target.resume)
        self.kill_during(members, leader, lambda: b"leadership transfer starting" in leader.log(), "move-leader",
                         target_id)
        target.resume()
        self.until_accepted(members, "is not leader", "move-leader", target_id)
        cluster.wait_until(lambda: members.leader() is target, "the leader to be there")
        write(members, b"goes on")
        members.check_equal()

    def test_promoting_a_learner(self):
        members = self.begin()
        write(members, b"before")
        learner = members.new_member("m4")
        self.until_accepted(members, "Peer URLs already exists", "member", "add", "m4", "--learner", "--peer-urls",
                            learner.peer_url)
        learner.start()
        learner_id = f"{learner.wait_status().header.member_id:x}"
        leader = members.leader()
        self.points[leader].stop_at("beforeApplyOneConfChange")
        self.kill_during(members, leader, lambda: self.points[leader].is_at("beforeApplyOneConfChange"), "member",
                         "promote", learner_id)
        self.until_accepted(members, "can only promote a learner member", "member", "promote", learner_id)
        listed = members.ctl("member", "list", endpoints=[members.leader().endpoint]).splitlines()
        self.assertTrue(next(line for line in listed if line.startswith(learner_id)).endswith("false"), listed)
        write(members, b"after")
        members.check_equal()

    def test_receiving_the_leaders_database(self):
        # Before it is opened, when it is, and before and after it is the store's. A cluster each: a leader that has sent
        # its database keeps its log for a while.
        for point in ("applyBeforeOpenSnapshot", "applyAfterOpenSnapshot", "raftBeforeApplySnap", "raftAfterApplySnap"):
            members = self.begin("--snapshot-count", "20", "--snapshot-catchup-entries", "5")
            late = members.followers()[0]
            late.stop()
            with members.leader().channel() as channel:
                for number in range(100):
                    server.put(server.kv(channel), b"large%02d" % (number % 40), os.urandom(200_000))
            self.points[late].stop_from_the_start(point)
            late.launch()
            self.points[late].wait_started_at(point)
            late.kill()
            self.points[late].pass_from_the_start()
            late.start()
            write(members, b"after")
            members.check_equal()
            members.close()


def write(members, key):
    with members.leader().channel() as channel:
        server.put(server.kv(channel), key, b"value")


if __name__ == "__main__":
    unittest.main()
