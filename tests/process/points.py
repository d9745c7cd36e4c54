"""Kills that fall where they should: a server of kvorum-failpoints waits at a named point of its code until it is killed
there (docs/operations/failpoints.md)."""

import http.client
import os
import urllib.request

import cluster
import ports

BINARY = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-failpoints")
FOR_EVER = "1*sleep(600000)"
# An entry on its way through the log of a single member, before its client has an answer.
OF_AN_ENTRY = ("walBeforeSync", "walAfterSync", "beforeApplyOneEntryNormal")
OF_A_CONF_CHANGE = ("walBeforeSync", "walAfterSync", "beforeApplyOneConfChange")


class Points:
    """Those of one server or member, which this makes one of kvorum-failpoints from its next start on."""

    def __init__(self, member):
        self.member = member
        self.port = ports.free_port()
        member.binary = BINARY
        member.environment["GOFAIL_HTTP"] = f"127.0.0.1:{self.port}"

    def stop_from_the_start(self, name):
        """At the point, in each process that starts from now on."""
        self.member.environment["GOFAIL_FAILPOINTS"] = f"{name}={FOR_EVER}"

    def pass_from_the_start(self):
        self.member.environment.pop("GOFAIL_FAILPOINTS", None)

    def stop_at(self, name):
        """Whoever comes to the point first waits there."""
        self.set(name, FOR_EVER)

    def set(self, name, term):
        status, answer = self._ask("PUT", f"/{name}", term)
        assert status == 204, (name, status, answer)

    def clear(self, name):
        status, answer = self._ask("DELETE", f"/{name}")
        assert status == 204, (name, status, answer)

    def is_at(self, name):
        status, count = self._ask("GET", f"/{name}/count")
        assert status == 200, (name, status, count)
        return int(count) > 0

    def wait_at(self, name):
        cluster.wait_until(lambda: self.is_at(name), f"the server to be at {name}")

    def wait_started_at(self, name):
        """The same for a server that is only starting."""
        def is_at():
            try:
                return self.is_at(name)
            except OSError:
                return False
        cluster.wait_until(is_at, f"the server to be at {name}")

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def proposals_pending(endpoint):
    """The proposals that wait for their way through the log."""
    with urllib.request.urlopen(f"http://{endpoint}/metrics", timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("etcd_server_proposals_pending "):
                return float(line.split()[1])
    raise AssertionError("there is no etcd_server_proposals_pending")
