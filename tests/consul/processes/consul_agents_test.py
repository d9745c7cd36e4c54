#!/usr/bin/env python3
"""Agents in numbers behind Consul's HTTP, each at a port of its own: all that runs on their nodes is registered, reported
about and deregistered there, by PUTs. It changes, and the agents die with their process. What another agent's API lists
is equal to the truth, which is what the PUTs said, within the agents' time to live and two seconds; the dead stay listed,
with a critical serfHealth, and a blocking query about a service that stays as it is waits through all of that.

The agents of a process (consul-agents-probe) share the connections to the store, and nothing else: each has its list, its
session, its routes and its listener, as `agent run` has. They have no KV and no sessions. Some of each process have a copy
of the catalog, so that each machine of the test need not hold a thousand: two of them are asked beside the one agent of
`agent run`.

$KVORUM_SYNC_AGENTS_S is for how many seconds 1,000 agents live with a time to live of 15 s; without it, 100 of them live
for some seconds with one of 3 s.
"""

import concurrent.futures
import copy
import functools
import http.client
import json
import os
import pathlib
import random
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402
import talk  # noqa: E402

SECONDS = int(os.environ.get("KVORUM_SYNC_AGENTS_S", "0"))
PROCESSES = 4 if SECONDS else 2
NODES = 250 if SECONDS else 50  # of each process
COPIES = 10  # agents with a copy, of each process
TTL_S = 15 if SECONDS else 3
CHANGES_PER_S = 25 if SECONDS else 20  # of each process
START_S = 30 if SECONDS else 1
SERF = "serfHealth"
SERVICES = ("web", "db", "job")
REPORTS = {"passing": "pass", "warning": "warn", "critical": "fail"}


class Process:
    """Agents of one process, and what they were told; a thread tells them more."""

    def __init__(self, endpoint, root, number):
        self.probe = talk.Talk("consul-agents-probe", endpoint, root, number * NODES, NODES, TTL_S, START_S,
                               COPIES)
        self.addresses = json.loads(self.probe.read())
        self.truth = {node: {} for node in self.addresses}
        self.lock = threading.Lock()  # over a change, and over the truth
        self.is_still = False
        self.failure = None
        self.ending = threading.Event()
        self.chance = random.Random(number)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(self.register_both, sorted(self.addresses)))
        self.thread = threading.Thread(target=self.live)
        self.thread.start()

    def with_copies(self):
        """Where the agents answer that have a copy of the catalog."""
        return [self.addresses[node] for node in sorted(self.addresses)[:COPIES]]

    def put(self, node, path, body=None):
        connection = http.client.HTTPConnection(self.addresses[node], timeout=60)
        try:
            connection.request("PUT", "/v1/agent/" + path, json.dumps(body) if body else None)
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status == 200, (node, path, answer.status, said)
        finally:
            connection.close()

    def register_both(self, node):
        for service in ("web", "db"):
            self.register(node, service)

    def register(self, node, service):
        number = int(node.rsplit("-", 1)[1])
        address = f"10.0.{number // 250}.{number % 250}"
        self.put(node, "service/register", {
            "ID": f"{service}-1", "Name": service, "Address": address, "Port": 80,
            "Check": {"CheckID": f"{service}-up", "TTL": "1h", "Status": "passing"}})
        self.truth[node][f"{service}-1"] = [service, f"{address}:80", "passing"]

    def deregister(self, node, service):
        self.put(node, f"service/deregister/{service}-1")
        del self.truth[node][f"{service}-1"]

    def report(self, node, service, status):
        self.put(node, f"check/{REPORTS[status]}/{service}-up?note={status}{self.chance.randrange(1 << 30)}")
        self.truth[node][f"{service}-1"][2] = status

    def change_one(self):
        node = self.chance.choice(list(self.addresses))
        if self.chance.randrange(5) > 0:
            return self.report(node, self.chance.choice(("web", "db")), self.chance.choice(list(REPORTS)))
        if "job-1" in self.truth[node]:
            return self.deregister(node, "job")
        return self.register(node, "job")

    def live(self):
        try:
            while not self.ending.wait(1 / CHANGES_PER_S):
                with self.lock:
                    if not self.is_still:
                        self.change_one()
        except (AssertionError, OSError) as failed:
            self.failure = failed

    def hold(self):
        """The truth; nothing changes from here on."""
        with self.lock:
            self.is_still = True
            if self.failure:
                raise AssertionError("a change was refused") from self.failure
            return copy.deepcopy(self.truth)

    def go_on(self):
        self.is_still = False

    def close(self):
        self.ending.set()
        self.thread.join()
        self.probe.close()


class ConsulAgentsTest(consul_fixture.ConsulCase):
    def setUp(self):
        super().setUp()
        self.times = {}
        self.processes = [self.start_process(number) for number in range(PROCESSES)]

    def start_process(self, number):
        process = Process(self.endpoint, self.root, number)
        self.addCleanup(process.close)
        return process

    def listed(self, address=None):
        """({node: {id: [service, address, worst status]}}, {node: serfHealth}) of the processes' nodes, as the agent at
        the address lists them."""
        entries, life = {}, {}
        for service in SERVICES:
            with urllib.request.urlopen(f"http://{address or self.agent.address}/v1/health/service/{service}",
                                        timeout=60) as answer:
                instances = json.load(answer)
            for instance in instances:
                node, about = instance["Node"]["Node"], instance["Service"]
                statuses = {check["CheckID"]: check["Status"] for check in instance["Checks"]}
                life[node] = statuses.pop(SERF)
                entries.setdefault(node, {})[about["ID"]] = [service, f"{about['Address']}:{about['Port']}",
                                                             statuses[f"{service}-up"]]
        return entries, life

    def wait_equal(self, what):
        """Until the API's lists are equal to what the living agents were told, where nothing changes from here on."""
        begin = time.monotonic()
        truth = {}
        for process in self.processes:
            truth.update(process.hold())

        def is_equal(address=None):
            entries, life = self.listed(address)
            return {node: entries.get(node) for node in truth} == truth and all(
                life[node] == "passing" for node in truth)
        self.wait_within(is_equal, what, begin)
        for process in self.processes:
            for address in process.chance.sample(process.with_copies(), 2):
                self.wait_within(functools.partial(is_equal, address), f"{what}, as others list it", begin)
        for process in self.processes:
            process.go_on()
        return truth

    def wait_within(self, claim, what, begin):
        while not claim():
            self.assertLess(time.monotonic() - begin, TTL_S + 2, what)
            time.sleep(0.05)
        self.times[what] = round(time.monotonic() - begin, 2)

    def a_process_is_killed(self):
        process = self.processes.pop()
        dead = process.hold()

        def are_listed():
            entries = self.listed()[0]
            return {node: entries.get(node) for node in dead} == dead
        self.wait_within(are_listed, "the last changes of those who will die", time.monotonic())
        process.close()
        killed = time.monotonic()

        def are_critical():
            life = self.listed()[1]
            return all(life[node] == "critical" for node in dead)
        self.wait_within(are_critical, "the dead are critical", killed)
        entries, life = self.listed()
        self.assertEqual({node: entries[node] for node in dead}, dead, "their services stay as they were")
        self.assertTrue(all(status == "passing" for node, status in life.items() if node not in dead))
        self.processes.append(self.start_process(PROCESSES - 1))
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
        kib = max(process.probe.resident_bytes() for process in self.processes) // NODES >> 10
        print(f"{self.id()}: {PROCESSES * NODES} agents, {kib} KiB each; seconds: {self.times}", flush=True)


if __name__ == "__main__":
    consul_fixture.main()
