"""A voter's disk is wiped, or brought back from an older copy, and it starts under its old identity: nobody spins, nothing
acknowledged is lost, and it is refused with the commands to type or filled again (docs/decisions/0053).
"""

import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import server  # noqa: E402

ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")


def processor_ticks(member):
    with open(f"/proc/{member.process.pid}/stat", encoding="utf8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def metric(member, name):
    with urllib.request.urlopen(f"http://{member.endpoint}/metrics", timeout=10) as answer:
        values = [line.split()[1] for line in answer.read().decode().splitlines() if line.startswith(name + " ")]
    return float(values[0])


def put(member, key):
    with member.channel() as channel:
        server.put(server.kv(channel), key.encode(), value=b"v")


def has(member, key):
    """In its own state, whoever leads."""
    with member.channel() as channel:
        return server.get(server.kv(channel), key.encode(), serializable=True).count == 1


def is_filled(member, key):
    """The same of a member that serves no keys before it is published."""
    try:
        return has(member, key)
    except grpc.RpcError:
        return False


class LostDataTest(unittest.TestCase):
    def setUp(self):
        self.members = cluster.Cluster(3)
        self.addCleanup(lambda: self.members.close())
        self.members.start()
        self.leader = self.members.leader()
        self.victim, self.other = self.members.followers()

    def copy(self, member):
        """An older copy of its directory, made while it is down; it has started again since."""
        member.kill()
        older = member.data_dir + ".older"
        shutil.copytree(member.data_dir, older)
        member.start()
        self.leader = self.members.leader()
        if member is self.leader:
            target = self.other.status().header.member_id
            self.members.ctl("move-leader", f"{target:x}", endpoints=[member.endpoint])
            self.leader = self.members.leader()
        self.other = next(m for m in self.members.members if m not in (self.leader, member))
        return older

    def bring_back(self, member, older):
        member.kill()
        shutil.rmtree(member.data_dir)
        os.rename(older, member.data_dir)

    def check_no_leader(self):
        """Neither serves: who has no leader has not published itself."""
        for member in (self.other, self.victim):
            self.assertNotIn(b'"event":"became leader"', member.log())
            self.assertNotIn(server.READY, member.log())
        self.assertIn(b"this member lacks data that it had acknowledged", self.victim.log())

    def check_tells_of_it(self):
        """The marked member has no leader, and its operator still learns why: from its status, and nothing of its keys."""
        (error,) = [text for text in self.members.details(self.victim)["errors"] if text.startswith("DATALOST")]
        self.assertRegex(error, r"^DATALOST: the member lacks data that it had acknowledged, up to index \d+ or later, and has "
                         "no vote$")
        self.assertIn("DATALOST", self.members.ctl("endpoint", "status", "-w", "fields", endpoints=[self.victim.endpoint]))
        self.assertEqual(metric(self.victim, "kvorum_data_lost"), 1)
        with self.assertRaises(urllib.error.HTTPError) as unhealthy:
            urllib.request.urlopen(f"http://{self.victim.endpoint}/health", timeout=10)
        self.assertEqual(json.load(unhealthy.exception)["reason"], "RAFT NO LEADER")
        with self.assertRaises(grpc.RpcError) as refused:
            has(self.victim, "old")
        self.assertEqual((refused.exception.code(), refused.exception.details()),
                         (grpc.StatusCode.UNAVAILABLE, "etcdserver: no leader"))

    def check_idle(self, *members):
        before = [processor_ticks(m) for m in members]
        time.sleep(2)
        for member, ticks in zip(members, before):
            self.assertLess(processor_ticks(member) - ticks, 60, f"{member.name} spins")

    def test_a_wiped_voter_is_refused_with_the_commands_to_type(self):
        put(self.leader, "old")
        self.victim.kill()
        self.victim.wipe()
        self.victim.launch()
        code = self.victim.process.wait(20)
        self.assertEqual(code, 1, self.victim.tail())
        member_id = next(m.ID for m in self.members.listed() if m.name == self.victim.name)
        for text in ("has already been started", f"kvorumctl member remove {member_id:x}",
                     f"kvorumctl member add {self.victim.name} --peer-urls={self.victim.peer_url}"):
            self.assertIn(text, self.victim.tail())
        # They are typed.
        self.members.ctl("member", "remove", f"{member_id:x}")
        self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[self.victim.peer_url]))
        self.victim.start()
        self.members.check_equal()

    def test_an_older_copy_is_filled_again_and_says_so(self):
        older = self.copy(self.victim)
        for number in range(20):
            put(self.leader, f"key{number}")
        self.bring_back(self.victim, older)
        self.victim.start()
        cluster.wait_until(lambda: has(self.victim, "key19"), "the older copy to be filled")
        self.check_idle(self.leader, self.victim)
        self.assertIn(b"this member lacks data that it had acknowledged", self.victim.log())
        self.assertIn(b"a member lacks data that it had acknowledged", self.leader.log())
        # It has the keys before the leader's next heartbeat tells it that it has all.
        cluster.wait_until(lambda: metric(self.victim, "kvorum_data_lost") == 0, "the mark to fall")
        self.assertGreaterEqual(metric(self.victim, "kvorum_data_losses_total"), 1)
        self.assertGreaterEqual(metric(self.leader, "kvorum_peers_data_losses_total"), 1)
        self.assertEqual(self.members.details(self.victim).get("errors"), None)
        self.members.check_equal()

    def test_a_wiped_voter_helps_nobody_to_lead_without_what_it_acknowledged(self):
        self.other.stop()  # it learns nothing of what the two acknowledge
        for number in range(20):
            put(self.leader, f"new{number}")
        self.leader.kill()
        self.victim.kill()
        self.victim.wipe()
        self.other.launch()
        # Begun anew while nobody answers, as by a script that knows only its first command line.
        self.members.state = "new"
        self.other.pause()
        self.victim.launch()
        time.sleep(4)
        self.other.resume()
        time.sleep(6)
        self.check_no_leader()
        self.check_tells_of_it()
        self.leader.start()
        cluster.wait_until(lambda: all(is_filled(m, "new19") for m in self.members.members), "nothing to be lost")
        self.members.check_equal()

    def test_an_older_copy_helps_nobody_to_lead_without_what_it_acknowledged(self):
        older = self.copy(self.victim)
        put(self.leader, "old")
        self.members.wait_equal()
        self.other.stop()  # it learns nothing of what the two acknowledge
        for number in range(20):
            put(self.leader, f"new{number}")
        self.leader.kill()
        self.bring_back(self.victim, older)
        self.other.launch()
        self.victim.launch()
        time.sleep(6)
        self.check_no_leader()
        self.check_tells_of_it()
        self.leader.start()
        cluster.wait_until(lambda: all(is_filled(m, "new19") for m in self.members.members), "nothing to be lost")
        self.members.check_equal()

    def forge(self, at, member_id, incarnation):
        """Opens both of a member's streams in its name, as anybody can who reaches the peer port."""
        status = at.wait_status()
        for kind in ("message", "msgapp"):
            connection = http.client.HTTPConnection(at.host, at.peer_port, timeout=0.2)
            try:
                connection.request("GET", f"/raft/stream/{kind}/{member_id:x}", headers={
                    "X-Etcd-Cluster-ID": f"{status.header.cluster_id:x}", "X-Server-From": f"{member_id:x}",
                    "X-Server-Version": "3.7.3", "X-Min-Cluster-Version": "3.0.0",
                    "X-Raft-To": f"{status.header.member_id:x}", "X-Kvorum-Incarnation": incarnation})
                self.assertEqual(connection.getresponse().status, 200)
            except TimeoutError:
                pass
            finally:
                connection.close()

    def test_what_a_stranger_tells_of_members_takes_no_quorum(self):
        ids = {m: m.wait_status().header.member_id for m in self.members.members}
        for number in range(1, 4):
            for at in self.members.members:
                for member, member_id in ids.items():
                    if member is not at:
                        self.forge(at, member_id, f"{number} 7fffffff {number} lacking")
        for round_ in range(2):
            put(self.members.leader(), f"round {round_}")
            self.members.check_equal()
            for member in self.members.members:
                self.assertEqual(metric(member, "kvorum_data_lost"), 0)
                self.assertNotIn(b"lacks data", member.log())
            if round_ == 0:
                for member in self.members.members:
                    member.kill()
                self.members.start()

    def test_who_only_restarts_has_lost_nothing(self):
        for member in self.members.members:
            put(self.members.leader(), f"before {member.name}")
            member.kill()
            member.start()
        self.members.check_equal()
        for member in self.members.members:
            for start in range(1, member.starts + 1):
                self.assertNotIn(b"lacks data", member.log_of(start))


