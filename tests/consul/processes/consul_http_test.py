#!/usr/bin/env python3
"""Consul's HTTP API of a real agent over real servers, by Python's own HTTP client: registrations, health, blocking
queries, KV, sessions, what a dead agent leaves, hostile requests."""

import base64
import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "sync" / "processes"))

import agent_fixture  # noqa: E402
import certificates  # noqa: E402
import client_path  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402

PATIENCE_S = 60


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        assert self.status == 200, (self.status, self.body)
        return json.loads(self.body)

    @property
    def index(self):
        return int(self.headers["X-Consul-Index"])

    @property
    def line(self):
        return f"{self.status} {self.body.decode()}"


class ConsulHttpTest(agent_fixture.AgentCase):
    """The tests; its heirs name a kind of server."""

    def serve(self, *flags, services=None, node="n1"):
        """An agent with the API, once it is in step; the API's address."""
        agent = self.start(services, "--http-address", "127.0.0.1:0", "--node-address", "10.1.0.1", *flags, node=node)
        address = agent.wait_for("http")["address"]
        agent.wait_for("synced")
        self.agent, self.address = agent, address
        if "--http-cert-file" not in flags:  # beside an etcd before 3.4.25 the API may be a moment behind
            cluster.wait_until(lambda: node in {known["Node"] for known in self.get("catalog/nodes").json}, "the node")
        return address

    def ask(self, method, path, body=None, address=None, token=None):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        request = urllib.request.Request(f"http://{address or self.address}/v1/{path}", body, method=method)
        if token:
            request.add_header("X-Consul-Token", token)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return Answer(refused.code, refused.headers, refused.read())

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def send(self, path, body=None, **more):
        return self.ask("PUT", path, body, **more)

    def blocked(self, path, index, wait="60s"):
        """A blocking query in a thread: its future answer."""
        sign = "&" if "?" in path else "?"
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        return pool.submit(self.get, f"{path}{sign}index={index}&wait={wait}")

    def timed(self, request):
        """The seconds that the request took, and its answer; a path alone is a GET."""
        begun = time.monotonic()
        method, _, path = request.rpartition(" ")
        answer = self.ask(method or "GET", path, b"{}" if method == "PUT" else None)
        return time.monotonic() - begun, answer

    def statuses(self, name, address=None):
        """{check id: status} of a service's first instance."""
        found = self.get(f"health/service/{name}", address=address).json
        return {check["CheckID"]: check["Status"] for check in found[0]["Checks"]} if found else None

    def test_a_service_is_registered_found_and_removed(self):
        self.serve()
        registered = self.send("agent/service/register", {
            "ID": "web-1", "Name": "web", "Tags": ["a"], "Port": 8080, "Meta": {"k": "v"},
            "Check": {"TTL": "60s"}})
        self.assertEqual(registered.line, "200 ")
        [found] = self.get("health/service/web").json
        self.assertEqual(found["Node"]["Node"], "n1")
        self.assertEqual(found["Node"]["Address"], "10.1.0.1")
        self.assertRegex(found["Node"]["ID"], "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertEqual((found["Service"]["ID"], found["Service"]["Port"], found["Service"]["Tags"]),
                         ("web-1", 8080, ["a"]))
        self.assertEqual(self.statuses("web"), {"serfHealth": "passing", "service:web-1": "critical"})
        self.assertEqual(self.get("health/service/web?passing").json, [])
        self.assertEqual(self.send("agent/check/pass/service:web-1").line, "200 ")
        cluster.wait_until(lambda: self.get("health/service/web?passing").json, "the check to pass")
        self.assertEqual(self.get("catalog/services").json, {"consul": [], "web": ["a"]})
        self.assertEqual(self.send("agent/service/deregister/web-1").line, "200 ")
        cluster.wait_until(lambda: self.get("catalog/service/web").json == [], "the service to go")

    def test_a_blocking_query_ends_with_its_change_and_no_other(self):
        self.serve()
        self.send("agent/service/register", {"Name": "web", "Check": {"TTL": "60s"}})
        self.send("agent/service/register", {"Name": "db"})
        cluster.wait_until(lambda: self.statuses("db") is not None, "both services")
        web = self.blocked("health/service/web", self.get("health/service/web").index)
        time.sleep(0.3)
        self.send("agent/service/register", {"Name": "db", "Port": 1})
        cluster.wait_until(lambda: self.get("catalog/service/db").json[0]["ServicePort"] == 1, "churn elsewhere")
        self.assertEqual(self.send("kv/elsewhere", b"1").line, "200 true")
        self.assertFalse(web.done())
        self.send("agent/check/pass/service:web")
        answer = web.result(PATIENCE_S)
        self.assertEqual({check["Status"] for check in answer.json[0]["Checks"]}, {"passing"})

    def test_a_wait_that_is_over_answers_what_is_there(self):
        self.serve()
        index = self.get("catalog/nodes").index
        begun = time.monotonic()
        answer = self.get(f"catalog/nodes?index={index}&wait=2s")
        self.assertGreaterEqual(time.monotonic() - begun, 2)
        self.assertEqual((answer.index, [node["Node"] for node in answer.json]), (index, ["n1"]))

    def test_keys_and_values(self):
        self.serve()
        missing = self.get("kv/app/a")
        self.assertEqual(missing.line, "404 ")
        self.assertGreaterEqual(missing.index, 1)
        waiting = self.blocked("kv/app/a", missing.index)
        self.assertEqual(self.send("kv/app/a", b"one").line, "200 true")
        [found] = waiting.result(PATIENCE_S).json
        self.assertEqual((found["Key"], found["Value"]), ("app/a", "b25l"))
        self.assertEqual(self.get("kv/app/a?raw").body, b"one")
        self.assertEqual(self.send("kv/app/a?cas=0", b"two").line, "200 false")
        self.assertEqual(self.send(f"kv/app/a?cas={found['ModifyIndex']}", b"two").line, "200 true")
        self.send("kv/app/b/c", b"x")
        self.assertEqual(self.get("kv/app/?keys").json, ["app/a", "app/b/c"])
        self.assertEqual(self.get("kv/app/?keys&separator=/").json, ["app/a", "app/b/"])
        self.assertEqual(self.ask("DELETE", "kv/app/?recurse").line, "200 true")
        self.assertEqual(self.get("kv/app/?recurse").status, 404)

    def test_a_lock_is_one_sessions(self):
        self.serve()
        first = self.send("session/create", {"Name": "a", "TTL": "10s"}).json["ID"]
        second = self.send("session/create", {"LockDelay": 0.001}).json["ID"]
        self.assertEqual(self.send(f"kv/lock?acquire={first}", b"a").line, "200 true")
        self.assertEqual(self.send(f"kv/lock?acquire={second}", b"b").line, "200 false")
        self.assertEqual(self.get("kv/lock").json[0]["Session"], first)
        self.assertEqual(self.send(f"kv/lock?release={first}", b"a").line, "200 true")
        self.assertEqual(self.send(f"kv/lock?acquire={second}", b"b").line, "200 true")
        self.assertEqual({each["ID"] for each in self.get("session/list").json}, {first, second})
        self.assertEqual(self.send(f"session/destroy/{second}").line, "200 true")
        cluster.wait_until(lambda: "Session" not in self.get("kv/lock").json[0], "the lock to be free")

    def test_a_dead_agents_services_stay_and_are_critical(self):
        self.serve(node="n1")
        survivor = self.address
        self.serve(node="n2")
        self.send("agent/service/register", {"Name": "web"})
        cluster.wait_until(lambda: self.statuses("web", survivor), "the service at the other agent")
        waiting = self.get("health/service/web", address=survivor)
        self.address = survivor
        blocked = self.blocked("health/service/web", waiting.index)
        self.agent.process.kill()
        [left] = blocked.result(PATIENCE_S).json
        self.assertEqual([check["Status"] for check in left["Checks"]], ["critical"])
        self.assertEqual(left["Checks"][0]["Output"], "Agent not live or unreachable")
        self.assertEqual(self.get("health/service/web?passing").json, [])
        self.assertEqual({node["Node"] for node in self.get("catalog/nodes").json}, {"n1", "n2"})
        # It comes back without the service, and its list is the truth.
        self.start(None, "--http-address", "127.0.0.1:0", node="n2")
        cluster.wait_until(lambda: self.get("catalog/service/web").json == [], "the agent without services")

    def test_a_dead_nodes_records_go_after_their_time(self):
        reaped = ("--reap-after", "5s")
        self.serve(*reaped, node="n1")
        survivor = self.address
        self.send("agent/service/register", {"Name": "db"})
        self.serve(*reaped, node="n2")
        self.send("agent/service/register", {"Name": "web"})
        cluster.wait_until(lambda: self.statuses("web", survivor), "the service at the other agent")
        self.agent.process.kill()
        self.address = survivor
        cluster.wait_until(lambda: self.statuses("web") == {"serfHealth": "critical"}, "the death")
        dead = time.monotonic()
        cluster.wait_until(lambda: self.get("catalog/service/web").json == [], "the records to go", PATIENCE_S)
        self.assertGreater(time.monotonic() - dead, 3, "they were kept for their time")
        self.assertEqual([node["Node"] for node in self.get("catalog/nodes").json], ["n1"])
        self.assertEqual(self.statuses("db"), {"serfHealth": "passing"})
        kept = [key for key in self.keys() if "n2" in key.split("/") and not key.startswith("/registry-")]
        self.assertEqual(kept, [])

    def test_keys_stand_below_the_root_that_is_given(self):
        place = f"{self.root}-elsewhere"
        self.serve("--http-kv-root", place)
        self.assertEqual(self.send("kv/app/a?flags=7", b"one").line, "200 true")
        self.put(f"{place}/app/b", "two")
        self.put(f"{self.root}/kv/app/c", "not below it")
        cluster.wait_until(lambda: self.get("kv/app/?keys").json == ["app/a", "app/b"], "both keys")
        self.assertEqual(self.get("kv/app/b?raw").body, b"two")
        self.assertEqual(self.get("kv/app/a").json[0]["Flags"], 7)
        encoded = base64.b64encode(f"{place}/app/a".encode()).decode()
        [kept] = self.call("kv/range", key=encoded)["kvs"]
        self.assertEqual(base64.b64decode(kept["value"]), b"one")
        self.assertEqual(self.ask("DELETE", "kv/?recurse").line, "200 true")
        self.assertEqual(self.get("kv/app/?keys").status, 404)
        self.assertIn("/kv/app/c", self.keys())

    def test_external_nodes_are_nobodys(self):
        self.serve()
        registration = {"Node": "ext", "Address": "192.168.1.1", "Service": {"Service": "search", "Port": 80},
                        "Check": {"Name": "ping", "Status": "passing"}}
        self.assertEqual(self.send("catalog/register", registration).line, "200 true")
        index = self.get("catalog/service/search").index
        self.assertEqual(self.send("catalog/register", registration).line, "200 true")
        self.assertEqual(self.get("catalog/service/search").index, index)
        self.assertEqual(self.statuses("search"), {"ping": "passing"})
        self.assertEqual(self.send("catalog/deregister", {"Node": "ext"}).line, "200 true")
        self.assertEqual(self.get("catalog/node/ext").json, None)
        self.assertEqual(self.send("catalog/register", {"Node": "../x", "Address": "a"}).line, "200 true")
        self.assertEqual(self.get("catalog/node/" + urllib.parse.quote("../x", safe="")).json["Node"]["Node"], "../x")

    def test_headers_errors_and_what_is_refused(self):
        self.serve()
        answer = self.get("catalog/services?pretty")
        self.assertEqual(answer.headers["X-Consul-Knownleader"], "true")
        self.assertEqual(answer.headers["X-Consul-Lastcontact"], "0")
        self.assertEqual(answer.headers["X-Consul-Effective-Consistency"], "leader")
        self.assertEqual(answer.headers["X-Consul-Default-Acl-Policy"], "allow")
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.body, b'{\n    "consul": []\n}\n')
        self.assertEqual(self.get("catalog/nodes?dc=other").line, "500 No path to datacenter")
        self.assertEqual(self.get("catalog/nodes?index=x").line, "400 Invalid index")
        self.assertEqual(self.ask("POST", "catalog/nodes", b"").status, 405)
        self.assertEqual(self.get("event/list").status, 501)
        self.assertEqual(self.get("acl/tokens").line, "401 ACL support disabled")
        self.assertEqual(self.get("nothing").status, 404)
        self.assertRegex(self.get("status/leader").json, r"^127\.0\.0\.1:8300$")
        self.assertEqual(len(self.get("status/peers").json), 1)
        self.assertEqual(self.get("agent/self").json["Config"]["Datacenter"], "dc1")
        self.assertEqual(self.get("coordinate/nodes").json, [])
        self.assertEqual(self.send("kv/large", b"x" * 600_000).line,
                         "413 Request body(600000 bytes) too large, max size: 524288 bytes. See docs/consul.md.")

    def test_a_body_that_is_too_large_is_refused_by_its_head_in_the_routes_words(self):
        self.serve()
        for path, most in (("kv/a", 524_288), ("txn", 1_048_576), ("catalog/register", 524_288),
                           ("agent/service/register", 524_288)):
            for framing, size in (("Content-Length: 5000000000", "(5000000000 bytes)"),
                                  ("Transfer-Encoding: chunked", "")):
                with self.connect() as connection:
                    connection.sendall(f"PUT /v1/{path} HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode())
                    if not size:
                        connection.sendall(b"200001\r\n" + b"x" * 0x200001)
                    with connection.makefile("rb") as answer:
                        head, text = answer.read().decode().split("\r\n\r\n")
                self.assertTrue(head.startswith("HTTP/1.1 413 "), head)
                self.assertEqual(text, f"Request body{size} too large, max size: {most} bytes. See docs/consul.md.")

    def test_an_agent_that_only_reads_writes_nothing(self):
        self.serve("--http-read-only")
        for method, path in (("PUT", "kv/a"), ("DELETE", "kv/a"), ("PUT", "agent/service/register"),
                             ("PUT", "catalog/register"), ("PUT", "session/create"), ("PUT", "txn")):
            self.assertEqual(self.ask(method, path, b"{}").status, 403, path)
        self.assertEqual(self.get("catalog/nodes").status, 200)
        written = [key for key in self.keys() if key.startswith(("/kv", "/registry/service", "/registry/session"))]
        self.assertEqual(written, [])

    def test_without_a_store_only_stale_reads_are_answered(self):
        # A server of its own, which is stopped for a while.
        with server.Server().start() as node:
            self.endpoint = f"127.0.0.1:{node.port}"
            self.serve()
            index = self.get("catalog/nodes").index
            cluster.stop_all_threads(node.process.pid)
            try:
                # Consul holds a request back for 7 s, and a blocking one until its wait with the jitter is over.
                # Without that the time-outs of the store's calls would end them, of 10 s and more.
                reads = {"catalog/nodes": (10, 500), "catalog/nodes?consistent": (10, 500), "kv/a": (10, 500),
                         "kv/a?stale": (10, 500), "kv/a?index=1&wait=4s": (10, 500), "session/list": (10, 500),
                         f"catalog/nodes?index={index}&wait=4s": (14, 500), "status/leader": (10, 200),
                         # A write is over with the time-outs of its calls: up to three, of 10 s each.
                         "PUT kv/a": (40, 500), "PUT kv/a?cas=0": (40, 500), "DELETE kv/a": (40, 500),
                         "DELETE kv/?recurse": (40, 500), "PUT session/create": (40, 500),
                         "catalog/nodes?stale": (2, 200), "health/state/any?stale": (2, 200)}
                with concurrent.futures.ThreadPoolExecutor(len(reads)) as pool:
                    ends = dict(zip(reads, pool.map(self.timed, reads), strict=True))
                for read, (limit, status) in reads.items():
                    seconds, answer = ends[read]
                    self.assertEqual(answer.status, status, read)
                    self.assertLess(seconds, limit, read)
                    if status == 500:
                        self.assertEqual(answer.body, b"No cluster leader", read)
                stale = self.get("catalog/nodes?stale")
                self.assertEqual((stale.status, stale.headers["X-Consul-Knownleader"]), (200, "false"))
                self.assertGreater(int(stale.headers["X-Consul-Lastcontact"]), 1000)
            finally:
                os.kill(node.process.pid, signal.SIGCONT)
            cluster.wait_until(lambda: self.get("catalog/nodes").status == 200, "the store to answer again")
            self.agent.process.terminate()
            # It may have warned of the store, which was away for longer than a connection lives.
            self.assertEqual(agent_fixture.LongRun.wait(self.agent)[0], 0)

    def test_many_wait_and_one_change_wakes_whom_it_concerns(self):
        self.serve("--http-max-conns-per-client", "0")
        for name in ("web", "db"):
            self.send("agent/service/register", {"Name": name, "Check": {"TTL": "60s"}})
        cluster.wait_until(lambda: self.statuses("db"), "both services")
        index = self.get("catalog/service/db").index
        before = self.resident_kib()
        waiting = [self.raw(f"/v1/health/service/{name}?index={index}&wait=60s")
                   for name in ["web"] * 20 + ["db"] * 980]
        self.addCleanup(lambda: [each.close() for each in waiting])
        time.sleep(1)
        grown = (self.resident_kib() - before) / len(waiting)
        self.send("agent/check/pass/service:web")
        for each in waiting[:20]:
            each.settimeout(PATIENCE_S)
            self.assertTrue(each.recv(100).startswith(b"HTTP/1.1 200 "))
        time.sleep(0.2)
        for each in waiting[20:]:
            each.setblocking(False)
            with self.assertRaises(BlockingIOError):
                each.recv(100)
        print(f"a waiting query costs {grown:.1f} KiB", flush=True)
        self.assertLess(grown, 8)
        self.assertEqual(self.get("status/leader").status, 200)

    def test_one_client_has_so_many_connections_and_no_more(self):
        self.serve("--http-max-conns-per-client", "20")
        index = self.get("catalog/nodes").index
        held = []

        def hold():
            """Connects until refused; the answer of the last one."""
            while True:
                connection = self.raw(f"/v1/catalog/nodes?index={index}&wait=60s")
                connection.settimeout(0.2)
                try:
                    with connection.makefile("rb") as answer:
                        return answer.read().decode()
                except TimeoutError:
                    held.append(connection)

        self.addCleanup(lambda: [each.close() for each in held])
        text = "Your IP is issuing too many concurrent connections, please rate limit your calls\n"
        refused = (f"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
                   f"Connection: close\r\n\r\n{text}")
        # A connection that has just been closed may still count.
        cluster.wait_until(lambda: hold() == refused and len(held) == 20, "20 connections and no more")
        self.assertEqual(self.get("catalog/nodes").line, f"429 {text}")
        for _ in range(5):
            held.pop().close()
        cluster.wait_until(lambda: self.get("catalog/nodes").status == 200, "a place for others")
        cluster.wait_until(lambda: hold() == refused and len(held) == 20, "20 connections again")

    def resident_kib(self):
        # The agent is the child of no shell: setpriv has become it.
        with open(f"/proc/{self.agent.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def connect(self):
        host, port = self.address.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=PATIENCE_S)

    def raw(self, target):
        """A connection with a request for the target, whose answer nobody has read."""
        connection = self.connect()
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return connection

    def test_hostile_requests_end_and_the_agent_goes_on(self):
        self.serve()
        for bytes_sent in (b"\x00" * 100, b"GET\r\n\r\n", b"GET /v1/kv/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
                           b"GET /v1/kv/" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                           b"PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
                           b"PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                           b"PUT /v1/catalog/register HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n"
                           + b"[" * 50_000,
                           b"GET /v1/kv/\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
                           b"GET //v1//kv/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"):
            with self.connect() as connection:
                connection.sendall(bytes_sent)
                answer = connection.recv(4096)
                self.assertRegex(answer[:13] or b"HTTP/1.1 400 ", rb"^HTTP/1.1 (4|500|301)")
        # A client that leaves while it waits.
        for _ in range(50):
            self.raw(f"/v1/catalog/nodes?index={self.get('catalog/nodes').index}").close()
        self.assertEqual(self.get("catalog/nodes").status, 200)
        self.assertEqual(self.agent.end(), 0)

    def test_tls_and_clients_with_certificates(self):
        authority = certificates.Authority()
        files, client = (certificates.Files(self.path(name)).take(authority.issue(name)).trust(authority)
                         for name in ("server", "client"))
        self.serve("--http-cert-file", files.certificate, "--http-key-file", files.key,
                   "--http-trusted-ca-file", files.authorities)
        context = ssl.create_default_context(cafile=files.authorities)
        with self.assertRaises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
            urllib.request.urlopen(f"https://{self.address}/v1/catalog/nodes", timeout=PATIENCE_S, context=context)
        context.load_cert_chain(client.certificate, client.key)
        with urllib.request.urlopen(f"https://{self.address}/v1/catalog/nodes", timeout=PATIENCE_S,
                                    context=context) as answer:
            self.assertEqual([node["Node"] for node in json.load(answer)], ["n1"])

    def test_flags_that_need_each_other_and_addresses_that_are_none(self):
        for flags, why in ((("--http-cert-file", "x"), "need each other"),
                           (("--http-trusted-ca-file", "x"), "needs --http-cert-file"),
                           (("--http-address", "nonsense"), "HOST:PORT"),
                           (("--http-max-conns-per-client", "16385"), "is more than 16384"),
                           (("--node-id", "x"), "is not a UUID"),
                           (("--node-meta", "x"), "is not KEY=VALUE")):
            done = ctl.run(self.endpoint, "agent", "run", "--root", self.root, "--node", "n1", *flags)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)

    def test_the_end_answers_who_waits(self):
        self.serve()
        blocked = self.blocked("catalog/nodes", self.get("catalog/nodes").index)
        time.sleep(0.5)
        begun = time.monotonic()
        self.assertEqual(self.agent.end(), 0)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(blocked.result(PATIENCE_S).status, 200)


