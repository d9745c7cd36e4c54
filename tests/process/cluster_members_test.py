"""Members leave, join and come back empty or far behind, under clients that write down what they see."""

import os
import subprocess
import unittest

from etcd3.etcdrpc import rpc_pb2

import cluster
import history
import server

BENCH = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-bench")
ENTRIES_BEHIND = int(os.environ.get("KVORUM_ENTRIES_BEHIND", "100000"))


class MembersTest(history.HistoryCase):
    def setUp(self):
        self.begin(cluster.Cluster(3))

    def remove(self, member):
        identity = next(m.ID for m in self.members.listed() if m.name == member.name)
        self.members.change("MemberRemove", rpc_pb2.MemberRemoveRequest(ID=identity), without=member)
        self.members.forget(member)

    def add(self, name):
        member = self.members.new_member(name)
        self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[member.peer_url]))
        return member

    def test_a_follower_is_wiped_and_added_again(self):
        self.history.start_clients(self.members.endpoints[:])
        self.history.wait_more(200)
        victim = self.members.followers()[0]
        victim.kill()
        self.remove(victim)
        self.history.wait_more(100)
        again = self.members.new_member(victim.name)
        again.client_port, again.peer_port = victim.client_port, victim.peer_port
        self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[again.peer_url]))
        victim.wipe()
        again.start()
        self.assertEqual(sorted(m.name for m in self.members.listed()), ["m1", "m2", "m3"])
        self.finish(least=400)

    def test_each_member_is_replaced_by_a_new_one(self):
        endpoints = self.members.endpoints[:]
        self.history.start_clients(endpoints)
        for number, old in enumerate(list(self.members.members)):
            self.history.wait_more(100)
            new = self.add(f"n{number}")
            new.start()
            # Clients of the last members must find the new ones.
            for client in self.history.clients:
                client.endpoints.append(new.endpoint)
            self.remove(old)
            # A removed member exits by itself.
            code = old.process.wait(30)
            self.assertEqual(code, 0, old.tail())
            self.members.leader()
        self.assertEqual(sorted(m.name for m in self.members.listed()), ["n0", "n1", "n2"])
        self.finish(least=400)

    def test_a_follower_far_behind_is_caught_up_by_a_snapshot_under_load(self):
        behind = self.members.followers()[0]
        behind.kill()
        leader = self.members.leader()
        subprocess.run([BENCH, "--json", "--endpoint", leader.endpoint, "--count", str(ENTRIES_BEHIND), "--keys",
                        str(ENTRIES_BEHIND // 2), "put"], check=True, stdout=subprocess.DEVNULL, timeout=300)
        self.history = history.History(start_revision=leader.wait_status().header.revision)
        self.history.start_clients([m.endpoint for m in self.members.alive])
        self.history.wait_more(100)
        behind.launch()
        # Serializable reads of the member that catches up, too.
        self.history.start_clients([behind.endpoint], count=1, pinned=True)
        behind.wait_ready()
        self.history.wait_more(20, clients=[self.history.clients[-1]])
        for line in (b"received and saved database snapshot", b"applied snapshot"):
            self.assertIn(line, behind.log())
        self.assertTrue(any(b"sent database snapshot" in m.log() for m in self.members.members if m is not behind))
        # It keeps what it got.
        behind.kill()
        behind.start()
        self.finish(least=200)


class LeaderTest(unittest.TestCase):
    def test_a_leader_is_removed_and_no_write_is_lost_at_it(self):
        members = cluster.Cluster(3)
        self.addCleanup(members.close)
        members.start()
        leader = members.leader()
        identity = next(m.ID for m in members.listed() if m.name == leader.name)
        members.change("MemberRemove", rpc_pb2.MemberRemoveRequest(ID=identity), without=leader)
        # One that is sent on to who leads no more fails when its time is over.
        for member in members.members:
            if member is not leader:
                with member.channel() as channel:
                    server.put(server.kv(channel), member.name.encode(), b"v")
        self.assertEqual(leader.process.wait(30), 0, leader.tail())
        members.forget(leader)
        members.check_equal()


if __name__ == "__main__":
    unittest.main()