class TwoVotersTest(unittest.TestCase):
    """Neither of two voters can prove that the other has everything, so nobody leads, and an operator says which one is
    believed (docs/operations/cluster.md, "Two voters")."""

    def start(self, size):
        self.members = cluster.Cluster(size)
        self.addCleanup(lambda: self.members.close())
        self.members.start()

    def copy(self, member):
        member.kill()
        older = member.data_dir + ".older"
        shutil.copytree(member.data_dir, older)
        member.start()
        return older

    def bring_back(self, member, older):
        member.kill()
        shutil.rmtree(member.data_dir)
        os.rename(older, member.data_dir)
        member.launch()

    def check_nobody_leads(self, *members):
        """For some election time-outs."""
        time.sleep(5)
        for member in members:
            self.assertTrue(member.alive, member.tail())
            self.assertNotIn(b'"event":"became leader"', member.log())
            self.assertNotIn(server.READY, member.log())

    def last_entry(self, member):
        """As the page says: of a stopped member."""
        shown = subprocess.run([UTL, "dump", "--only", "entries", member.data_dir], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        entry = json.loads(shown[-1])
        return entry["term"], entry["index"]

    def believe(self, right, wrong):
        """What the page says, typed."""
        for member in (right, wrong):
            if member.alive:
                member.stop()
        self.assertGreater(self.last_entry(right), self.last_entry(wrong))
        right.start("--force-new-cluster")
        put(right, "alone")
        shutil.move(wrong.data_dir, wrong.data_dir + ".set-aside")
        self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[wrong.peer_url]), without=wrong)
        wrong.start()

    def check_whole(self, keys):
        for member in self.members.members:
            cluster.wait_until(lambda m=member: all(has(m, key) for key in keys), f"{member.name} to have every key")
        put(self.members.leader(), "together")
        self.members.check_equal()

    def test_one_that_was_replaced_has_no_vote_and_the_other_is_believed(self):
        self.start(2)
        right, wrong = self.members.members
        older = self.copy(wrong)
        self.members.leader()
        keys = [f"key{number}" for number in range(20)]
        for key in keys:
            put(self.members.leader(), key)
        right.kill()
        self.bring_back(wrong, older)
        right.launch()
        self.check_nobody_leads(right, wrong)
        self.assertIn(b"this member lacks data that it had acknowledged", wrong.log())
        self.assertNotIn(b"this member lacks data that it had acknowledged", right.log())
        self.believe(right, wrong)
        self.check_whole([*keys, "alone"])

    def test_two_that_accuse_each_other(self):
        self.start(3)
        right, wrong, third = self.members.members
        old_right = self.copy(right)
        put(self.members.leader(), "old")
        self.members.wait_equal()
        # It remembers the start of the first one behind that copy.
        old_wrong = self.copy(wrong)
        keys = [f"key{number}" for number in range(20)]
        for key in keys:
            put(self.members.leader(), key)
        # The first one is replaced, and made whole by the others.
        self.bring_back(right, old_right)
        cluster.wait_until(lambda: is_filled(right, keys[-1]), "it to be filled again")
        cluster.wait_until(lambda: metric(right, "kvorum_data_lost") == 0, "the mark to fall")
        third_id = third.wait_status().header.member_id
        self.members.change("MemberRemove", rpc_pb2.MemberRemoveRequest(ID=third_id))
        third.kill()
        self.members.forget(third)
        put(self.members.leader(), "of two")
        # The second one remembers the first as it was before.
        right.kill()
        self.bring_back(wrong, old_wrong)
        right.launch()
        self.check_nobody_leads(right, wrong)
        for member in (right, wrong):
            # A minute after the first line about this peer, which was not there yet.
            cluster.wait_until(lambda m=member: b"has lost data" in m.log(), f"{member.name} to say why", timeout=90)
        self.believe(right, wrong)
        self.check_whole(["old", *keys, "of two", "alone"])


