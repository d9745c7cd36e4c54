"""kill -9 in the middle of what administrators do: nothing is lost, what was acknowledged has happened, and the same
action again finishes.

KVORUM_CRASH_ROUNDS (default 1) kills each action so many times, KVORUM_CRASH_SEED chooses the moments.
"""

import os
import random
import subprocess
import threading
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import server

ROUNDS = int(os.environ.get("KVORUM_CRASH_ROUNDS", "1"))
SEED = int(os.environ.get("KVORUM_CRASH_SEED", "1"))
CTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumctl")


class AdminCrashTest(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(f"{SEED} {self.id()}")
        self.member = server.Server("--bcrypt-cost", "4", "--snapshot-count", "20", "--backend-batch-interval", "5ms")
        self.addCleanup(self.member.close)
        self.user = []
        self.member.start()
        with self.member.channel() as channel:
            for number in range(40):
                server.put(server.kv(channel), b"key/%03d" % (number % 20), b"value %d" % number)
        self.content = self.rows()

    def ctl(self, *words):
        """Runs kvorumctl; its output. CalledProcessError has what it refuses with."""
        command = [CTL, "--endpoints", self.member.endpoint, "--command-timeout", "20s", *self.user, *words]
        return subprocess.run(command, check=True, capture_output=True, timeout=60,
                              stdin=subprocess.DEVNULL).stdout.decode()

    def rows(self):
        return self.ctl("get", "key/", "--prefix", "-w", "fields").split('"Key"')[1:]

    def kill_during(self, act):
        """Whether the action was acknowledged. The program that asks takes some time until it does."""
        outcome = []

        def run():
            try:
                act()
                outcome.append(True)
            except (subprocess.CalledProcessError, grpc.RpcError):
                outcome.append(False)
        caller = threading.Thread(target=run)
        caller.start()
        time.sleep(self.rng.uniform(0, 0.06))
        self.member.kill()
        caller.join()
        return outcome[0]

    def crash_and_repeat(self, act, holds, undo, *done_already):
        for _ in range(ROUNDS):
            acknowledged = self.kill_during(act)
            self.member.start()
            if acknowledged:
                self.assertTrue(holds(), "it was acknowledged")
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
                              "required revision has been compacted")

    def test_defragmentation(self):
        self.crash_and_repeat(lambda: self.ctl("defrag"), lambda: True, lambda: self.ctl("put", "other", "v" * 5000))

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
            try:
                self.ctl("auth", "enable")
            except subprocess.CalledProcessError as error:
                if b"authentication is not enabled" not in error.stderr:
                    raise
                self.user = []
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
        self.crash_and_repeat(add, learners, remove_for_another, "Peer URLs already exists", "member ID already exist")
        add()
        self.crash_and_repeat(remove, lambda: not learners(), add_another)

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


if __name__ == "__main__":
    unittest.main()
