#!/usr/bin/env python3
"""The agent's own routes over real servers: rights of tokens, nodes that others remove, long outputs, and requests that are
odd or hostile. Beside kvorum and the packaged etcd."""

import concurrent.futures
import json
import pathlib
import socket
import sys
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "sync" / "processes"))

import consul_fixture  # noqa: E402
import ctl  # noqa: E402
import long_run  # noqa: E402
from consul_fixture import wait_until  # noqa: E402

DENIED = (403, "Permission denied: the token may not write this entry to the catalog")
REGISTER = "/v1/agent/service/register"


class AgentRoutes:
    """The tests; its heirs name a kind of server."""

    def send(self, path, body=None, token=None, method="PUT", agent=None):
        """(status, text)"""
        headers = {"X-Consul-Token": token} if token else {}
        data = b"" if body is None else body
        status, _, said = (agent or self.agent).call(method, path, data, headers)
        return status, said.decode(errors="replace")

    def services(self):
        return self.agent.get("/v1/agent/services")

    def everything(self):
        return self.services(), self.agent.get("/v1/agent/checks")

    def raw(self, request, ends=False):
        """What is answered to these bytes until the connection ends."""
        said = b""
        with socket.create_connection((self.agent.host, self.agent.port), timeout=consul_fixture.WAIT_S) as connection:
            try:
                connection.sendall(request)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
                while some := connection.recv(65536):
                    said += some
            except ConnectionError:  # it did not read to the end
                pass
        return said

    def test_a_dead_nodes_records_go_by_force_and_a_living_ones_stay(self):
        dead = self.start("dead")
        self.assertEqual(self.send(REGISTER, {"Name": "web"}, agent=dead), (200, ""))
        self.start("alive").put(REGISTER, {"Name": "db"})
        self.agent.put("/v1/catalog/register", {"Node": "far", "Address": "a"})
        wait_until(lambda: len(self.agent.get("/v1/catalog/nodes")) == 4, "all nodes")
        for node in ("none", "far", "a%2Fb", "..%2Fx"):
            name = urllib.parse.unquote(node)
            self.assertEqual(self.send(f"/v1/agent/force-leave/{node}"),
                             (500, f"agent: No node found with name '{name}'"))
        index = self.agent.call("GET", "/v1/catalog/nodes")[1]["X-Consul-Index"]
        for node in ("alive", "n1", "dead"):
            self.assertEqual(self.send(f"/v1/agent/force-leave/{node}"), (200, ""))
        self.assertEqual(self.agent.call("GET", "/v1/catalog/nodes")[1]["X-Consul-Index"], index)
        dead.kill()
        wait_until(lambda: [check["Status"] for check in self.agent.get("/v1/health/node/dead")] == ["critical"],
                   "the death")
        self.assertEqual(self.send("/v1/agent/force-leave/dead"), (200, ""))
        wait_until(lambda: self.agent.get("/v1/catalog/service/web") == [], "the services to go")
        self.assertEqual(sorted(node["Node"] for node in self.agent.get("/v1/catalog/nodes")), ["alive", "far", "n1"])

    def test_what_others_deregister_of_an_agent_is_back_soon(self):
        other = self.start("other")
        self.agent.put(REGISTER, {"Name": "web", "Check": {"TTL": "60s", "Status": "passing"}})
        healthy = "/v1/health/service/web?passing"
        wait_until(lambda: other.get(healthy), "the service")
        self.assertIs(other.put("/v1/catalog/deregister", {"Node": "n1"}), True)
        wait_until(lambda: other.get(healthy), "the node and its service")
        self.assertIs(other.put("/v1/catalog/deregister", {"Node": "n1", "ServiceID": "web"}), True)
        wait_until(lambda: other.get(healthy), "the service again")

    def test_tags_that_others_give_stay(self):
        for name, free in (("free", True), ("own", False)):
            self.agent.put(REGISTER, {"Name": name, "Tags": ["a"], "Port": 1, "EnableTagOverride": free,
                                      "Check": {"TTL": "60s"}})
        for name in ("free", "own"):
            self.agent.put("/v1/catalog/register", {
                "Node": "n1", "SkipNodeUpdate": True,
                "Service": {"ID": name, "Service": name, "Tags": ["b", "c"], "Port": 2, "EnableTagOverride": name == "free"}})
        wait_until(lambda: self.services()["free"]["Tags"] == ["b", "c"], "the tags at the agent")
        self.agent.put("/v1/agent/check/pass/service:free")

        def listed(name):
            [found] = self.agent.get(f"/v1/health/service/{name}")
            return found["Service"]["Tags"], found["Service"]["Port"]
        wait_until(lambda: self.agent.get("/v1/health/service/free?passing"), "the check")
        self.assertEqual(listed("free"), (["b", "c"], 1))
        wait_until(lambda: listed("own") == (["a"], 1), "the agent's own tags")

    def test_a_long_output_is_cut_and_a_longer_body_refused(self):
        self.agent.put("/v1/agent/check/register", {"Name": "t", "TTL": "60s"})
        update = "/v1/agent/check/update/t"
        for size in (4097, 600_000, 1 << 20):
            self.assertEqual(self.send(update, {"Status": "passing", "Output": "x" * size}), (200, ""))
            self.assertEqual(self.agent.get("/v1/agent/checks")["t"]["Output"],
                             "x" * 4096 + f" ... (captured 4096 of {size} bytes)")
        for size in ((1 << 20) + 5000, 1_900_000):
            self.assertEqual(self.send(update, {"Status": "warning", "Output": "x" * size})[0], 413)
        self.assertEqual(self.agent.get("/v1/agent/checks")["t"]["Status"], "passing")
        self.assertEqual(self.send("/v1/agent/check/register", {"Name": "x" * 600_000, "TTL": "60s"})[0], 413)

    def test_odd_bodies_of_a_registration(self):
        """Each is taken or refused with the API's words, and what is refused changes nothing."""
        taken = (
            b'{"name":"web","NAME":"web","port":80}',
            b'{"Name":"web","Port":0,"Tags":null,"Meta":null,"Check":null,"Checks":null,"Weights":null}',
            b'{"Name":"web","Check":{}}',
            b' \r\n\t{"Name":"web"}\n ',
            '{"Name":"w\u00e9b \u2603","ID":"\u2603"}'.encode(),
            b'{"Name":"web","Unknown":{"a":[1,2,{"b":null}]}}',
            b'{"Name":"web","Tags":[null,"a"]}',
            b'{"Name":"../../x","ID":"../y"}',
            b'{"Name":"web","Port":65535,"Weights":{"Passing":65535,"Warning":0}}',
        )
        for body in taken:
            self.assertEqual(self.send(REGISTER, body), (200, ""), body)
        refused = {
            b"": "Request decode failed: EOF",
            b"null": "Missing service name",
            b"{}": "Missing service name",
            b'{"Name":""}': "Missing service name",
            b'{"Name":null}': "Missing service name",
            b"[]": "Request decode failed: json: cannot unmarshal array",
            b'"web"': "Request decode failed: json: cannot unmarshal string",
            b'{"Name":"x"': "Request decode failed: ",
            b'{"Name":"x",}': "Request decode failed: ",
            b"{'Name':'x'}": "Request decode failed: ",
            b'{"Name":"\xff"}': "Request decode failed: ",
            b'{"Name":"\\ud800"}': "Request decode failed: ",
            b'{"Name":7}': "Request decode failed: json: cannot unmarshal number",
            b'{"Name":"x","Port":"80"}': "Request decode failed: json: cannot unmarshal string",
            b'{"Name":"x","Port":1.5}': "Request decode failed: json: cannot unmarshal number",
            b'{"Name":"x","Port":1e99}': "Request decode failed: json: cannot unmarshal number",
            b'{"Name":"x","Port":99999999999}': "Request decode failed: json: cannot unmarshal number",
            b'{"Name":"x","Tags":"a"}': "Request decode failed: json: cannot unmarshal string",
            b'{"Name":"x","Meta":{"a":1}}': "Request decode failed: json: cannot unmarshal number",
            b'{"Name":"x","Meta":{"a b":"1"}}': "Invalid Service Meta: Couldn't load metadata pair ('a b', '1'): Key contains",
            b'{"Name":"x","Meta":{"":"1"}}': "Invalid Service Meta: ",
            json.dumps({"Name": "x", "Meta": {f"k{n}": "" for n in range(65)}}).encode(): "Invalid Service Meta: Node metadata",
            b'{"Name":"x","Weights":{"Passing":0}}': "Invalid Weights: Passing must be greater than 0",
            b'{"Name":"x","Weights":{"Passing":1,"Warning":-1}}': "Invalid Weights: Warning must be",
            b'{"Name":"x","Weights":{"Passing":65536}}': "Invalid Weights: DNS Weight must be",
            b'{"Name":"x","Address":"0.0.0.0"}': "Invalid service address",
            b'{"Name":"x","Address":"::"}': "Invalid service address",
            b'{"Name":"x","Kind":"connect-proxy"}': "Validation failed: services of kind 'connect-proxy' are not supported",
            b'{"Name":"x","Connect":{"SidecarService":{}}}': "Invalid SidecarService: ",
            b'{"Name":"x","Check":{"TTL":"0s"}}': "Invalid check: TTL must be > 0",
            b'{"Name":"x","Check":{"TTL":"-5s"}}': "Invalid check: TTL must be > 0",
            b'{"Name":"x","Check":{"TTL":""}}': "Request decode failed: ",
            b'{"Name":"x","Check":{"TTL":"1e400h"}}': "Request decode failed: ",
            b'{"Name":"x","Check":{"TTL":"9999999999h"}}': "Request decode failed: ",
            b'{"Name":"x","Check":{"TTL":"5"}}': "Request decode failed: ",
            b'{"Name":"x","Check":{"TTL":"1s","Interval":"1s"}}': "Invalid check: Interval and TTL cannot both be specified",
            b'{"Name":"x","Check":{"HTTP":"http://a"}}': "Invalid check: Interval must be > 0",
            b'{"Name":"x","Check":{"HTTP":"ftp://a","Interval":"1s"}}': "",
            b'{"Name":"x","Check":{"HTTP":"http://a\\r\\nX: y","Interval":"1s"}}': "",
            b'{"Name":"x","Check":{"HTTP":"http://a","Interval":"1s","Header":{"A":["b\\nC: d"]}}}': "",
            b'{"Name":"x","Check":{"Args":["/bin/true"],"Interval":"1s"}}': "Scripts are disabled on this agent",
            b'{"Name":"x","Check":{"TTL":"1s","Status":"fine"}}': "Status for checks must 'passing', 'warning', 'critical'",
            b'{"Name":"x","Check":{"TTL":"1s","CheckID":"serfHealth"}}': "Invalid check: ",
            b'{"Name":"x","Check":{"TTL":"1s","CheckID":"a\\u0001"}}': "Invalid check: CheckID: the id has a control character",
            b'{"Name":"x","ID":"\\u007f"}': "Validation failed: the id has a control character",
            json.dumps({"Name": "x" * 300}).encode(): "Validation failed: ",
            json.dumps({"Name": "x", "ID": "/" * 100}).encode(): "Validation failed: ",
            json.dumps({"Name": "x", "Checks": [{"TTL": "9s"}] * 65}).encode(): "Validation failed: ",
            json.dumps({"Name": "x", "Tags": ["y" * 300_000]}).encode(): "Validation failed: ",
            b"[" * 200_000: "Request decode failed: ",
            b'{"a":' * 50_000: "Request decode failed: ",
            b"{" + b",".join(b'"k%d":1' % n for n in range(600)) + b"}": "Request decode failed: ",
        }
        before = self.everything()
        for body, words in refused.items():
            status, text = self.send(REGISTER, body)
            self.assertEqual((status, text[:len(words)]), (400, words), (body[:200], text[:300]))
        self.assertEqual(self.everything(), before)
        for service in list(self.services()):
            path = urllib.parse.quote(service, safe="")
            self.assertEqual(self.send(f"/v1/agent/service/deregister/{path}"), (200, ""), service)
        self.assertEqual(self.services(), {})

    def test_odd_targets_and_methods(self):
        self.agent.put(REGISTER, {"Name": "web", "Check": {"TTL": "60s"}})
        check = "/v1/agent/check"
        unknown = "Unknown check ID"
        expected = (
            (f"{check}/pass/service:web?note=%00%ff%0a", 200, ""),
            (f"{check}/pass/service:web?note=a&note=b", 200, ""),
            (f"{check}/pass/service%3Aweb", 200, ""),
            (f"{check}/pass/", 404, unknown),
            (f"{check}/pass/service:web/", 404, unknown),
            (f"{check}/pass//service:web", 404, unknown),
            (f"{check}/pass/%2e%2e%2fservice:web", 404, unknown),
            (f"{check}/pass/{'x' * 4000}", 404, unknown),
            (f"{check}/pass/a%01", 400, "Bad Request"),
            (f"{check}/pass/%zz", 400, "Bad Request"),
            (f"{check}/pass/%ff", 400, "Bad Request"),
            (f"{check}/pass/service:web?note=%zz", 500, ""),
            (f"{check}/update/service:web", 400, "Request decode failed: EOF"),
            ("/v1/agent/service/deregister/", 404, "Unknown service ID"),
            ("/v1/agent/service/maintenance/", 400, "Missing service ID"),
            ("/v1/agent/service/maintenance/web", 400, "Missing value for enable"),
            ("/v1/agent/service/maintenance/web?enable=yes", 400, "Invalid value for enable"),
            ("/v1/agent/service/maintenance/web?enable=T&enable=no&reason=" + "r" * 20_000, 200, ""),
            ("/v1/agent/maintenance?enable=", 400, "Missing value for enable"),
            ("/v1/agent/force-leave/", 400, "Missing node name"),
            ("/v1/agent/nothing", 404, ""),
            ("/v1/agent", 404, ""),
        )
        for path, status, words in expected:
            got, text = self.send(path)
            self.assertEqual((got, text[:len(words)]), (status, words), (path[:100], text[:200]))
        for method in ("GET", "POST", "DELETE", "PATCH"):
            status, headers, _ = self.agent.call(method, REGISTER, b'{"Name":"x"}')
            self.assertEqual((status, headers["Allow"]), (405, "OPTIONS,PUT"), method)
        self.assertEqual(self.send("/v1/agent/services", b"{}")[0], 405)
        self.assertEqual(list(self.services()), ["web"])
        self.assertEqual(self.agent.get("/v1/agent/checks")["service:web"]["Output"], "")

    def test_odd_requests_as_bytes(self):
        body = b'{"Name":"web"}'
        head = f"PUT {REGISTER} HTTP/1.1\r\nHost: x\r\n".encode()
        length = f"Content-Length: {len(body)}\r\n".encode()
        ok = (head + length + b"\r\n" + body) * 2 + head + b"Connection: close\r\n" + length + b"\r\n" + body
        self.assertEqual(self.raw(ok).count(b"HTTP/1.1 200 "), 3)
        chunked = head + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunked += b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
        self.assertIn(b"HTTP/1.1 200 ", self.raw(chunked))
        self.assertEqual(self.send("/v1/agent/service/deregister/web"), (200, ""))
        for request in (
                head + length + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + body,
                head + length + length.replace(b"14", b"15") + b"\r\n" + body + b"x",
                head + b"Content-Length: -1\r\n\r\n" + body,
                head + b"Content-Length: 99999999999999999999\r\n\r\n" + body,
                head + b"Transfer-Encoding: gzip\r\n\r\n" + body,
                head + b"X: " + b"y" * 2_000_000 + b"\r\n\r\n",
                b"PUT " + b"/" * 2_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                head + b"X y\r\n\r\n",
                b"\x00" * 1000,
                b"PUT /v1/agent/service/register HTTP/9.9\r\n\r\n"):
            answer = self.raw(request)
            self.assertNotIn(b" 200 ", answer[:20], (request[:100], answer[:100]))
        # A body that is cut off registers nothing.
        self.assertNotIn(b" 200 ", self.raw(head + length + b"\r\n" + body[:-1], ends=True))
        self.assertEqual(self.services(), {})

    def test_many_at_once_change_one_service_and_the_catalog_agrees(self):
        def change(number):
            if number % 3:
                return self.send(REGISTER, {"Name": "web", "Port": number, "Check": {"TTL": "60s"}})
            return self.send("/v1/agent/service/deregister/web")

        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(change, range(240)))
        for status, text in answers:
            self.assertIn((status, text[:18]), ((200, ""), (404, "Unknown service ID")))
        self.agent.put(REGISTER, {"Name": "last", "Port": 7})
        ports = {service["Port"] for service in self.services().values()}
        wait_until(lambda: {listed["Port"] for listed in self.agent.get("/v1/catalog/node/n1")["Services"].values()}
                   == ports, "the same in the catalog")


