"""Agents that speak Consul's HTTP, as processes beside one server, for tests by other people's clients.

Every test has a root of its own in the store, so that none sees another's nodes and keys.
"""

import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "process"), str(HERE.parents[1] / "sync" / "processes")]

import server  # noqa: E402
from long_run import LongRun  # noqa: E402

TTL_S = 4
WAIT_S = 60
CLIENTS = pathlib.Path(os.environ.get("KVORUM_CONSUL_CLIENTS", HERE.parents[2] / "build" / "consul-clients"))


def client(*names):
    """A client that scripts/setup has brought; the test is skipped where it has not."""
    path = CLIENTS.joinpath(*names)
    if not path.exists():
        raise unittest.SkipTest(f"there is no {path}")
    return path


def wait_until(claim, what):
    """What the claim says, once that is true."""
    end = time.monotonic() + WAIT_S
    while True:
        said = claim()
        if said:
            return said
        assert time.monotonic() < end, f"no {what} within {WAIT_S} s"
        time.sleep(0.05)


class Agent:
    """`kvorumctl agent run --http-address`, once it is in step with the store."""

    def __init__(self, endpoint, root, node, *flags):
        self.run = LongRun(endpoint, "agent", "run", "--root", root, "--node", node, "--ttl", f"{TTL_S}s",
                           "--http-address", "127.0.0.1:0", *flags)
        self.address = self.run.wait_for("http")["address"]
        self.host, port = self.address.rsplit(":", 1)
        self.port = int(port)
        self.run.wait_for("synced")

    def call(self, method, path, body=None, headers=None):
        """(status, headers, body as bytes)"""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.address}{path}", data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers, refused.read()

    def get(self, path):
        status, _, body = self.call("GET", path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def put(self, path, body=None):
        status, _, said = self.call("PUT", path, b"" if body is None else body)
        assert status == 200, (path, status, said)
        return json.loads(said) if said else None

    def kill(self):
        self.run.process.kill()

    def close(self):
        self.kill()
        self.run.process.wait()
        self.run.reader.join()
        self.run.process.stdout.close()
        self.run.process.stderr.close()


class ConsulCase(unittest.TestCase):
    """A store for all tests of the class, an agent n1 for each."""
    flags = ()

    @classmethod
    def setUpClass(cls):
        node = server.Server().start()
        cls.addClassCleanup(node.close)
        cls.endpoint = f"127.0.0.1:{node.port}"

    def setUp(self):
        self.root = f"/{self.id().rsplit('.', 1)[-1]}"
        folder = tempfile.TemporaryDirectory(prefix="kvorum-consul-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.agent = self.start("n1", *self.flags)

    def start(self, node, *flags):
        agent = Agent(self.endpoint, self.root, node, "--node-value", "127.0.0.1", *flags)
        self.addCleanup(agent.close)
        return agent


def main():
    """Runs the tests of the file; where all are skipped, it says so to ctest."""
    result = unittest.main(module="__main__", exit=False).result
    if result.skipped and len(result.skipped) >= result.testsRun:
        print("SKIPPED:", result.skipped[0][1])
    sys.exit(not result.wasSuccessful())
