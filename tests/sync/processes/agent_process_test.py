#!/usr/bin/env python3
"""kvorumctl agent against real servers, kvorum and etcd: what a dead agent leaves (A14), two agents of one name (A16), a
restart that nobody notices (A18), and the two ways to stop (A17)."""

import json
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import agent_fixture  # noqa: E402
import client_path  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
from agent_fixture import TTL_S, service  # noqa: E402


def statuses(path):
    """Of the checks in a state file, none while there is no file."""
    if not os.path.exists(path):
        return []
    state = json.loads(pathlib.Path(path).read_text())
    return [check["status"] for entry in state["entries"] for check in entry["checks"]]


class AgentTest(agent_fixture.AgentCase):
    """The tests; its heirs name a kind of server."""

    def test_A14_AKilledAgentsKeysVanishWithinItsTimeToLiveAndTwoSeconds(self):
        agent = self.start([service("web", "a"), service("db", "b")])
        agent.wait_for("synced")
        self.assertEqual(sorted(self.keys()), [
            "/catalog/n1/a", "/catalog/n1/b", "/nodes/n1", "/services/db/n1.b", "/services/web/n1.a"])
        time.sleep(TTL_S + 2)
        self.assertEqual(len(self.keys()), 5)  # renewals keep them
        agent.end(signal.SIGKILL)
        killed = time.monotonic()
        cluster.wait_until(lambda: not self.keys(), "the keys of a dead agent to vanish")
        self.assertLessEqual(time.monotonic() - killed, TTL_S + 2)

    def test_A16_ASecondAgentOfTheNameWaitsUntilTheFirstIsGone(self):
        history = self.history()
        first = self.start([service("web", "a", "first")])
        first.wait_for("synced")
        second = self.start([service("web", "a", "second")], "--socket", self.path("second"), folder="two")
        self.assertEqual(second.wait_for("error")["error"], "node n1 is held by another agent")
        time.sleep(TTL_S)
        status = json.loads(ctl.succeed(self.endpoint, "agent", "status", "--socket", self.path("second"), "-w", "json"))
        self.assertEqual((status["state"], status["last_error"]), ("held", "node n1 is held by another agent"))
        self.assertEqual(history.values("/catalog/n1/a"), ["first"])
        first.end(signal.SIGKILL)
        cluster.wait_until(lambda: not self.keys(), "the lease of a dead agent to expire")
        # It would find out by itself, 15 to 30 s after its last try.
        ctl.succeed(self.endpoint, "agent", "sync", "--socket", self.path("second"))
        # Never alternating: nothing, the first's, nothing, the second's.
        self.assertEqual(history.values("/catalog/n1/a"), ["first", None, "second"])
        self.assertEqual(second.process.poll(), None)

    def test_A16_AFrozenAgentThatLostTheNameWritesNothingMore(self):
        history = self.history()
        first = self.start([service("web", "a", "first")])
        first.wait_for("synced")
        first.process.send_signal(signal.SIGSTOP)
        cluster.wait_until(lambda: not self.keys(), "the lease of a frozen agent to expire")
        second = self.start([service("web", "a", "second")], folder="two")
        second.wait_for("synced")
        first.process.send_signal(signal.SIGCONT)
        self.assertIn("held by another", first.wait_for("error")["error"])
        time.sleep(1)
        self.assertEqual(history.values("/catalog/n1/a"), ["first", None, "second"])
        self.assertEqual(second.end(), 0)
        self.assertEqual(first.end(), 0)

    def test_A17_StopLeavesTheKeysAndLeaveRemovesThem(self):
        agent = self.start([service("web", "a")])
        agent.wait_for("synced")
        self.assertEqual(agent.end(), 0)
        self.assertEqual(len(self.keys()), 3)
        cluster.wait_until(lambda: not self.keys(), "the lease to expire")
        agent = self.start([service("web", "a")], "--leave-on-stop")
        agent.wait_for("synced")
        self.assertEqual(agent.end(), 0)
        self.assertEqual(self.keys(), {})

    def test_later_signals_do_not_break_the_leaving_off(self):
        direct, path = self.endpoint, client_path.Path(int(self.endpoint.rsplit(":", 1)[1]))
        self.addCleanup(path.close)
        self.endpoint = path.endpoint
        agent = self.start([service("web", "a")], "--leave-on-stop", "--ttl", "30s")
        self.endpoint = direct
        agent.wait_for("synced")
        path.stall()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            agent.process.send_signal(number)
            time.sleep(1.5)
        self.assertIsNone(agent.process.poll())
        self.assertEqual(len(self.keys()), 3)
        path.flow()
        self.assertEqual(agent.wait(), 0)
        self.assertEqual(self.keys(), {})

    def test_A18_ARestartWithinTheTimeToLiveGoesUnnoticed(self):
        state = self.path("state")
        services = [service("web", "a"), service("db", "b"),
                    service("checked", "c", checks=[{"id": "true", "kind": "exec", "command": ["true"],
                                                     "interval_ns": 200_000_000}])]
        agent = self.start(services, "--state", state)
        agent.wait_for("synced")
        cluster.wait_until(lambda: b"passing" in self.keys()["/catalog/n1/c"][0], "the check to pass")
        # The store may know of it before the file does, and an agent killed in between tells the older status again.
        cluster.wait_until(lambda: statuses(state) == ["passing"], "the state to be saved")
        before, history = self.keys(), self.history()
        for how in (signal.SIGKILL, signal.SIGTERM):
            agent.end(how)
            agent = self.start(services, "--state", state)
            agent.wait_for("synced")
            self.assertEqual(history.until_now(), [], "somebody saw a change")
        # It goes on: the adopted lease is renewed, and what changes is written.
        time.sleep(TTL_S + 2)
        self.assertEqual(history.until_now(), [])
        self.assertEqual(self.keys(), before)
        agent.end()
        agent = self.start([service("web", "a", "new")], "--state", state)
        agent.wait_for("synced")
        self.assertEqual(sorted(self.keys()), ["/catalog/n1/a", "/nodes/n1", "/services/web/n1.a"])
        self.assertEqual(self.keys()["/nodes/n1"], before["/nodes/n1"])
        self.assertEqual(agent.end(), 0)

    def test_what_is_wrong_is_named_before_anything_is_written(self):
        folder = pathlib.Path(self.path("services"))
        folder.mkdir()
        bad = folder / "bad.json"
        for text, why in (('{"id":"a"}', f'{bad}: "name" is not a string'),
                          ('{"id":"a.b","name":"web"}', f"{bad}: the id contains a dot"),
                          ("x", f"{bad}: the file is not a JSON object")):
            bad.write_text(text)
            done = ctl.run(self.endpoint, "agent", "run", "--node", "n1", "--services", folder)
            self.assertEqual((done.returncode, done.stderr.strip()), (1, f"Error: {why}"))
        bad.write_text('{"id":"a","name":"web"}')
        (folder / "first.json").write_text('{"id":"b","name":"web"}')
        (folder / "second.json").write_text('{"id":"b","name":"web"}')
        done = ctl.run(self.endpoint, "agent", "run", "--node", "n1", "--services", folder)
        self.assertEqual((done.returncode, done.stderr.strip()),
                         (1, f"Error: {folder}/second.json: another file has the id b"))
        done = ctl.run(self.endpoint, "agent", "run", "--node", "a/b")
        self.assertEqual((done.returncode, done.stderr.strip()), (128, "Error: --node contains a slash"))
        self.assertEqual(self.keys(), {})


class AgentOnKvorumTest(agent_fixture.OnKvorum, AgentTest, unittest.TestCase):
    pass


class AgentOnEtcdTest(agent_fixture.OnEtcd, AgentTest, unittest.TestCase):
    pass


if __name__ == "__main__":
    agent_fixture.main(sys.modules[__name__])