class AgentRoutesOnKvorum(AgentRoutes, consul_fixture.ConsulCase):
    pass


@unittest.skipUnless(ctl.etcd_is_here(), "there is no etcd of this version")
class AgentRoutesOnEtcd(AgentRoutes, long_run.OnEtcd, consul_fixture.ConsulCase):
    """The base class that serves comes before the one that starts a kvorum."""


class Rights:
    """Users who may not all write. The store is theirs alone, as its users stay."""

    root = "/r"

    def start_secured(self, endpoint):
        self.endpoint = endpoint

        def admin(*arguments):
            ctl.succeed(endpoint, *arguments)

        for user in ("root", "reader", "web", "agent"):
            admin("user", "add", f"{user}:pw")
        # Who attaches a key to a lease must be allowed to write all keys of the lease.
        on_lease = [("read", "/r/"), *(("readwrite", f"/r/{place}") for place in
                                       ("nodes/n1", "catalog/n1/", "services/", "registry/life/n1"))]
        admin("role", "add", "root")
        admin("user", "grant-role", "root", "root")
        for role, grants in {
                "reader": [("read", "/r/")],
                "web": [*on_lease, ("readwrite", "/r/registry/service/n1/web")],
                "agent": [*on_lease, ("readwrite", "/r/registry/service/n1/db"), ("readwrite", "/r/registry/node/n1"),
                          ("readwrite", "/r/registry-"), ("readwrite", "/r/kv")]}.items():
            admin("role", "add", role)
            for kind, prefix in grants:
                admin("role", "grant-permission", role, "--prefix", kind, prefix)
            admin("user", "grant-role", role, role)
        admin("auth", "enable")
        self.agent = consul_fixture.Agent(endpoint, self.root, "n1", "--node-value", "127.0.0.1", "--user", "agent:pw")
        self.addCleanup(self.agent.close)

    send = AgentRoutes.send
    everything = AgentRoutes.everything
    services = AgentRoutes.services

    def refuse(self, path, body=None, token=None):
        self.assertEqual(self.send(path, body, token), DENIED, (path, body, token))

    def test_what_a_token_may_not_write_changes_nothing(self):
        web, reader = "web:pw", "reader:pw"
        before = self.everything()
        self.refuse(REGISTER, {"Name": "web"}, reader)
        self.refuse(REGISTER, {"Name": "web"})  # as the agent, who may write another service alone
        self.refuse(REGISTER, {"Name": "web", "Token": reader})
        self.refuse(REGISTER, {"Name": "web", "Token": "nobody:pw"})
        self.refuse(REGISTER, {"Name": "other"}, web)
        self.refuse("/v1/agent/check/register", {"Name": "disk", "TTL": "60s"}, web)
        self.refuse("/v1/agent/maintenance?enable=true", None, reader)
        self.assertEqual(self.send(REGISTER, {"Name": "web"}, "nobody:pw"), (403, "ACL not found"))
        self.assertEqual(self.everything(), before)
        self.assertEqual(self.send(REGISTER, {"Name": "web", "Check": {"TTL": "60s"}}, web), (200, ""))
        self.assertEqual(self.send(REGISTER, {"Name": "db", "Check": {"TTL": "60s"}}), (200, ""))
        self.assertEqual(self.send("/v1/agent/check/register", {"Name": "disk", "TTL": "60s"}), (200, ""))
        before = self.everything()
        for token, service in ((reader, "web"), (web, "db")):
            self.refuse(f"/v1/agent/service/deregister/{service}", None, token)
            self.refuse(f"/v1/agent/service/maintenance/{service}?enable=true", None, token)
            self.refuse(f"/v1/agent/check/pass/service:{service}", None, token)
            self.refuse(f"/v1/agent/check/update/service:{service}", {"Status": "passing"}, token)
            self.refuse(f"/v1/agent/check/deregister/service:{service}", None, token)
            self.refuse("/v1/agent/check/register", {"Name": "x", "TTL": "60s", "ServiceID": service}, token)
            self.refuse("/v1/agent/check/pass/disk", None, token)
            self.refuse("/v1/agent/leave", None, token)
            self.refuse("/v1/agent/force-leave/n1", None, token)
        self.refuse(REGISTER, {"Name": "web", "Check": {"CheckID": "service:db", "TTL": "60s"}}, web)
        self.assertEqual(self.everything(), before)
        self.assertEqual(self.send("/v1/agent/check/pass/service:web", None, web), (200, ""))
        # The node's check counts for each of its services.
        self.assertEqual(self.send("/v1/agent/check/pass/disk"), (200, ""))
        wait_until(lambda: self.agent.get("/v1/health/service/web?passing"), "the report in the catalog")
        self.assertEqual(self.send("/v1/agent/service/deregister/web", None, web), (200, ""))
        wait_until(lambda: self.agent.get("/v1/catalog/service/web") == [], "the service to go")


    def test_a_token_is_taken_from_each_of_its_places(self):
        login = json.dumps({"name": "web", "password": "pw"}).encode()
        with urllib.request.urlopen(f"http://{self.endpoint}/v3/auth/authenticate", login, timeout=30) as answer:
            bearer = json.load(answer)["token"]

        def register(headers, query="", name="web", port=1):
            status, _, said = self.agent.call("PUT", REGISTER + query, {"Name": name, "Port": port}, headers)
            return status, said.decode()

        in_query = "?token=" + urllib.parse.quote(bearer, safe="")
        places = (({"X-Consul-Token": bearer}, ""), ({"Authorization": f"Bearer {bearer}"}, ""), ({}, in_query),
                  ({"Authorization": "Bearer web:pw"}, ""), ({"X-Consul-Token": "web:pw"}, ""),
                  # The first of the query, X-Consul-Token and Authorization counts.
                  ({"X-Consul-Token": "reader:pw"}, in_query),
                  ({"X-Consul-Token": bearer, "Authorization": "Bearer reader:pw"}, ""))
        for port, (headers, query) in enumerate(places, 1):
            self.assertEqual(register(headers, query, port=port), (200, ""), (headers, query))
            wait_until(lambda: [found["ServicePort"] for found in self.agent.get("/v1/catalog/service/web")] == [port],
                       f"port {port} in the catalog")
            self.assertEqual(register(headers, query, name="db"), DENIED)
        # Another scheme does not name a token: the request is the agent's, who may write the other service alone.
        for scheme in ("bearer", "BEARER", "Basic", "Token"):
            headers = {"Authorization": f"{scheme} {bearer}"}
            self.assertEqual(register(headers), DENIED, scheme)
            self.assertEqual(register(headers, name="db"), (200, ""), scheme)
        for headers in ({"X-Consul-Token": "nonsense"}, {"Authorization": "Bearer nonsense"}):
            self.assertEqual(register(headers), (403, "ACL not found"), headers)
        self.assertEqual(self.agent.call("GET", "/v1/kv/a?raw", None, {"Authorization": f"Bearer {bearer}"})[0], 404)
        refused = self.agent.call("PUT", "/v1/kv/a", b"1", {"Authorization": f"Bearer {bearer}"})
        self.assertEqual(refused[0], 403)


class RightsOnKvorum(Rights, unittest.TestCase):
    def setUp(self):
        node = consul_fixture.server.Server().start()
        self.addCleanup(node.close)
        self.start_secured(f"127.0.0.1:{node.port}")


@unittest.skipUnless(ctl.etcd_is_here(), "there is no etcd of this version")
class RightsOnEtcd(Rights, unittest.TestCase):
    def setUp(self):
        node = ctl.Etcd()
        self.addCleanup(node.__exit__)
        node.__enter__()
        self.start_secured(node.endpoint)


if __name__ == "__main__":
    consul_fixture.main()
