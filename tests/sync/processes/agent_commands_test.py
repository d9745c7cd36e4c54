#!/usr/bin/env python3
"""The commands around an agent against real servers, kvorum and etcd: what others ask through its socket, its folder
read again, the catalog shown and followed, and DNS."""

import base64
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import agent_fixture  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
import dns_client  # noqa: E402
from agent_fixture import service  # noqa: E402

NOERROR, NXDOMAIN = 0, 3


class AgentCommandsTest(agent_fixture.AgentCase):
    """The tests; its heirs name a kind of server."""

    def serve(self, services, *flags):
        """An agent with a socket, once it is in step."""
        self.socket = self.path("socket")
        agent = self.start(services, "--socket", self.socket, *flags)
        agent.wait_for("synced")
        return agent

    def ask(self, command, *arguments, stdin=""):
        return ctl.run(self.endpoint, "agent", command, "--socket", self.socket, *arguments, stdin=stdin)

    def told(self, command, *arguments, stdin=""):
        """What it says; it must succeed."""
        done = self.ask(command, *arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, command, *arguments, stdin=""):
        done = self.ask(command, *arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr.strip()

    def status(self):
        return json.loads(self.told("status", "-w", "json"))

    def settle(self):
        cluster.wait_until(lambda: self.status()["state"] == "synced", "the changes to be written")

    def catalog(self, *arguments):
        return ctl.succeed(self.endpoint, "catalog", arguments[0], "--root", self.root, *arguments[1:])

    def test_services_are_registered_checked_and_removed_through_the_socket(self):
        self.serve(None)
        web = service("web", "a", "10.0.0.1:80", checks=[{"id": "beat", "kind": "ttl", "interval_ns": 600_000_000_000}])
        self.assertEqual(self.told("register", "-", stdin=json.dumps(web)), "")
        self.settle()
        self.assertEqual(self.told("list"), "a\tweb\tcritical\tsynced\t10.0.0.1:80\n")
        self.assertEqual(self.catalog("service", "web", "--healthy"), "")
        self.assertEqual(self.told("check", "a", "beat", "pass", "--output", "here"), "")
        self.settle()
        self.assertEqual(self.catalog("service", "web"), "n1\ta\tpassing\t10.0.0.1:80\n")
        item = json.loads(self.told("list", "-w", "json"))
        self.assertEqual((item["id"], item["status"], item["sync"], item["checks"][0]["output"]),
                         ("a", "passing", "synced", "here"))
        self.told("check", "a", "beat", "warn")
        self.settle()
        self.assertEqual(self.catalog("service", "web"), "n1\ta\twarning\t10.0.0.1:80\n")
        file = pathlib.Path(self.path("b.json"))
        file.write_text(json.dumps(service("db", "b")))
        self.assertEqual(self.told("register", str(file), "-w", "json"), "{}\n")
        self.told("deregister", "a")
        cluster.wait_until(lambda: sorted(self.keys()) == ["/catalog/n1/b", "/nodes/n1", "/services/db/n1.b"],
                           "the service to be removed")

    def test_what_is_asked_wrongly_is_refused_with_its_reason(self):
        agent = self.serve([service("web", "a")])
        self.assertEqual(self.refused("register", "-", stdin="{"), "Error: - is not a JSON object")
        self.assertEqual(self.refused("register", "-", stdin='{"id":"a.b","name":"x"}'),
                         "Error: the id contains a dot")
        self.assertIn("No such file", self.refused("register", self.path("none")))
        self.assertEqual(self.refused("deregister", "b"), "Error: there is no entry b")
        self.assertEqual(self.refused("check", "a", "beat", "pass"), "Error: entry a has no check beat")
        self.assertEqual(self.refused("check", "a", "beat", "well"), 'Error: status "well" is unknown')
        self.assertEqual(self.refused("resume"), "Error: the agent is not paused")
        self.assertEqual(self.ask("status", "-w", "fields").returncode, 4)
        self.assertEqual(self.ask("check", "a").returncode, 128)
        self.assertEqual(sorted(self.keys()), ["/catalog/n1/a", "/nodes/n1", "/services/web/n1.a"])
        self.assertEqual(agent.end(), 0)
        done = self.ask("status")
        self.assertEqual((done.returncode, done.stderr),
                         (2, f"Error: {self.socket}: No such file or directory\n"))

    def test_status_tells_how_the_agent_is(self):
        self.serve([service("web", "a")])
        status = self.status()
        self.assertEqual({k: status[k] for k in ("node", "state", "paused", "entries", "dirty", "blocked", "nodes",
                                                 "full_syncs", "last_error")},
                         {"node": "n1", "state": "synced", "paused": False, "entries": 1, "dirty": 0, "blocked": 0,
                          "nodes": 1, "full_syncs": 1, "last_error": ""})
        self.assertGreater(status["lease"], 0)
        self.assertTrue(0 < status["next_full_s"] <= 120, status)
        rows = dict(line.split("\t") for line in self.told("status").splitlines())
        self.assertEqual((rows["state"], rows["lease"], rows["last_error"]), ("synced", f"{status['lease']:x}", "-"))
        # `sync` answers once a full sync has ended.
        self.assertEqual(json.loads(self.told("sync", "-w", "json"))["full_syncs"], 2)

    def test_a_pause_holds_changes_back_and_they_become_visible_together(self):
        self.serve([service("web", "a")])
        history = self.history()
        self.told("pause")
        self.assertEqual(self.refused("pause"), "Error: the agent is paused already")
        self.told("register", "-", stdin=json.dumps(service("web", "b")))
        self.told("register", "-", stdin=json.dumps(service("db", "c")))
        self.told("deregister", "a")
        self.assertEqual(self.refused("sync"), "Error: the agent is paused; it syncs once it is resumed")
        self.assertEqual(self.told("list"), "b\tweb\tpassing\tdirty\tv\nc\tdb\tpassing\tdirty\tv\n")
        self.assertEqual(self.told("list", "--all").splitlines()[0], "a\tweb\tpassing\tdeleting\tv")
        status = self.status()
        self.assertEqual((status["state"], status["paused"], status["dirty"]), ("dirty", True, 3))
        self.assertEqual(history.until_now(), [])
        self.told("resume")
        self.settle()
        keys = self.keys()
        self.assertEqual(sorted(keys), ["/catalog/n1/b", "/catalog/n1/c", "/nodes/n1", "/services/db/n1.c",
                                        "/services/web/n1.b"])
        self.assertEqual(len({revision for key, (_, revision) in keys.items() if key != "/nodes/n1"}), 1)

    def test_leave_removes_the_keys_and_ends_the_agent(self):
        agent = self.serve([service("web", "a")])
        second = self.start([], "--socket", self.path("second"), folder="two")
        second.wait_for("error")
        # One that does not have the name leaves the other's keys alone.
        ctl.succeed(self.endpoint, "agent", "leave", "--socket", self.path("second"))
        self.assertEqual(second.wait(), 0)
        self.assertEqual(len(self.keys()), 3)
        self.assertEqual(self.told("leave", "-w", "json"), "{}\n")
        self.assertEqual(agent.wait(), 0)
        self.assertEqual(self.keys(), {})

    def test_the_folder_is_read_again_on_a_signal_and_on_request(self):
        agent = self.serve([service("web", "a"), service("web", "b"), service("db", "c")])
        self.told("register", "-", stdin=json.dumps(service("own", "x")))
        cluster.wait_until(lambda: len(self.keys()) == 9, "what was registered by hand")
        before = self.keys()
        folder = self.write_services([service("web", "a"), service("web", "b", "new"), service("new", "d")])
        (folder / "b.json").write_text('{"id":"b",')  # as an editor may leave it
        agent.process.send_signal(signal.SIGHUP)
        told = agent.wait_for("reloaded")
        self.assertEqual((told["registered"], told["deregistered"]), (1, 1))
        error = agent.wait_for("error")["error"]
        self.assertEqual(error, f"{folder}/b.json: the file is not a JSON object")
        names = ["/catalog/n1/a", "/catalog/n1/b", "/catalog/n1/d", "/catalog/n1/x", "/nodes/n1", "/services/new/n1.d",
                 "/services/own/n1.x", "/services/web/n1.a", "/services/web/n1.b"]
        cluster.wait_until(lambda: sorted(self.keys()) == names, "the folder's services")
        # What did not change was not written, nor what the bad file had registered.
        for key in ("/catalog/n1/a", "/catalog/n1/b", "/catalog/n1/x"):
            self.assertEqual(self.keys()[key], before[key])
        self.assertEqual(self.refused("reload"), f"Error: {error}")
        self.write_services([service("web", "b", "new")])
        self.assertEqual(json.loads(self.told("reload", "-w", "json")), {"registered": 1, "deregistered": 2})
        cluster.wait_until(lambda: self.catalog("service", "web") == "n1\tb\tpassing\tnew\n", "the changed service")

    def test_what_was_registered_by_hand_outlives_a_restart_with_the_folder(self):
        state = self.path("state")
        agent = self.serve([service("web", "a"), service("db", "b")], "--state", state)
        self.told("register", "-", stdin=json.dumps(service("own", "x")))
        cluster.wait_until(lambda: '"x"' in pathlib.Path(state).read_text(), "the state to be saved")
        self.assertEqual(agent.end(), 0)
        self.serve([service("web", "a")], "--state", state)
        self.assertEqual(sorted(self.keys()), ["/catalog/n1/a", "/catalog/n1/x", "/nodes/n1", "/services/own/n1.x",
                                               "/services/web/n1.a"])

    def test_a_state_of_another_node_is_refused(self):
        state = self.path("state")
        agent = self.serve([service("web", "a")], "--state", state)
        self.assertEqual(agent.end(), 0)
        before = pathlib.Path(state).read_text()
        done = ctl.run(self.endpoint, "agent", "run", "--root", self.root, "--node", "n2", "--state", state)
        self.assertEqual((done.returncode, done.stderr.strip()),
                         (1, f"Error: {state}: it is the state of node n1, not of n2"))
        self.assertEqual(pathlib.Path(state).read_text(), before)

    def test_records_outlive_an_agent_that_keeps_them(self):
        agent = self.serve([service("web", "a")], "--reap-after", "72h")
        kept = ["/registry/node/n1", "/registry/service/n1/a"]
        self.assertEqual(sorted(self.keys()), ["/catalog/n1/a", "/nodes/n1", "/registry/life/n1", *kept,
                                               "/services/web/n1.a"])
        records = {key: self.keys()[key] for key in kept}
        agent.process.kill()
        cluster.wait_until(lambda: self.keys() == records, "the lease to end")
        self.assertEqual(self.catalog("services"), "")
        agent = self.serve([service("web", "a")], "--reap-after", "72h", "--leave-on-stop")
        self.assertEqual({key: self.keys()[key] for key in kept}, records)
        self.assertEqual(agent.end(), 0)
        self.assertEqual(self.keys(), {})

    def test_durations_are_texts_too(self):
        web = service("web", "a", checks=[{"id": "beat", "kind": "ttl", "interval": "600s"}])
        self.serve([web])
        self.told("register", "-", stdin=json.dumps({**web, "id": "b"}))
        checks = [json.loads(line)["checks"][0]["interval_ns"] for line in self.told("list", "-w", "json").splitlines()]
        self.assertEqual(checks, [600_000_000_000] * 2)
        web["checks"][0]["interval_ns"] = 1
        self.assertEqual(self.refused("register", "-", stdin=json.dumps(web)),
                         'Error: "interval" and "interval_ns" are both given')

    def test_metrics_are_served(self):
        agent = self.start([service("web", "a")], "--metrics-address", "127.0.0.1:0")
        address = agent.wait_for("metrics")["address"]
        agent.wait_for("synced")
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as page:
            self.assertIn('kvsync_ae_full_syncs_total{result="ok"} 1', page.read().decode())

    def test_the_catalog_shows_what_agents_registered(self):
        down = [{"id": "down", "kind": "exec", "command": ["sh", "-c", "echo broken; exit 2"],
                 "interval_ns": 100_000_000}]
        agent = self.start([service("web", "a", "10.0.0.1:80"), service("web", "b", checks=down)],
                           "--node-value", "10.0.0.1")
        agent.wait_for("synced")
        self.put(f"{self.root}/services/web/n2.rubbish", "{")
        self.put(f"{self.root}/services/db/n2.d", '{"id":"d","name":"db","value":"x"}')
        self.assertEqual(self.catalog("nodes"), "n1\t10.0.0.1\n")
        self.assertEqual(self.catalog("services"), "db\t1\nweb\t3\n")
        self.assertEqual(self.catalog("services", "-w", "json"),
                         '{"service":"db","instances":1}\n{"service":"web","instances":3}\n')
        done = ctl.run(self.endpoint, "catalog", "service", "web", "--root", self.root)
        self.assertEqual(done.stdout, "n1\ta\tpassing\t10.0.0.1:80\nn1\tb\tcritical\tv\n")
        self.assertEqual(done.stderr,
                         f"Warning: {self.root}/services/web/n2.rubbish: the record is not a JSON object\n")
        self.assertEqual(self.catalog("service", "web", "--healthy", "-w", "json"),
                         '{"node":"n1","id":"a","status":"passing","value":"10.0.0.1:80"}\n')
        self.assertEqual(ctl.run(self.endpoint, "catalog", "service", "a/b").returncode, 128)
        self.assertEqual(ctl.run(self.endpoint, "catalog", "nodes", "-w", "fields").returncode, 4)
        self.assertEqual(agent.end(), 0)

    def test_the_catalog_is_followed(self):
        record = '{"id":"%s","name":"web","value":"%s","checks":[{"id":"up","status":"%s","output":""}]}'

        def put(number, value, status="passing"):
            self.put(f"{self.root}/services/web/n1.{number}", record % (number, value, status))

        def next_of(follower):
            told = follower.next_event()
            return told.pop("event"), *told.values()

        put("a", "1")
        self.put(f"{self.root}/nodes/n1", "here")
        healthy = self.follow("catalog", "service", "web", "--healthy", "--watch", "--root", self.root)
        services = self.follow("catalog", "services", "--watch", "--root", self.root)
        nodes = self.follow("catalog", "nodes", "--watch", "--root", self.root)
        self.assertEqual(next_of(healthy), ("added", "n1", "a", "passing", "1"))
        self.assertEqual(next_of(services), ("added", "web", 1))
        self.assertEqual(next_of(nodes), ("added", "n1", "here"))
        put("a", "2")
        self.assertEqual(next_of(healthy), ("changed", "n1", "a", "passing", "2"))
        put("b", "3")
        self.assertEqual(next_of(healthy), ("added", "n1", "b", "passing", "3"))
        self.assertEqual(next_of(services), ("changed", "web", 2))
        put("a", "2", "critical")
        self.assertEqual(next_of(healthy), ("removed", "n1", "a", "passing", "2"))
        self.put(f"{self.root}/services/web/n2.rubbish", "{")
        told = healthy.next_event()
        self.assertEqual(told["event"], "error")
        self.assertIn("n2.rubbish", told["error"])
        for follower in (healthy, services, nodes):
            self.assertEqual(follower.end(), 0)
        text = subprocess.Popen(
            [ctl.CTL, "--endpoints", self.endpoint, "catalog", "service", "web", "--watch", "--root", self.root],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(text.kill)
        with text.stdout:
            self.assertEqual(text.stdout.readline(), "+\tn1\ta\tcritical\t2\n")
            self.assertEqual(text.stdout.readline(), "+\tn1\tb\tpassing\t3\n")
            put("b", "4")
            self.assertEqual(text.stdout.readline(), "~\tn1\tb\tpassing\t4\n")
            self.call("kv/deleterange", key=base64.b64encode(f"{self.root}/services/web/n1.b".encode()).decode())
            self.assertEqual(text.stdout.readline(), "-\tn1\tb\tpassing\t4\n")
            text.terminate()
            self.assertEqual(text.wait(timeout=30), 0)

    def dns(self, follower):
        host, port = follower.wait_for("dns")["address"].rsplit(":", 1)
        return host, int(port)

    def test_dns_answers_with_the_healthy_instances(self):
        agent = self.serve([
            service("web", "a", "10.0.0.1:80"), service("web", "b", "[2001:db8::1]:81"),
            service("web", "c", "10.0.0.3:82", checks=[{"id": "beat", "kind": "ttl"}]),
            service("db", "d", "db.example.org:5432")], "--dns-address", "127.0.0.1:0")
        follower = self.follow("catalog", "dns", "--dns-address", "127.0.0.1:0", "--root", self.root)
        reader = self.dns(follower)
        agent = self.start(None, "--dns-address", "127.0.0.1:0", node="n2")
        for address in (reader, self.dns(agent)):
            cluster.wait_until(lambda: dns_client.ask(address, "db.service.kvorum", "SRV")[2], "the catalog to be read")
            for send in (dns_client.send_udp, dns_client.send_tcp):
                self.assertEqual(dns_client.ask(address, "WEB.service.kvorum", "A", send),
                                 (NOERROR, False, ["10.0.0.1"], []))
                self.assertEqual(dns_client.ask(address, "web.service.kvorum", "AAAA", send)[2], ["2001:db8::1"])
            code, _, answers, additional = dns_client.ask(address, "_web._tcp.service.kvorum", "SRV")
            self.assertEqual((code, sorted(answers)), (NOERROR, [
                (80, "0a000001.addr.kvorum"), (81, "20010db8000000000000000000000001.addr.kvorum")]))
            self.assertEqual(sorted(additional)[0], ("0a000001.addr.kvorum", 1, "10.0.0.1"))
            self.assertEqual(dns_client.ask(address, "db.service.kvorum", "SRV")[2], [(5432, "db.example.org")])
            self.assertEqual(dns_client.ask(address, "db.service.kvorum", "A")[:3], (NOERROR, False, []))
            self.assertEqual(dns_client.ask(address, "nobody.service.kvorum", "A")[0], NXDOMAIN)
        self.told("check", "c", "beat", "pass")
        cluster.wait_until(
            lambda: sorted(dns_client.ask(reader, "web.service.kvorum", "A")[2]) == ["10.0.0.1", "10.0.0.3"],
            "the instance that is healthy now")
        self.told("deregister", "a")
        cluster.wait_until(lambda: dns_client.ask(reader, "web.service.kvorum", "A")[2] == ["10.0.0.3"],
                           "the instance that has gone")
        self.assertEqual(follower.end(), 0)

    def test_dns_survives_rubbish_and_says_what_it_cut(self):
        for i in range(60):
            self.put(f"{self.root}/services/web/n1.i{i}", '{"id":"i%d","name":"web","value":"10.0.1.%d:80"}' % (i, i))
        follower = self.follow("catalog", "dns", "--dns-address", "127.0.0.1:0", "--root", self.root)
        address = self.dns(follower)
        rng = random.Random(18)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            for _ in range(2000):
                udp.sendto(rng.randbytes(rng.randrange(600)), address)
        for _ in range(20):
            with socket.create_connection(address, timeout=30) as tcp:
                tcp.sendall(rng.randbytes(600))
        cluster.wait_until(lambda: dns_client.ask(address, "web.service.kvorum", "A")[2], "the catalog to be read")
        code, is_truncated, answers, _ = dns_client.ask(address, "web.service.kvorum", "A")
        self.assertEqual((code, is_truncated), (NOERROR, True))
        self.assertLess(len(answers), 60)
        answers = dns_client.ask(address, "web.service.kvorum", "A", dns_client.send_tcp)[2]
        self.assertEqual(len(set(answers)), 60)
        self.assertEqual(follower.end(), 0)

    def test_an_address_that_dns_cannot_take_ends_the_command(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            done = ctl.run(self.endpoint, "catalog", "dns", "--dns-address", address)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"Error: DNS cannot listen on {address}: Address already in use\n"))
        done = ctl.run(self.endpoint, "agent", "run", "--node", "n1", "--dns-address", "localhost:53")
        self.assertEqual(done.returncode, 128)


class AgentCommandsOnKvorumTest(agent_fixture.OnKvorum, AgentCommandsTest, unittest.TestCase):
    pass


class AgentCommandsOnEtcdTest(agent_fixture.OnEtcd, AgentCommandsTest, unittest.TestCase):
    pass


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    agent_fixture.main(sys.modules[__name__])
