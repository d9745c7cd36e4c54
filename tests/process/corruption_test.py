"""Members whose databases were spoiled: etcd's checks find them, and the check that runs all the time, under load and
without any, takes them out of service while the others go on.

Databases are spoiled by kvorum-spoil-backend while their member is stopped, in ways that no checksum shows; or their
file's bytes are changed under a member that runs.
"""

import json
import os
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import points
import server

SPOIL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-spoil-backend")
CORRUPT = 2
KEYS = 50


def lines(member, text):
    """The log lines of the member's last start with this message."""
    found = []
    for line in member.log().decode(errors="replace").splitlines():
        if text in line and line.startswith("{"):
            entry = json.loads(line)
            if entry["msg"] == text:
                found.append(entry)
    return found


def database(member):
    return os.path.join(member.data_dir, "member", "snap", "db")


def spoil(member, how, key):
    subprocess.run([SPOIL, database(member), how, key], check=True, timeout=60)


def write(member, key, value):
    with member.channel() as channel:
        server.put(server.kv(channel), key.encode(), value.encode())


def fill(members):
    leader = members.leader()
    with leader.channel() as channel:
        for number in range(KEYS):
            server.put(server.kv(channel), f"key{number:03}".encode(), b"value" * 20)
    members.check_equal()


def alarms(member):
    with member.channel() as channel:
        answer = server.maintenance(channel).Alarm(rpc_pb2.AlarmRequest(), timeout=10)
        return [(alarm.memberID, alarm.alarm) for alarm in answer.alarms]


class HashCheckTest(unittest.TestCase):
    """etcd's checks, with its log lines and its alarm."""

    def begin(self, *flags):
        members = cluster.Cluster(3, flags=(*cluster.QUICK, "--replica-check", "off", *flags))
        self.addCleanup(members.close)
        members.start()
        fill(members)
        victim = members.followers()[0]
        self.victim_id = victim.wait_status().header.member_id
        self.assertEqual(victim.stop()[0], 0)
        return members, victim

    def wait_alarm(self, members):
        leader = members.leader()
        cluster.wait_until(lambda: alarms(leader), "an alarm")
        self.assertEqual(alarms(leader), [(self.victim_id, CORRUPT)])
        with self.assertRaises(grpc.RpcError) as refused:
            write(leader, "more", "value")
        self.assertEqual(refused.exception.code(), grpc.StatusCode.DATA_LOSS)
        self.assertEqual(refused.exception.details(), "etcdserver: corrupt cluster")

    def test_a_member_checks_itself_before_it_serves(self):
        members, victim = self.begin("--feature-gates", "InitialCorruptCheck=true")
        victim.start()
        self.assertEqual(len(lines(victim, "initial corruption checking passed; no corruption")), 1)
        victim.stop()
        spoil(victim, "change", "key007")
        victim.launch()
        self.assertEqual(victim.process.wait(30), 1)
        differs = lines(victim, "found different hash values from remote peer")
        self.assertEqual(len(differs), 2)
        self.assertNotEqual(differs[0]["local-member-hash"], differs[0]["remote-peer-hash"])
        self.assertEqual(differs[0]["local-member-compact-revision"], -1)
        failed = lines(victim, "checkInitialHashKV failed")
        self.assertEqual(failed[0]["error"], f"{self.victim_id:x} found data inconsistency with peers")
        write(members.leader(), "others", "go on")

    def test_the_leader_checks_periodically(self):
        members, victim = self.begin("--corrupt-check-time", "500ms")
        spoil(victim, "lose", "key007")
        victim.start()
        self.wait_alarm(members)
        leader = members.leader()
        self.assertTrue(lines(leader, "enabled corruption checking"))
        found = lines(leader, "same compact revision then hashes must match")
        self.assertEqual(found[0]["follower-peer-id"], f"{self.victim_id:x}")

    def test_the_leader_compares_what_compactions_leave(self):
        members, victim = self.begin("--feature-gates", "CompactHashCheck=true", "--compact-hash-check-time", "500ms")
        spoil(victim, "change", "key007")
        victim.start()
        leader = members.leader()
        revision = leader.wait_status().header.revision
        members.ctl("compact", str(revision), "--physical", endpoints=[leader.endpoint])
        self.wait_alarm(members)
        found = lines(leader, "Detected compaction hash mismatch")
        self.assertEqual(found[0]["peer-ids"], f"{self.victim_id:x}")
        self.assertEqual(found[0]["quorum-exist"], True)

    def test_equal_members_are_told_so(self):
        members, victim = self.begin("--feature-gates", "CompactHashCheck=true,InitialCorruptCheck=true",
                                     "--compact-hash-check-time", "300ms", "--corrupt-check-time", "300ms")
        victim.start()
        leader = members.leader()
        members.ctl("compact", str(leader.wait_status().header.revision), "--physical", endpoints=[leader.endpoint])
        cluster.wait_until(lambda: lines(leader, "successfully checked hash on whole cluster"), "the compaction's check")
        checked = len(lines(leader, "finished peer corruption check"))
        cluster.wait_until(lambda: len(lines(leader, "finished peer corruption check")) > checked + 1, "another check")
        self.assertEqual(alarms(leader), [])


