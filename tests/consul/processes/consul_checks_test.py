#!/usr/bin/env python3
"""Checks of each kind that is registered over Consul's HTTP, against real servers: HTTP with redirects, UDP, the store's own
server for gRPC's health service and HTTP/2, and checks that stand for others, on this node and on another."""

import http.server
import pathlib
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402
from consul_fixture import wait_until  # noqa: E402


class Redirecting(http.server.BaseHTTPRequestHandler):
    """/old leads to /new, everything else is fine; the paths that were asked for are the server's."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers["User-Agent"]))
        self.send_response(302 if self.path == "/old" else 200)
        if self.path == "/old":
            self.send_header("Location", "new?from=old")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"fine")

    def log_message(self, *_):
        pass


class ConsulChecksTest(consul_fixture.ConsulCase):
    def check(self, definition, agent=None):
        (agent or self.agent).put("/v1/agent/check/register", {"Interval": "1s", "Timeout": "1s", **definition})

    def result(self, check, agent=None):
        about = (agent or self.agent).get("/v1/agent/checks")[check]
        return about["Status"], about["Output"]

    def wait_for(self, check, status, agent=None):
        wait_until(lambda: self.result(check, agent)[0] == status, f"{check} to be {status}")
        return self.result(check, agent)[1]

    def test_redirects_are_followed_unless_the_definition_says_otherwise(self):
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
        web.asked = []
        threading.Thread(target=web.serve_forever).start()
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        url = f"http://127.0.0.1:{web.server_port}/old"
        self.check({"Name": "follows", "HTTP": url})
        self.assertEqual(self.wait_for("follows", "passing"), f"HTTP GET {url}: 200 OK Output: fine")
        self.assertIn(("/new?from=old", "Consul Health Check"), web.asked)
        self.check({"Name": "stays", "HTTP": url, "DisableRedirects": True})
        wait_until(lambda: self.result("stays") == ("critical", f"HTTP GET {url}: 302 Found Output: fine"), "an answer")

    def test_a_datagram_that_is_refused_is_critical(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{udp.getsockname()[1]}"
            self.check({"Name": "udp", "UDP": address})
            self.assertEqual(self.wait_for("udp", "passing"), f"UDP connect {address}: Success")
            self.assertEqual(self.agent.get("/v1/agent/checks")["udp"]["Type"], "udp")
        self.assertEqual(self.wait_for("udp", "critical"), "Connection refused")

    def test_a_grpc_server_says_how_it_is(self):
        self.check({"Name": "store", "GRPC": self.endpoint})
        self.assertEqual(self.wait_for("store", "passing"), f"gRPC check {self.endpoint}: success")
        self.check({"Name": "ping", "H2PING": self.endpoint, "H2PingUseTLS": False})
        self.assertEqual(self.wait_for("ping", "passing"), "HTTP2 ping was successful")
        self.check({"Name": "none", "GRPC": f"{self.endpoint}/none"})
        wait_until(lambda: "code = NotFound" in self.result("none")[1], "the call's status")

    def test_an_alias_follows_what_it_stands_for(self):
        other = self.start("n2")
        other.put("/v1/agent/service/register", {
            "Name": "db", "Check": {"CheckID": "db-up", "TTL": "1h", "Status": "passing"}})
        self.agent.put("/v1/agent/service/register", {
            "Name": "web", "Check": {"CheckID": "web-up", "TTL": "1h", "Status": "passing"}})
        self.agent.put("/v1/agent/service/register", {"Name": "proxy", "Checks": [
            {"CheckID": "own", "AliasService": "web"},
            {"CheckID": "far", "AliasNode": "n2", "AliasService": "db"},
            {"CheckID": "node", "AliasNode": "n2"}]})
        for check in ("own", "far", "node"):
            self.assertEqual(self.wait_for(check, "passing"), "All checks passing.")
        self.agent.put("/v1/agent/check/warn/web-up?note=slow")
        self.assertEqual(self.wait_for("own", "warning"), "Aliased check \"Service 'web' check\" failing: slow")
        other.put("/v1/agent/check/fail/db-up?note=down")
        self.assertEqual(self.wait_for("far", "critical"), "Aliased check \"Service 'db' check\" failing: down")
        self.assertEqual(self.result("node")[0], "passing")
        other.kill()
        self.assertIn("Agent not live or unreachable", self.wait_for("node", "critical"))
        # The catalog has it too.
        wait_until(lambda: {check["CheckID"]: check["Status"] for check in self.agent.get("/v1/health/checks/proxy")} ==
                   {"own": "warning", "far": "critical", "node": "critical"}, "the catalog")

    def test_a_filter_takes_a_pattern(self):
        for name in ("web", "webhook", "db"):
            self.agent.put("/v1/agent/service/register", {"Name": name})
        self.assertEqual(sorted(self.agent.get("/v1/agent/services?filter=Service+matches+%22%5Eweb%22")), ["web", "webhook"])
        self.assertEqual(list(self.agent.get("/v1/agent/services?filter=Service+not+matches+%60%5Eweb%60")), ["db"])
        status, _, said = self.agent.call("GET", "/v1/agent/services?filter=Service+matches+%22(%22")
        self.assertEqual((status, b"error parsing regexp" in said), (400, True), said)


if __name__ == "__main__":
    consul_fixture.main()