class ConsulHttpOnKvorumTest(agent_fixture.OnKvorum, ConsulHttpTest, unittest.TestCase):
    READS = ("kv/a", "kv/?keys", "health/service/web", "catalog/service/web", "catalog/nodes", "catalog/services",
             "health/state/any", "session/list")
    CHANGED = READS[:4]  # by what the snapshot lacks

    def test_indices_fall_by_a_restored_snapshot_alone(self):
        node = server.Server()
        self.addCleanup(node.close)
        node.start()
        path = client_path.Path(node.port)
        self.addCleanup(path.close)
        self.endpoint = path.endpoint
        self.serve()

        def change(number):
            self.assertEqual(self.send("kv/a", b"%d" % number).line, "200 true")
            self.assertEqual(self.send("agent/service/register", {"Name": "web", "Port": number}).line, "200 ")

        def wait_for(number):
            cluster.wait_until(lambda: [found["ServicePort"] for found in self.get("catalog/service/web").json] == [number],
                               "the service's port")

        def restart(*more):
            node.stop()
            node.start(*more)
            path.target = node.port
            cluster.wait_until(lambda: self.get("catalog/nodes").status == 200, "the store to answer")

        change(1)
        wait_for(1)
        file = self.path("snapshot")
        ctl.succeed(node.endpoint, "snapshot", "save", file)
        last = dict.fromkeys(self.READS, 0)

        def none_has_fallen():
            for read in self.READS:
                index = self.get(read).index
                self.assertGreaterEqual(index, last[read], read)
                last[read] = index

        none_has_fallen()
        for number in range(2, 40):
            change(number)
        none_has_fallen()
        ctl.succeed(node.endpoint, "compaction", str(self.get("kv/a").index))
        none_has_fallen()
        restart()
        none_has_fallen()
        wait_for(39)
        waiting = [self.blocked(read, last[read]) for read in ("kv/a", "health/service/web")]
        time.sleep(0.5)
        self.assertFalse(any(each.done() for each in waiting))
        node.stop()
        node.data_dir = self.path("restored")
        subprocess.run([server.BINARY + "utl", "snapshot", "restore", file, "--data-dir", node.data_dir],
                       check=True, capture_output=True, timeout=PATIENCE_S)
        node.start()
        path.target = node.port
        cluster.wait_until(lambda: self.get("kv/a?raw").body == b"1", "the restored value")
        for each in waiting:
            self.assertEqual(each.result(20).status, 200, "it was answered long before its wait is over")
        for read in self.READS:
            answer = self.get(read)
            self.assertEqual(answer.status, 200, read)
            self.assertGreaterEqual(answer.index, 1)
            if read in self.CHANGED:
                self.assertLess(answer.index, last[read], read)
        # Changes wake those who wait, as before.
        blocked = self.blocked("kv/a", self.get("kv/a").index)
        change(40)
        wait_for(40)
        self.assertEqual(base64.b64decode(blocked.result(PATIENCE_S).json[0]["Value"]), b"40")


class ConsulHttpOnEtcdTest(agent_fixture.OnEtcd, ConsulHttpTest, unittest.TestCase):
    pass


if __name__ == "__main__":
    agent_fixture.main(sys.modules[__name__])
