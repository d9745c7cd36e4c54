#!/usr/bin/env python3
"""Agents in numbers, as Consul's HTTP shows them: they register, what runs on them changes, they die with their process.
What the API lists is equal to the truth, which sync-agents-probe knows, within the agents' time to live and two seconds;
the dead stay listed, with a critical serfHealth, and a blocking query about a service that stays as it is waits through
all of that.

$KVORUM_SYNC_AGENTS_S is for how many seconds 1,000 agents live with a time to live of 15 s; without it, 100 of them live
for some seconds with one of 3 s.
"""

import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402
import json  # noqa: E402
import talk  # noqa: E402

SECONDS = int(os.environ.get("KVORUM_SYNC_AGENTS_S", "0"))
PROCESSES = 4 if SECONDS else 2
NODES = 250 if SECONDS else 50  # of each process
TTL_S = 15 if SECONDS else 3
CHANGES_PER_S = 25 if SECONDS else 20  # of each process
START_S = 30 if SECONDS else 1
SERF = "serfHealth"


class ConsulAgentsTest(consul_fixture.ConsulCase):
    def setUp(self):
        super().setUp()
        self.times = {}
        self.probes = [self.start_probe(number) for number in range(PROCESSES)]

    def start_probe(self, number):
        probe = talk.Talk("sync-agents-probe", self.endpoint, self.root, number * NODES, NODES, TTL_S, CHANGES_PER_S,
                          START_S, "records")
        self.addCleanup(probe.close)
        return probe

    def listed(self):
        """({node: {id: [service, address, worst status]}}, {node: serfHealth}) of the probes' nodes."""
        entries, life = {}, {}
        for service in ("web", "db", "job"):
            for instance in self.agent.get(f"/v1/health/service/{service}"):
                node, about = instance["Node"]["Node"], instance["Service"]
                statuses = {check["CheckID"]: check["Status"] for check in instance["Checks"]}
                life[node] = statuses.pop(SERF)
                entries.setdefault(node, {})[about["ID"]] = [service, f"{about['Address']}:{about['Port']}",
                                                             statuses["up"]]
        return entries, life

    def wait_equal(self, what):
        """Until the API's lists are equal to what the living processes say, where nothing changes from here on."""
        begin = time.monotonic()
        truth = {}
        for probe in self.probes:
            truth.update(json.loads(probe.ask("truth")))

        def is_equal():
            entries, life = self.listed()
            return {node: entries.get(node) for node in truth} == truth and all(
                life[node] == "passing" for node in truth)
        self.wait_within(is_equal, what, begin)
        for probe in self.probes:
            probe.ask("change")
        return truth

    def wait_within(self, claim, what, begin):
        while not claim():
            self.assertLess(time.monotonic() - begin, TTL_S + 2, what)
            time.sleep(0.05)
        self.times[what] = round(time.monotonic() - begin, 2)

    def a_process_is_killed(self):
        probe = self.probes.pop()
        dead = json.loads(probe.ask("truth"))

        def are_listed():
            entries = self.listed()[0]
            return {node: entries.get(node) for node in dead} == dead
        self.wait_within(are_listed, "the last changes of those who will die", time.monotonic())
        probe.close()
        killed = time.monotonic()

        def are_critical():
            life = self.listed()[1]
            return all(life[node] == "critical" for node in dead)
        self.wait_within(are_critical, "the dead are critical", killed)
        entries, life = self.listed()
        self.assertEqual({node: entries[node] for node in dead}, dead, "their services stay as they were")
        self.assertTrue(all(status == "passing" for node, status in life.items() if node not in dead))
        self.probes.append(self.start_probe(PROCESSES - 1))
        time.sleep(START_S)
        self.wait_equal("the dead came back")

    def test_H29_the_lists_are_equal_to_the_truth_and_the_dead_stay(self):
        self.agent.put("/v1/agent/service/register", {"Name": "quiet", "Port": 1})
        _, headers, _ = self.agent.call("GET", "/v1/health/service/quiet")
        index = headers["X-Consul-Index"]
        ended = []
        waiter = threading.Thread(target=lambda: ended.append(
            (self.agent.call("GET", f"/v1/health/service/quiet?index={index}&wait=25s"), time.monotonic())))
        waiter.start()
        begun = time.monotonic()
        time.sleep(START_S)
        self.wait_equal("after the start")
        end = time.monotonic() + SECONDS
        while True:
            time.sleep(20 if SECONDS else 1)
            self.wait_equal("while agents change")
            self.a_process_is_killed()
            if time.monotonic() >= end:
                break
        waiter.join()
        (status, headers, _), at = ended[0]
        self.assertEqual((status, headers["X-Consul-Index"]), (200, index), "nothing of it has changed")
        self.assertGreater(at - begun, 24, "the wait was not ended early")
        print(f"{self.id()}: seconds: {self.times}", flush=True)


if __name__ == "__main__":
    consul_fixture.main()
