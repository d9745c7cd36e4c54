"""Members die, stop and come back under clients that write down what they see: no acknowledged write is lost, no
linearizable read is stale, all members end equal.

KVORUM_FAULT_ROUNDS (default 2) makes it longer; KVORUM_FAULT_SEED chooses the clients' operations.
"""

import os
import random
import time
import unittest

import cluster
import history

ROUNDS = int(os.environ.get("KVORUM_FAULT_ROUNDS", "2"))
SEED = int(os.environ.get("KVORUM_FAULT_SEED", "1"))
# Longer than an election, which takes at most two time-outs of 0.5 s and the votes.
PAUSE_SECONDS = 1.6


class FaultsTest(history.HistoryCase):
    def setUp(self):
        # Small limits, so that faults meet snapshots of the log and commits of the backend.
        self.begin(cluster.Cluster(3, [*cluster.QUICK, "--snapshot-count", "500",
                                       "--backend-batch-interval", "20ms"]))
        self.rng = random.Random(SEED)

    def test_kill_9_of_leader_and_followers(self):
        self.history.start_clients(self.members.endpoints, seed=SEED)
        for _ in range(ROUNDS):
            for choose in (self.members.leader, lambda: self.rng.choice(self.members.followers())):
                self.history.wait_more(150)
                victim = choose()
                victim.kill()
                self.members.leader()
                # The other two serve on.
                self.history.wait_more(150)
                victim.start()
        # And all at once.
        self.history.wait_more(150)
        for member in self.members.members:
            member.kill()
        self.members.start()
        self.finish(least=600 * ROUNDS)

    def test_a_pause_of_leader_and_followers_for_longer_than_an_election(self):
        # Some clients stay with the paused member: what it answers when it wakes up counts.
        self.history.start_clients(self.members.endpoints, count=3, seed=SEED, pinned=True)
        self.history.start_clients(self.members.endpoints, count=3, seed=SEED)
        for _ in range(ROUNDS):
            leader = self.members.leader()
            self.history.wait_more(150)
            leader.pause()
            # Among the two that are awake.
            new = self.members.leader()
            self.assertIsNot(new, leader)
            self.history.wait_more(100)
            leader.resume()
            self.history.wait_more(100)
            follower = self.rng.choice(self.members.followers())
            follower.pause()
            self.history.wait_more(100)
            self.assertIsNotNone(self.members.leader(among=[m for m in self.members.alive]))
            time.sleep(PAUSE_SECONDS)
            follower.resume()
            self.history.wait_more(100)
        self.finish(least=400 * ROUNDS)

    def test_the_majority_is_paused_and_wakes_up_at_once(self):
        self.history.start_clients(self.members.endpoints, count=3, seed=SEED, pinned=True)
        for _ in range(ROUNDS):
            self.history.wait_more(100)
            leader = self.members.leader()
            asleep = [leader, self.rng.choice([m for m in self.members.members if m is not leader])]
            for member in asleep:
                member.pause()
            time.sleep(PAUSE_SECONDS)
            for member in asleep:
                member.resume()
            self.members.leader()
        self.finish(least=100 * ROUNDS)

    def test_five_members_with_two_dying_at_a_time(self):
        self.members.close()
        self.members = cluster.Cluster(5, [*cluster.QUICK, "--snapshot-count", "500"])
        self.members.start()
        self.members.leader()
        self.history.start_clients(self.members.endpoints, seed=SEED)
        for _ in range(ROUNDS):
            self.history.wait_more(100)
            leader = self.members.leader()
            victims = [leader, self.rng.choice([m for m in self.members.members if m is not leader])]
            for victim in victims:
                victim.kill()
            self.members.leader()
            self.history.wait_more(100)
            for victim in victims:
                victim.start()
        self.finish(least=200 * ROUNDS)


if __name__ == "__main__":
    unittest.main()
