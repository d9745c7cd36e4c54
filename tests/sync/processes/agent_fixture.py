"""Agents as processes beside one server for each kind, kvorum and etcd. Every test has a root of its own in the store,
so that all of them run at once: they mostly wait for times to live."""

import base64
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import cluster  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402
from long_run import LongRun  # noqa: E402

TTL_S = 4


def service(name, number, value="v", **more):
    return {"id": number, "name": name, "value": value, **more}


class Follower(LongRun):
    """A running kvorumctl that writes nothing to its error stream."""
    timeout_s = 90

    def wait(self):
        """Its exit code."""
        code, said = super().wait()
        assert said == "", said
        return code


class History:
    """What happened to the keys of a prefix since now, by a watch."""

    def __init__(self, test):
        self.test = test
        self.events = []
        self.watch = Follower(test.endpoint, "watch", "--prefix", test.root, "--rev", str(test.revision() + 1))

    def until_now(self):
        """(key behind the root, value or None for a deletion) in order."""
        marker = f"{self.test.root}/marker"
        revision = self.test.put(marker, "")
        while True:
            answer = self.watch.next_event()
            for event in answer["Events"]:
                kv = event["kv"]
                key = base64.b64decode(kv["key"]).decode()
                if key == marker and kv["mod_revision"] == revision:
                    return self.events
                if key != marker:
                    value = None if event.get("type") else base64.b64decode(kv.get("value", "")).decode()
                    self.events.append((key.removeprefix(self.test.root), value))

    def values(self, key):
        """The values in a catalog's record, each once in a row."""
        values = []
        for changed, record in self.until_now():
            value = record and json.loads(record)["value"]
            if changed == key and (not values or values[-1] != value):
                values.append(value)
        return values


class AgentCase:
    """What the tests of agents have in common; their heirs name a kind of server."""

    def setUp(self):
        self.endpoint = self.shared_endpoint()
        self.root = f"/{self.id().rsplit('.', 1)[-1]}"
        self.folder = tempfile.TemporaryDirectory(prefix="kvorum-agent-")
        self.addCleanup(self.folder.cleanup)
        self.running = []

    def tearDown(self):
        for each in self.running:
            if each.process.poll() is None:
                each.process.kill()
                each.process.wait()
                each.reader.join()
            each.process.stdout.close()
            each.process.stderr.close()

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def write_services(self, services, folder="one"):
        """The folder with these services and no others."""
        path = pathlib.Path(self.path(folder))
        path.mkdir(exist_ok=True)
        names = {f"{each['id']}.json" for each in services}
        for file in path.glob("*.json"):
            if file.name not in names:
                file.unlink()
        for each in services:
            (path / f"{each['id']}.json").write_text(json.dumps(each))
        return path

    def start(self, services, *flags, node="n1", folder="one"):
        """An agent over a folder of these services, or without one if they are None."""
        if services is not None:
            flags = ("--services", self.write_services(services, folder), *flags)
        return self.follow("agent", "run", "--root", self.root, "--node", node, "--ttl", f"{TTL_S}s", *flags)

    def follow(self, *arguments):
        follower = Follower(self.endpoint, *arguments)
        self.running.append(follower)
        return follower

    def history(self):
        history = History(self)
        self.running.append(history.watch)
        return history

    def call(self, path, **body):
        """The server's JSON gateway, which costs no process."""
        request = urllib.request.Request(f"http://{self.endpoint}/v3/{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def put(self, key, value):
        answer = self.call("kv/put", key=base64.b64encode(key.encode()).decode(),
                           value=base64.b64encode(value.encode()).decode())
        return int(answer["header"]["revision"])

    def keys(self):
        """{key behind the root: (value, mod revision)}, without the marker of histories."""
        begin = base64.b64encode(f"{self.root}/".encode()).decode()
        end = base64.b64encode(f"{self.root}0".encode()).decode()
        kvs = self.call("kv/range", key=begin, range_end=end).get("kvs", [])
        keys = {base64.b64decode(kv["key"]).decode().removeprefix(self.root):
                (base64.b64decode(kv.get("value", "")), int(kv["mod_revision"])) for kv in kvs}
        keys.pop("/marker", None)
        return keys

    def revision(self):
        return int(self.call("kv/range", key="eA==")["header"]["revision"])


class Servers:
    """A server of each kind, started when a test first asks."""

    def __init__(self):
        self.lock = threading.Lock()
        self.started = {}

    def endpoint(self, kind):
        with self.lock:
            if kind not in self.started:
                if kind == "kvorum":
                    node = server.Server().start()
                    self.started[kind] = (f"127.0.0.1:{node.port}", node.close)
                else:
                    node = ctl.Etcd()
                    node.__enter__()
                    self.started[kind] = (node.endpoint, node.__exit__)
            return self.started[kind][0]

    def close(self):
        for _, close in self.started.values():
            close()


SERVERS = Servers()


class OnKvorum:
    def shared_endpoint(self):
        return SERVERS.endpoint("kvorum")


@unittest.skipUnless(ctl.etcd_is_here(), "there is no packaged etcd")
class OnEtcd:
    def shared_endpoint(self):
        return SERVERS.endpoint("etcd")


def main(module):
    """Runs the tests of the classes named on the line, or of all, at once."""
    loader = unittest.TestLoader()
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)

    def flat(suite):
        for each in suite:
            yield from flat(each) if isinstance(each, unittest.TestSuite) else [each]

    def run(test):
        result = unittest.TestResult()
        test.run(result)
        return test, result

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for test, result in pool.map(run, flat(suite)):
            bad = result.failures + result.errors
            failed += len(bad)
            print("skipped" if result.skipped else "FAILED" if bad else "ok", test.id(), flush=True)
            for _, text in bad:
                print(text, flush=True)
        SERVERS.close()  # while the threads live with which servers would end
    sys.exit(1 if failed else 0)
