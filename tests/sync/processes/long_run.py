"""A running command of kvorumctl for tests, whose events come as JSON lines, and the store that it follows."""

import base64
import json
import queue
import signal
import subprocess
import threading
import time
import unittest
import urllib.request

import ctl
import server

TIMEOUT_S = 60


class LongRun:
    timeout_s = TIMEOUT_S  # for an event

    def __init__(self, endpoint, *arguments, environment=None, events=True):
        """With events False nobody reads what it says."""
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", ctl.CTL, "--endpoints", endpoint, "-w", "json", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.told, self.events = [], queue.Queue()
        self.reader = threading.Thread(target=self._read)
        if events:
            self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.events.put(json.loads(line))
        self.events.put(None)

    def next_event(self):
        event = self.events.get(timeout=self.timeout_s)
        assert event is not None, f"it ended; it told {self.told[-5:]}"
        self.told.append(event)
        return event

    def wait_for(self, name, **members):
        """Reads on until the event; returns it."""
        while True:
            event = self.next_event()
            if event["event"] == name and all(event.get(key) == value for key, value in members.items()):
                return event

    def end(self, how=signal.SIGTERM):
        """(exit code, what it wrote to its error stream)"""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.wait()

    def wait(self):
        """What end returns, once it has ended by itself."""
        code = self.process.wait(timeout=30)
        if self.reader.ident is not None:
            self.reader.join()
        said = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        return code, said


def wait_until(condition, what):
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end, f"no {what} within {TIMEOUT_S} s"
        time.sleep(0.02)


class Store:
    """Writes through the JSON gateway: any bytes, and quicker than a process for each key."""

    def __init__(self, endpoint):
        self.endpoint = endpoint

    def call(self, name, **request):
        encoded = {key: base64.b64encode(value).decode() for key, value in request.items()}
        with urllib.request.urlopen(f"http://{self.endpoint}/v3/kv/{name}", data=json.dumps(encoded).encode(),
                                    timeout=TIMEOUT_S) as answer:
            return json.loads(answer.read())

    def put(self, key, value=b"x"):
        self.call("put", key=key, value=value)

    def delete(self, key):
        self.call("deleterange", key=key)

    def clear(self):
        self.call("deleterange", key=b"\0", range_end=b"\0")


class OnKvorum:
    """One server for all tests of the class; so for its heirs' tests."""

    @classmethod
    def setUpClass(cls):
        node = server.Server().start()
        cls.addClassCleanup(node.close)
        cls.endpoint = f"127.0.0.1:{node.port}"


@unittest.skipUnless(ctl.etcd_is_here(), "there is no etcd of this version")
class OnEtcd:
    @classmethod
    def setUpClass(cls):
        node = ctl.Etcd()
        cls.addClassCleanup(node.__exit__)
        node.__enter__()
        cls.endpoint = node.endpoint
