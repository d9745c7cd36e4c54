"""One cluster of an etcd member and two of kvorum: joint configuration changes, which every member's raft knows and no
member's server applies, get into nobody's state (docs/decisions/0018).

etcd has no request that proposes one, whoever leads: its API makes changes of one member at a time, in entries of the
older kind. So the changes are forged (raft_messages.py), as messages in a member's name, and as a forwarded proposal
that an etcd leader takes into its log and sends on its own streams.

The packaged etcd is 3.4, which ends at the entries by which members since 3.5 tell of themselves; these tests want one
of 3.7 in $KVORUM_PEER_DIR.
"""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import history  # noqa: E402
import raft_messages  # noqa: E402
from raft_messages import APP, CONF_CHANGE_V2, PROP, SNAP, TAKEN, entry, message  # noqa: E402

ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
SEED = int(os.environ.get("KVORUM_FAULT_SEED", "1"))
NEW_VOTER = 0xABCDEF
REFUSED = b"an entry that no member could apply"


class MixedClusterTest(history.HistoryCase):
    def setUp(self):
        members = cluster.Cluster(3)
        self.etcd, *self.ours = members.members
        self.etcd.binary = ETCD
        self.begin(members)
        self.ids = {m: m.wait_status().header.member_id for m in members.members}
        self.write(50)

    def write(self, count):
        """Through every member; at the end nothing is under way."""
        clients = [history.Client(self.history, f"c{len(self.history.clients) + n}", [m.endpoint], SEED + n)
                   for n, m in enumerate(self.members.members)]
        self.history.clients.extend(clients)
        for client in clients:
            client.start()
        for client in clients:
            self.history.wait_more(count, clients=[client])
        self.history.stop_clients()

    def lead(self, member):
        """It leads, and all have the same log."""
        leader = self.members.leader()
        if leader is not member:
            self.members.ctl("move-leader", f"{self.ids[member]:x}", endpoints=[leader.endpoint])
        cluster.wait_until(lambda: self.members.leader() is member, f"{member.name} to lead")
        # Its answer is behind the first entry of its term.
        self.history.read_all(self.members)
        status = member.status()
        self.term, self.last = status.raftTerm, status.raftIndex
        for each in self.members.members:
            cluster.wait_until(lambda: self.applied(each) == self.last, f"{each.name} to apply the log")

    def applied(self, member):
        return self.members.details(member)["raftAppliedIndex"]

    def forge(self, to, sender, kind, term=0, **fields):
        body = message(kind, self.ids[to], self.ids[sender], term, **fields)
        headers = raft_messages.headers(self.members.leader().wait_status().header.cluster_id, self.ids[sender])
        self.assertEqual(raft_messages.ask(to, "POST", "/raft", body, headers), TAKEN)

    def forge_proposals(self, to, sender):
        for data in raft_messages.joint_changes(NEW_VOTER, self.ids[to]):
            self.forge(to, sender, PROP, entries=[entry(0, 0, data, CONF_CHANGE_V2)])

    def forge_appends(self, to, leader):
        for data in raft_messages.joint_changes(NEW_VOTER, self.ids[leader]):
            self.forge(to, leader, APP, self.term, log_term=self.term, index=self.last, commit=self.last + 1,
                       entries=[entry(self.term, self.last + 1, data, CONF_CHANGE_V2)])
        self.forge(to, leader, SNAP, self.term, snapshot=raft_messages.joint_snapshot(
            self.ids.values(), self.ids[leader], self.last + 10, self.term))

    def wait_refused(self, member, sender, kind):
        """Its log tells of a refusal."""
        parts = (REFUSED, b'"peer":"%x"' % self.ids[sender], b'"type":"%s"' % kind)
        cluster.wait_until(lambda: any(all(p in line for p in parts) for line in member.log().splitlines()),
                           f"{member.name} to refuse an entry of {sender.name}")

    def check_nothing_came_of_it(self):
        """The next write of each member is the next entry of the log."""
        for member in self.members.members:
            with member.channel() as channel:
                client = history.Client(self.history, f"behind-{member.name}", [member.endpoint], SEED)
                client.connect(channel)
                client.put("k1", f"behind.{member.name}")
        self.assertEqual(self.members.leader().wait_status().raftIndex, self.last + len(self.members.members))

    def check(self):
        """Whoever is of ours has lived on, and the cluster goes on: with equal hashes, which judge() compares."""
        self.write(50)
        self.assertEqual({m.ID for m in self.members.listed()}, set(self.ids.values()))
        for member in self.ours:
            self.assertEqual(member.starts, 1)
            self.assertTrue(member.alive, member.tail())
        self.judge(least=300)

    def test_they_come_from_an_etcd_follower(self):
        leader, follower = self.ours
        self.lead(leader)
        self.forge_proposals(leader, sender=self.etcd)
        self.wait_refused(leader, self.etcd, b"Prop")
        self.forge_appends(follower, leader)
        self.wait_refused(follower, leader, b"App")
        self.check_nothing_came_of_it()
        self.check()

    def test_they_come_in_the_name_of_an_etcd_leader(self):
        self.lead(self.etcd)
        for member in self.ours:
            self.forge_appends(member, self.etcd)
            self.wait_refused(member, self.etcd, b"App")
        self.check_nothing_came_of_it()
        self.check()

    def test_an_etcd_leader_that_takes_one_stands_still_until_it_ends(self):
        """The entry has no majority, and everything behind it none either. An election without that leader takes it
        out of its log. (Among etcd members alone it would be committed, and end all of them.)"""
        self.lead(self.etcd)
        self.forge(self.etcd, self.ours[0], PROP, entries=[
            entry(0, 0, raft_messages.joint_changes(NEW_VOTER, self.ids[self.etcd])[0], CONF_CHANGE_V2)])
        for member in self.ours:
            self.wait_refused(member, self.etcd, b"App")
        self.assertEqual([m.wait_status().raftIndex for m in self.members.members], [self.last] * 3)
        self.etcd.kill()
        self.assertIn(self.members.leader(), self.ours)
        self.etcd.start()
        self.check()


def has_peer():
    if not os.path.exists(ETCD):
        return False
    shown = subprocess.run([ETCD, "--version"], capture_output=True, check=True, timeout=30).stdout.decode()
    version = shown.split()[2]
    return tuple(int(part) for part in version.split(".")[:2]) >= (3, 7)


if __name__ == "__main__":
    if not has_peer():
        print(f"SKIPPED: {ETCD} is no etcd of 3.7")
        sys.exit(0)
    unittest.main()