class Load:
    """Puts through one member, one after the other, until the end."""

    def __init__(self, member):
        self.member = member
        self.written = 0
        self.errors = []
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def run(self):
        with self.member.channel() as channel:
            stub = server.kv(channel)
            while not self.ends.is_set():
                try:
                    server.put(stub, b"load%d" % (self.written % 1000), b"x" * 200)
                    self.written += 1
                except grpc.RpcError as error:
                    self.errors.append(error.details())


def flip(member, inside):
    """Changes the records with these bytes, in the file of a member that may run; some are on pages no longer used."""
    with open(database(member), "r+b") as file:
        content = file.read()
        place = content.index(inside)
        while place >= 0:
            file.seek(place)
            file.write(bytes([content[place] ^ 1]))
            place = content.find(inside, place + 1)


def quarantined(member):
    return lines(member, "this member's database differs from the other members'; it serves no keys until it is "
                         "re-seeded (kvorumctl member reseed)")


def metric(member, name):
    with urllib.request.urlopen(f"http://{member.endpoint}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


class ReplicaCheckTest(unittest.TestCase):
    """The check that needs no flag: a spoiled member is found, and serves no more, while the others go on."""

    def begin(self):
        members = cluster.Cluster(3)
        self.addCleanup(members.close)
        members.start()
        fill(members)
        return members, members.followers()[0]

    def wait_compared(self, member):
        cluster.wait_until(lambda: metric(member, "kvorum_replica_members_compared") == 3, "a comparison of three")

    def check_out(self, members, victim):
        """The victim serves no keys and says why; the others serve."""
        with victim.channel() as channel:
            for call in (lambda: server.get(server.kv(channel), b"key001", serializable=True),
                         lambda: server.put(server.kv(channel), b"more", b"value")):
                with self.assertRaises(grpc.RpcError) as refused:
                    call()
                self.assertEqual(refused.exception.code(), grpc.StatusCode.DATA_LOSS)
                self.assertEqual(refused.exception.details(), "etcdserver: corrupt cluster")
        status = members.details(victim)
        self.assertEqual(status["errors"], [f"memberID:{status['header']['member_id']} alarm:CORRUPT"])
        with self.assertRaises(urllib.error.HTTPError) as sick:
            urllib.request.urlopen(f"http://{victim.endpoint}/health", timeout=10)
        self.assertEqual(sick.exception.code, 503)
        self.assertIn(b"ALARM CORRUPT", sick.exception.read())
        for member in members.members:
            if member is not victim:
                write(member, "others", "go on")
                self.assertEqual(quarantined(member), [])
        self.assertEqual(metric(victim, "kvorum_quarantined"), 1)
        self.check_told(members, victim)

    def check_told(self, members, victim):
        """kvorumctl says who is out, and what to do."""
        endpoints = ",".join(members.endpoints)
        doctor = subprocess.run([cluster.CTL, "--endpoints", endpoints, "doctor", "-w", "json"], capture_output=True,
                                timeout=60, check=False)
        self.assertEqual(doctor.returncode, 2, doctor.stderr)
        found = [finding for finding in json.loads(doctor.stdout)["findings"] if finding["code"] == "quarantined"]
        self.assertEqual([finding["subject"] for finding in found], [victim.name])
        self.assertIn(f"kvorumctl --endpoints {victim.endpoint} member reseed", found[0]["advice"])
        frame = json.loads(members.ctl("top", "--once", "--interval", "100ms", "--hot", "0", "-w", "json"))
        self.assertEqual({member["name"]: member.get("replica") for member in frame["members"]}[victim.name],
                         "quarantined")

    def keep_busy(self, members):
        """A database that is written to is read through every two seconds, else every twenty."""
        write(members.leader(), "busy", "value")

    def spoiled_while_down(self, how):
        members, victim = self.begin()
        victim.stop()
        spoil(victim, how, "key007")
        victim.start()
        return members, victim

    def test_a_changed_value_is_found_under_load(self):
        members, victim = self.begin()
        victim.stop()
        with Load(members.leader()) as load:
            cluster.wait_until(lambda: load.written > 500, "some load")
            spoil(victim, "change", "key007")
            victim.start()
            ready = time.monotonic()
            cluster.wait_until(lambda: quarantined(victim), "a quarantine", timeout=30)
            print(f"found under load {time.monotonic() - ready:.1f} s after the start", flush=True)
            written = load.written
            cluster.wait_until(lambda: load.written > written + 100, "the load to go on")
        self.assertEqual(load.errors, [])
        self.check_out(members, victim)
        leader = members.leader()
        found = cluster.wait_until(lambda: lines(leader, "members hold different keys"), "the others to know")
        self.assertEqual(found[0]["diverged-members"], f"{victim.wait_status().header.member_id:x}")
        self.assertEqual(metric(leader, "kvorum_replica_hash_agreement"), 0)

    def test_a_lost_record_is_found_while_idle(self):
        members, victim = self.spoiled_while_down("lose")
        cluster.wait_until(lambda: quarantined(victim), "a quarantine")
        self.check_out(members, victim)
        # It stays so across a restart, from the first moment on.
        victim.stop()
        victim.start()
        self.check_out(members, victim)

    def test_damage_under_a_running_member_is_found(self):
        members, victim = self.begin()
        for member in members.members:
            self.wait_compared(member)
        flip(victim, b"key007")
        self.keep_busy(members)
        cluster.wait_until(lambda: quarantined(victim), "a quarantine")
        self.assertTrue(lines(victim, "this member's database is damaged"))
        self.check_out(members, victim)

    def test_open_watches_end(self):
        members, victim = self.begin()
        for member in members.members:
            self.wait_compared(member)
        with victim.channel() as channel:
            requests = iter([rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(key=b"key"))])
            ends = threading.Event()

            def asked():
                yield from requests
                ends.wait(120)
            answers = rpc_pb2_grpc.WatchStub(channel).Watch(asked())
            self.assertTrue(next(answers).created)
            flip(victim, b"key007")
            self.keep_busy(members)
            with self.assertRaises(grpc.RpcError) as ended:
                next(answers)
            ends.set()
            self.assertEqual(ended.exception.details(), "etcdserver: corrupt cluster")

    def test_a_spoiled_leader_hands_over(self):
        members, _ = self.begin()
        for member in members.members:
            self.wait_compared(member)
        victim = members.leader()
        flip(victim, b"key007")
        self.keep_busy(members)
        cluster.wait_until(lambda: quarantined(victim), "a quarantine")
        others = [member for member in members.members if member is not victim]
        cluster.wait_until(lambda: members.leader() in others, "another leader")
        self.check_out(members, victim)

    def test_no_member_is_taken_out_when_no_majority_would_be_left(self):
        members, victim = self.begin()
        for member in members.members:
            self.wait_compared(member)
        gone = next(member for member in members.followers() if member is not victim)
        gone.stop()
        flip(victim, b"key007")
        self.keep_busy(members)
        cluster.wait_until(lambda: lines(victim, "this member's database is damaged"), "the damage to be found")
        passes = metric(victim, "kvorum_replica_members_compared")
        self.assertLess(passes, 3)
        write(victim, "still", "serves")
        self.assertEqual(quarantined(victim), [])