@unittest.skipUnless(os.path.exists(ETCD), "SKIPPED: no etcd of 3.7")
class LostDataBesideEtcdTest(unittest.TestCase):
    """An etcd leader believes for ever what it was told: it is not made to spin, and the member says what to do."""

    def test_an_etcd_leader_is_not_made_to_spin(self):
        with cluster.Cluster(3) as members:
            etcd, victim, other = members.members
            etcd.binary = ETCD
            members.start()
            target = etcd.wait_status().header.member_id
            if members.leader() is not etcd:
                members.ctl("move-leader", f"{target:x}", endpoints=[members.leader().endpoint])
            cluster.wait_until(lambda: members.leader() is etcd, "etcd to lead")
            victim.kill()
            older = victim.data_dir + ".older"
            shutil.copytree(victim.data_dir, older)
            victim.start()
            for number in range(20):
                put(etcd, f"key{number}")
            victim.kill()
            shutil.rmtree(victim.data_dir)
            os.rename(older, victim.data_dir)
            victim.launch()
            cluster.wait_until(lambda: b"this member lacks data that it had acknowledged" in victim.log(), "its line")
            before = [processor_ticks(etcd), processor_ticks(victim)]
            time.sleep(3)
            for member, ticks in zip((etcd, victim), before):
                self.assertLess(processor_ticks(member) - ticks, 60, f"{member.name} spins")
            # As its line says.
            target = other.status().header.member_id
            members.ctl("move-leader", f"{target:x}", endpoints=[etcd.endpoint])
            cluster.wait_until(lambda: has(victim, "key19"), "it to be filled by another leader")


if __name__ == "__main__":
    unittest.main()
