"""The wire between members is cut, both ways and one way, under clients of every member that write down what they see.

Each member is on a host of its own (network.py); clients reach all of them all the time, so a member that is cut off
from the others is asked for what it cannot know.
"""

import itertools
import os
import random
import threading
import time
import urllib.error
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import history
import network
import server

ROUNDS = int(os.environ.get("KVORUM_FAULT_ROUNDS", "1"))
SEED = int(os.environ.get("KVORUM_FAULT_SEED", "1"))


class PartitionTest(history.HistoryCase):
    def setUp(self):
        self.network = network.Network()
        self.addCleanup(self.network.close)
        self.rng = random.Random(SEED)

    def start(self, size, timing=cluster.QUICK):
        self.begin(cluster.Cluster(size, [*timing, "--snapshot-count", "500"], network=self.network))
        self.history.start_clients(self.members.endpoints, count=size, seed=SEED, pinned=True)
        self.history.start_clients(self.members.endpoints, count=2, seed=SEED)
        self.history.wait_more(100)

    def without(self, *members):
        return [m for m in self.members.members if m not in members]

    def hosts(self, members):
        return [m.host for m in members]

    def clients_of(self, members):
        endpoints = [m.endpoint for m in members]
        return [c for c in self.history.clients if len(c.endpoints) == 1 and c.endpoints[0] in endpoints]

    def finish(self, least):
        self.network.heal()
        self.members.leader()
        # Through every member there is progress again.
        for client in self.history.clients:
            self.history.wait_more(5, clients=[client])
        self.history.stop_clients()
        self.judge(least)

    def check_isolated(self, member):
        """It knows that it does not lead, and says so instead of giving old answers."""
        cluster.wait_until(lambda: member.wait_status().leader == 0, f"{member.name} to lose its leader")

    def test_a_leader_cut_off_stops_leading_and_the_others_go_on(self):
        self.start(3)
        for _ in range(ROUNDS):
            old = self.members.leader()
            rest = self.without(old)
            self.network.part(self.hosts([old]), self.hosts(rest))
            self.members.leader(among=rest)
            self.history.wait_more(100, clients=self.clients_of(rest))
            self.check_isolated(old)
            self.network.heal()
            self.members.leader()
            self.history.wait_more(100)
        self.finish(least=300)

    def test_a_follower_cut_off_does_not_disturb_the_leader(self):
        self.start(3, cluster.STEADY)
        leader = self.members.leader()
        cut_off = self.without(leader)[0]
        term = leader.wait_status().raftTerm
        self.network.part([cut_off.host], self.hosts(self.without(cut_off)))
        self.check_isolated(cut_off)
        self.history.wait_more(100, clients=self.clients_of(self.without(cut_off)))
        self.network.heal()
        cluster.wait_until(lambda: cut_off.wait_status().leader == leader.wait_status().header.member_id,
                           "the follower to find its leader again")
        # Pre-vote: its campaigns were in vain and raised no term.
        self.assertEqual(leader.wait_status().raftTerm, term)
        self.finish(least=200)

    def test_one_way_cuts(self):
        self.start(3)
        for _ in range(ROUNDS):
            for hears_nothing in (True, False):
                for leads in (True, False):
                    leader = self.members.leader()
                    member = leader if leads else self.rng.choice(self.without(leader))
                    for other in self.without(member):
                        if hears_nothing:
                            self.network.cut(other.host, member.host)
                        else:
                            self.network.cut(member.host, other.host)
                    rest = self.without(member)
                    self.members.leader(among=rest)
                    self.history.wait_more(60, clients=self.clients_of(rest))
                    time.sleep(self.rng.uniform(0, 1))  # the length of the fault
                    self.network.heal()
                    self.members.leader()
                    self.history.wait_more(60)
        self.finish(least=400)

    def test_who_has_no_leader_says_so_within_two_election_timeouts(self):
        """Long ones, so that a second that the machine and the clients may be late by is little of them."""
        election_timeout, late_s = 5, 1
        self.begin(cluster.Cluster(3, ["--heartbeat-interval", "100", "--election-timeout", "5000"],
                                   network=self.network))
        self.members.leader()
        told = {}

        def note(member, what):
            told[member.name, what] = time.monotonic()

        def watch(member, started):
            with member.channel() as channel:
                stream = rpc_pb2_grpc.WatchStub(channel).Watch(
                    itertools.chain([rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(key=b"a"))],
                                    iter(self.over.wait, True)),
                    metadata=[("hasleader", "true")], timeout=30)
                next(stream)
                started.set()
                try:
                    next(stream)
                except grpc.RpcError as error:
                    if error.details() == "etcdserver: no leader":
                        note(member, "watch")

        def health(member):
            try:
                urllib.request.urlopen(member.client_url + "/health", timeout=30)
            except urllib.error.HTTPError as error:
                if b"RAFT NO LEADER" in error.read():
                    note(member, "health")

        def refusal(member):
            with member.channel() as channel:
                def is_refused():
                    try:
                        server.kv(channel).Range(rpc_pb2.RangeRequest(key=b"a", serializable=True), timeout=30,
                                                 metadata=[("hasleader", "true")])
                        return False
                    except grpc.RpcError as error:
                        return error.details() == "etcdserver: no leader"
                cluster.wait_until(is_refused, f"{member.name} to refuse who wants a leader")
                note(member, "refusal")

        self.over = threading.Event()
        threads = []
        for member in self.members.members:
            started = threading.Event()
            threads.append(threading.Thread(target=watch, args=(member, started)))
            threads[-1].start()
            self.assertTrue(started.wait(30))
        for one in self.members.members:
            self.network.part(self.hosts([one]), self.hosts(self.without(one)))
        cut = time.monotonic()
        for member in self.members.members:
            threads += [threading.Thread(target=health, args=(member,)),
                        threading.Thread(target=refusal, args=(member,))]
        for thread in threads[3:]:
            thread.start()
        for thread in threads:
            thread.join()
        self.over.set()
        self.assertEqual(len(told), 9, told)
        after = {what: round(when - cut, 2) for what, when in told.items()}
        print(f"seconds after the cut: {after}", flush=True)
        late = {what: when for what, when in after.items() if when > 2 * election_timeout + late_s}
        self.assertEqual(late, {})
        self.network.heal()
        self.members.leader()
        self.members.check_logs()
        self.fine = True

    def test_five_members_split_three_to_two(self):
        self.start(5)
        leader = self.members.leader()
        companion = self.without(leader)[0]
        majority = self.without(leader, companion)
        self.network.part(self.hosts([leader, companion]), self.hosts(majority))
        self.members.leader(among=majority)
        self.history.wait_more(100, clients=self.clients_of(majority))
        self.check_isolated(leader)
        self.check_isolated(companion)
        self.finish(least=200)

    def test_no_member_hears_another_and_then_all_do(self):
        self.start(3)
        for one in self.members.members:
            self.network.part([one.host], self.hosts(self.without(one)))
        for member in self.members.members:
            self.check_isolated(member)
        self.finish(least=100)


if __name__ == "__main__":
    network.run_isolated()