class OtherActionsTest(unittest.TestCase):
    """--replica-check report and alarm."""

    def begin(self, action):
        members = cluster.Cluster(3, flags=(*cluster.QUICK, "--replica-check", action))
        self.addCleanup(members.close)
        members.start()
        fill(members)
        victim = members.followers()[0]
        victim.stop()
        spoil(victim, "change", "key007")
        victim.start()
        return members, victim

    def wait_known(self, members, victim):
        leader = members.leader()
        known = cluster.wait_until(lambda: lines(leader, "members hold different keys"), "the others to know")
        self.assertEqual(known[0]["diverged-members"], f"{victim.wait_status().header.member_id:x}")
        self.assertEqual(quarantined(victim), [])
        self.assertEqual(metric(victim, "kvorum_quarantined"), 0)
        return leader

    def test_report_only_tells(self):
        members, victim = self.begin("report")
        leader = self.wait_known(members, victim)
        cluster.wait_until(lambda: lines(victim, "members hold different keys"), "the member itself to know")
        self.assertEqual(alarms(leader), [])
        for member in members.members:
            write(member, "all", "serve")
        with victim.channel() as channel:
            self.assertEqual(server.get(server.kv(channel), b"key001", serializable=True).kvs[0].value, b"value" * 20)
        found = subprocess.run([cluster.CTL, "--endpoints", leader.endpoint, "doctor", "--hash=false"],
                               capture_output=True, timeout=60, check=False)
        self.assertIn(b"members hold different keys", found.stdout)

    def test_alarm_is_that_of_etcd(self):
        members, victim = self.begin("alarm")
        leader = self.wait_known(members, victim)
        cluster.wait_until(lambda: alarms(leader), "an alarm")
        self.assertEqual(alarms(leader), [(victim.wait_status().header.member_id, CORRUPT)])
        for member in members.members:
            with self.assertRaises(grpc.RpcError) as refused:
                write(member, "more", "value")
            self.assertEqual(refused.exception.code(), grpc.StatusCode.DATA_LOSS)
            self.assertEqual(refused.exception.details(), "etcdserver: corrupt cluster")


class ReseedTest(unittest.TestCase):
    """kvorumctl member reseed: a spoiled member gets its leader's database, and nobody else notices."""

    def begin(self, keys=0, flags=(), is_stopped=False):
        members = cluster.Cluster(3, (*cluster.QUICK, *flags))
        self.addCleanup(members.close)
        members.start()
        fill(members)
        leader = members.leader()
        with leader.channel() as channel:
            for number in range(keys):
                server.put(server.kv(channel), f"large{number:04}".encode(), os.urandom(100_000))
        victim = members.followers()[0]
        victim.stop()
        spoil(victim, "change", "key007")
        spoil(victim, "lose", "key008")
        if is_stopped:
            self.at = points.Points(victim)
        victim.start()
        cluster.wait_until(lambda: quarantined(victim), "a quarantine")
        self.pids = {member.name: member.process.pid for member in members.members}
        return members, victim

    def reseed(self, members, victim):
        return members.ctl("member", "reseed", endpoints=[victim.endpoint], timeout=120)

    def check_whole(self, members, victim):
        with victim.channel() as channel:
            for key in (b"key007", b"key008"):
                found = server.get(server.kv(channel), key, serializable=True)
                self.assertEqual([kv.value for kv in found.kvs], [b"value" * 20])
        write(victim, "through", "the re-seeded")
        members.check_equal()
        self.assertEqual(members.details(victim).get("errors", []), [])
        cluster.wait_until(lambda: metric(victim, "kvorum_replica_hash_agreement") == 1 and
                           metric(victim, "kvorum_replica_members_compared") == 3, "an equal comparison of three")
        self.assertEqual(metric(victim, "kvorum_quarantined"), 0)

    def test_a_member_is_re_seeded_under_load_while_all_of_them_run(self):
        members, victim = self.begin()
        with Load(members.leader()) as load:
            cluster.wait_until(lambda: load.written > 100, "some load")
            self.assertIn("has a new database", self.reseed(members, victim))
        self.assertEqual(load.errors, [])
        self.check_whole(members, victim)
        self.assertEqual(self.pids, {member.name: member.process.pid for member in members.members})
        # Not even a restart remembers.
        victim.stop()
        victim.start()
        self.check_whole(members, victim)

    def test_without_load_too(self):
        members, victim = self.begin()
        self.reseed(members, victim)
        self.check_whole(members, victim)

    def test_a_kill_in_the_middle_leaves_a_member_that_can_be_re_seeded(self):
        """While the database comes, and at each point of its way into the store."""
        members, victim = self.begin(keys=300, flags=("--snapshot-rate-bytes", "20000000"), is_stopped=True)
        snapshots = os.path.join(victim.data_dir, "member", "snap")

        def is_coming():
            return any(name.endswith(".snap.db.part") for name in os.listdir(snapshots))

        for point in (None, "applyBeforeOpenSnapshot", "applyAfterOpenSnapshot", "raftBeforeApplySnap",
                      "raftAfterApplySnap"):
            if point is not None:
                self.at.stop_at(point)
            ctl = subprocess.Popen([cluster.CTL, "--endpoints", victim.endpoint, "member", "reseed"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                cluster.wait_until(lambda: is_coming() if point is None else self.at.is_at(point), point or "a part of it")
                self.assertIsNone(ctl.poll(), point)
                victim.kill()
                self.assertTrue(point is not None or is_coming(), "it has come")
            finally:
                ctl.kill()
                ctl.wait()
            victim.start()
        self.reseed(members, victim)
        self.check_whole(members, victim)

    def test_the_leader_is_killed_in_the_middle(self):
        members, victim = self.begin(keys=300)
        leader = members.leader()
        third = next(member for member in members.members if member not in (victim, leader))
        snapshots = os.path.join(victim.data_dir, "member", "snap")
        ctl = subprocess.Popen([cluster.CTL, "--endpoints", victim.endpoint, "member", "reseed"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            # The first part of the snapshot is there, or even all of it: the file is named after what it becomes.
            cluster.wait_until(lambda: ctl.poll() is not None or
                               any(".snap.db" in name for name in os.listdir(snapshots)), "the snapshot to come")
            leader.kill()
            # The two that are left need each other: whoever leads asks neither for a snapshot of the other.
            cluster.wait_until(lambda: self.is_writable(third), "the others to go on")
            leader.start()
            outcome, _ = ctl.communicate(timeout=120)
        finally:
            ctl.kill()
            ctl.wait()
        if ctl.returncode != 0:
            self.reseed(members, victim)
        else:
            self.assertIn(b"has a new database", outcome)
        self.check_whole(members, victim)

    @staticmethod
    def is_writable(member):
        try:
            write(member, "goes", "on")
            return True
        except grpc.RpcError:
            return False

    def test_two_are_too_few(self):
        members = cluster.Cluster(2)
        self.addCleanup(members.close)
        members.start()
        with self.assertRaisesRegex(AssertionError, "a member of a cluster of two cannot be re-seeded"):
            self.reseed(members, members.followers()[0])

    def test_the_leader_refuses_for_itself(self):
        members, _ = self.begin()
        with self.assertRaisesRegex(AssertionError, "this member leads"):
            self.reseed(members, members.leader())


if __name__ == "__main__":
    unittest.main(verbosity=2)
