"""The JSON gateway beside etcd 3.7: the same random requests to both, good ones and bad ones, and the histories of the
differential test over gRPC, must get the same status, the same headers and the same bytes, but for the ids of cluster and
members, terms, times left and sizes.

The etcd is that of $KVORUM_PEER_DIR if it is one of 3.7; there is nothing to compare with otherwise.
KVORUM_DIFFERENTIAL_SEED and KVORUM_DIFFERENTIAL_STEPS choose other requests, and how many.
"""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ports  # noqa: E402
import server  # noqa: E402
import websocket  # noqa: E402

REQUESTS = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum_differential_requests")
ETCD = os.path.join(os.environ.get("KVORUM_PEER_DIR", ""), "etcd")
SEED = int(os.environ.get("KVORUM_DIFFERENTIAL_SEED", "1"))
STEPS = int(os.environ.get("KVORUM_DIFFERENTIAL_STEPS", "500"))

KEYS = [b"a", b"a\0", b"b", b"bb", b"c", b"", b"\0", b"\xff\xfe\xfd", b"\xfb\xff"]
NUMBERS = [0, 1, 2, 3, 5, 9, 100, -1, "0", "1", "7", "-1", "1e1", 1.0, 2.5, "2.5", "", " 1", "1 ", "x", True, None,
           9223372036854775807, "9223372036854775808", [], {}]
NAMES = ["u1", "u2", "root", "r1", "none", "", "\u00e9\u4e2d", "a\"<b>&\\"]
# Bodies that are no requests, or odd ones; most end before the API sees them.
ODD_BODIES = [
    b"", b" \n", b"{}", b"{", b"[", b"[]", b"null", b"true", b"5", b"-", b"1.", b"1e", b"\"x\"", b"\"x", b"nul",
    b"tru",
    b"trux", b"x", b"{}x", b"{}{", b"12x", b"{]", b"{\"key\"", b"{\"key\":}", b"{\"key\":\"YQ==\",}",
    b"{\"key\" \"YQ==\"}",
    b"{,}", b"{\"key\":\"YQ==\"]", b"{\"key\":[1,]}", b"{\"key\":01}", b"{\"key\":1.x}", b"{\"key\":-x}",
    b"{\"key\":1ex}",
    b"{\"key\":\"\\x\"}", b"{\"key\":\"\\u12g4\"}", b"{\"key\":\"\n\"}", b"{\"key\":\"\x01\"}", b"{\"key\":\"\x7f\"}",
    b"{\"key\":\"\xff\"}", b"{\"\xff\":1}", b"{\"key\":\"\xed\xa0\x80\"}", b"{\"key\":\"\\ud800\"}",
    b"{\"key\":\"\\ud800abcdefgh\"}", b"{\"key\":\"\\ud800\\u0041\",\"x\":1}",
    b"{\"key\":\"\\ude00\\ud83d\",\"x\":1}",
    b"{\"key\":\"\\u0059Q==\"}", b"{\"nope\":{\"a\":[1,{\"b\":\"\\u00e9\"}]},\"key\":\"YQ==\"}",
    b"{\"nope\":\"\xff\"}",
    b"{\"key\":\"YQ==\",\"key\":\"YQ==\"}", b"{\"key\":null,\"key\":\"YQ==\"}",
    b"{\"rangeEnd\":\"YQ==\",\"range_end\":\"YQ==\"}",
    b"{\"KEY\":\"YQ==\"}", b"{\"key\":{}}", b"{\"key\":[]}", b"{\"key\":true}", b"{\"key\":5}", b"{\"key\":\"Y\"}",
    b"{\"key\":\"YQ=\"}", b"{\"key\":\"YQ\"}", b"{\"key\":\"YR==\"}", b"{\"key\":\"-_\"}", b"{\"key\":\"+/\"}",
    b"{\"key\":\"-/\"}",
    b"{\"key\":\"YQ\\n==\"}", b"{\"key\":\"Y Q==\"}", b"{\"key\":\"YQ==YQ==\"}", b"{\"key\":\"YQ==\"} trailing",
    b"\xef\xbb\xbf{}", b"'", b"\\", b"\xe9", b"\x80", b"\xad", b"\0", b"{\"success\":{}}", b"{\"success\":[null]}",
    b"{\"success\":[5]}",
    b"{\"compare\":[{\"version\":\"1\",\"value\":\"YQ==\"}]}",
    b"{\"compare\":[{\"version\":null,\"value\":\"YQ==\",\"key\":\"YQ==\"}]}",
    b"{\"success\":[{}]}", b"{\"success\":[{\"requestPut\":{}}]}", b"{\"sort_order\":\"nope\",\"key\":\"YQ==\"}",
    b"{\"sortOrder\":99,\"key\":\"YQ==\"}", b"{\"sortOrder\":2147483648}", b"{\"sortTarget\":-1,\"key\":\"YQ==\"}",
    b"{\n \"key\":\n  \"\xc3\xa9\", \"limit\": x}", b"{\n \"key\":\"YQ==\",\n \"\xc3\xa9\":1, \"limit\": {}}",
    b"{\"ID\":\"\xc2\xa05\"}", b"{\"ID\":\"5\xc2\xa0\"}", b"{\"TTL\":\"1 2\",\"ID\":\"5,\"}", b"[" * 10001,
    b"{\"a\":" * 10001,
]
PATHS = [
    "kv/range", "kv/put", "kv/deleterange", "kv/txn", "kv/compaction", "lease/grant", "lease/revoke",
    "kv/lease/revoke",
    "lease/timetolive", "kv/lease/timetolive", "lease/leases", "kv/lease/leases", "cluster/member/list",
    "auth/status",
    "auth/user/add", "auth/user/get", "auth/user/list", "auth/user/delete", "auth/user/changepw", "auth/user/grant",
    "auth/user/revoke", "auth/role/add", "auth/role/get", "auth/role/list", "auth/role/delete", "auth/role/grant",
    "auth/role/revoke", "auth/authenticate", "maintenance/alarm", "maintenance/status", "maintenance/hash",
    "lease/keepalive", "lock/unlock", "election/leader", "cluster/member/remove", "cluster/member/promote",
    "maintenance/transfer-leadership", "maintenance/defragment",
]
ODD_PATHS = ["/v3/", "/v3", "/v3/kv", "/v3/nope", "/v3/kv/range/", "/v3//kv/range", "/v3/kv/./range",
             "/v3/kv%2Frange",
             "/v3/kv/r%61nge", "/v3/KV/Range", "/v3/kv/range:x", "/v3/kv/rangestream", "/v3beta", "/v3beta/",
             "/v3beta/kv/range", "/v3alpha/kv/range", "/v3/kv/range?x=y", "/v3/kv/range?key=YQ=="]
# The routes of the differential test's methods.
METHODS = {
    "Range": "kv/range", "Put": "kv/put", "DeleteRange": "kv/deleterange", "Txn": "kv/txn", "Compact": "kv/compaction",
    "HashKV": "maintenance/hashkv", "LeaseGrant": "lease/grant", "LeaseRevoke": "lease/revoke",
    "LeaseKeepAlive": "lease/keepalive", "LeaseTimeToLive": "lease/timetolive", "LeaseLeases": "lease/leases",
}
# Different on both by nature.
OWN = [
    (re.compile(rb'"(cluster_id|member_id|raft_term|token|dbSize|dbSizeInUse|raftIndex|raftAppliedIndex|raftTerm|leader|ID'
                rb'|TTL|storageVersion|dbSizeQuota|remaining_bytes|memberID)":"[^"]*"'), rb'"\1":"*"'),
    (re.compile(rb'"version":"3\.[^"]*"'), rb'"version":"*"'),
    (re.compile(rb'"(hash)":\d+'), rb'"\1":*'),
    (re.compile(rb'"(peerURLs|clientURLs)":\["[^"]*"\]'), rb'"\1":*'),
]
# Front matter that the gateway does not write.
OTHER_HEADERS = {"date", "content-length", "transfer-encoding", "access-control-allow-headers",
                 "access-control-allow-methods",
                 "access-control-allow-origin"}


def base64_of(value):
    return base64.b64encode(value).decode()


class Requests:
    """Random requests, the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def key(self):
        return base64_of(self.random.choice(KEYS))

    def number(self):
        return self.random.choice(NUMBERS)

    def some(self, fields):
        """A JSON object of some of these fields, in some order."""
        chosen = [name for name in fields if self.random.random() < 0.6]
        self.random.shuffle(chosen)
        return {name: fields[name]() for name in chosen}

    def range(self):
        return {"key": base64_of(b"a"), **self.some({
            "key": self.key, "range_end": self.key, "limit": self.number,
            "revision": lambda: self.random.choice([0, "0", 1, 3]),
            "sortOrder": lambda: self.random.choice(["NONE", "ASCEND", "DESCEND", 0, 1, 2, "x", 7]),
            "sort_target": lambda: self.random.choice(["KEY", "VERSION", "CREATE", "MOD", "VALUE", 4, -1]),
            "serializable": lambda: True, "keysOnly": lambda: self.random.choice([True, False, "true", None]),
            "count_only": lambda: self.random.choice([True, False]), "min_mod_revision": self.number})}

    def put(self):
        return {"key": self.key(), **self.some({
            "value": self.key, "lease": lambda: self.random.choice([0, "0", 5, "6", "x"]), "prev_kv": lambda: True,
            "ignoreValue": lambda: self.random.choice([True, False]), "ignore_lease": lambda: False})}

    def delete(self):
        return {"key": self.key(), **self.some({"range_end": self.key, "prevKv": lambda: True})}

    def compare(self):
        return self.some({
            "key": self.key, "result": lambda: self.random.choice(["EQUAL", "GREATER", "LESS", "NOT_EQUAL", 0, 1]),
            "target": lambda: self.random.choice(["VERSION", "CREATE", "MOD", "VALUE", "LEASE", 3]),
            "version": self.number,
            "range_end": self.key})

    def operation(self):
        return self.random.choice([
            lambda: {"request_range": self.range()}, lambda: {"requestPut": self.put()},
            lambda: {"request_delete_range": self.delete()}, lambda: {"request_txn": {}}, lambda: {}])()

    def txn(self):
        return self.some({
            "compare": lambda: [self.compare() for _ in range(self.random.randrange(3))],
            "success": lambda: [self.operation() for _ in range(self.random.randrange(3))],
            "failure": lambda: [self.operation() for _ in range(self.random.randrange(2))]})

    def body(self, path):
        """A JSON value, or bytes."""
        name = lambda: self.random.choice(NAMES)
        lease = lambda: self.random.choice([5, "6", "7", 8, 0, "x", -1])
        makers = {
            "kv/range": self.range, "kv/put": self.put, "kv/deleterange": self.delete, "kv/txn": self.txn,
            "kv/compaction": lambda: self.some({"revision": lambda: self.random.choice([1, "2", 3, 99999, -1])}),
            "lease/grant": lambda: {"ID": self.random.choice([5, "6", "7"]),
                                    "TTL": self.random.choice([1000, "2000", "x", 1e10])},
            "maintenance/alarm": lambda: self.some({"action": lambda: self.random.choice(["GET", 0, "x"]),
                                                    "alarm": lambda: "NONE"}),
            "auth/user/add": lambda: {"name": name(), **self.some({"password": name,
                                                                   "options": lambda: {"no_password": True}})},
        }
        if path in makers:
            return makers[path]()
        return self.some({
            "ID": lease, "id": lease, "keys": lambda: True, "name": name, "role": name, "user": name,
            "password": name,
            "key": self.key, "leader": lambda: self.some({"name": self.key, "key": self.key, "rev": self.number,
                                                          "lease": lease}),
            "perm": lambda: self.some({"permType": lambda: self.random.choice(["READ", "WRITE", 2]), "key": self.key,
                                       "range_end": self.key}),
            "targetID": lease})


def json_bytes(value):
    """JSON as other programs write it, numbers with exponents too."""
    return json.dumps(value).encode()


def leave_ties_to_nobody(message):
    """The order of equal sort keys is left to chance in etcd, so a limit may cut it anywhere."""
    if isinstance(message, list):
        for part in message:
            leave_ties_to_nobody(part)
    elif isinstance(message, dict):
        if message.get("sort_target", "KEY") != "KEY":
            message.pop("limit", None)
        for part in message.values():
            leave_ties_to_nobody(part)


def without_ties(content):
    """The same JSON with the rows in the order of their keys."""
    def sort(value):
        if isinstance(value, list):
            return [sort(part) for part in value]
        if not isinstance(value, dict):
            return value
        return {name: sorted((sort(kv) for kv in part), key=lambda kv: kv.get("key", "")) if name == "kvs" else sort(part)
                for name, part in value.items()}
    return sort(json.loads(content))


def without_chance(content):
    """JSON without what Go's protojson leaves to the bytes of the program that writes it: a space behind each comma or
    none, and which space stands in its errors. tests/gateway/json_answer_test.cc holds which of them is ours."""
    if not content.startswith(b"{"):
        return content
    content = content.replace(b"proto:\xc2\xa0", b"proto: ")
    return re.sub(rb'("(?:[^"\\]|\\.)*")|, ', lambda found: found[1] or b",", content)


def without_fault(answer):
    """Our answer to a stream with a message that is none, as if that were the end of the requests: etcd takes it so."""
    if not isinstance(answer, tuple):
        return answer
    status, reason, headers, content = answer
    kept = re.sub(rb'\{"error":\{"code":3,[^\n]*\n\Z', b"", content)
    if kept or kept == content:
        return status, reason, headers, kept
    return 200, "OK", [], b""


class Side:
    def __init__(self, name, port):
        self.name = name
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)

    def ask(self, method, target, body, headers):
        self.connection.request(method, target, body=body, headers=headers)
        try:
            response = self.connection.getresponse()
            content = response.read()
        except TimeoutError:
            self.connection.close()
            return "no answer"
        kept = sorted((name.lower(), value) for name,
                      value in response.getheaders() if name.lower() not in OTHER_HEADERS)
        for pattern, text in OWN:
            content = pattern.sub(text, content)
        return response.status, response.reason, kept, without_chance(content)


class GatewayDifferentialTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kvorum-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        ours = server.Server()
        self.addCleanup(ours.close)
        ours.start()
        port = ports.free_port()
        peer_port = ports.free_port()
        with open(os.path.join(self.folder, "log"), "wb") as log:
            etcd = subprocess.Popen(
                [ETCD, "--data-dir", os.path.join(self.folder, "data"), "--listen-client-urls",
                 f"http://127.0.0.1:{port}",
                 "--advertise-client-urls", f"http://127.0.0.1:{port}", "--listen-peer-urls",
                 f"http://127.0.0.1:{peer_port}",
                 "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer_port}",
                 "--initial-cluster", f"default=http://127.0.0.1:{peer_port}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(etcd.wait)
        self.addCleanup(etcd.terminate)
        self.sides = [Side("kvorum", ours.port), Side("etcd", port)]
        for side in self.sides:
            end = time.monotonic() + 30
            while True:
                try:
                    if side.ask("GET", "/health", None, {})[0] == 200:
                        break
                except OSError:
                    side.connection.close()
                self.assertLess(time.monotonic(), end, f"{side.name} is not healthy")
                time.sleep(0.05)
            self.addCleanup(side.connection.close)
        self.differences = []

    def compare(self, method, target, body, headers=None):
        ours, theirs = (side.ask(method, target, body, headers or {}) for side in self.sides)
        if target.endswith("/lease/keepalive"):
            ours = without_fault(ours)
        if ours != theirs:
            self.differences.append(f"{method} {target} {(body or b'')[:200]} {headers}\n"
                                    f"  ours   {ours}\n  theirs {theirs}")

    def follow(self, stream, newest, compacted, count):
        """The next part of a history, with what became of both revisions."""
        print(newest, compacted, count, file=stream.stdin, flush=True)
        for line in iter(stream.stdout.readline, "\n"):
            method, text = line.split(" ", 1)
            message = json.loads(text)
            leave_ties_to_nobody(message)
            body = json.dumps(message).encode()
            ours, theirs = (side.ask("POST", "/v3/" + METHODS[method], body, {}) for side in self.sides)
            if ours != theirs and not (ours[:3] == theirs[:3] and b'"sort_target"' in body
                                       and without_ties(ours[3]) == without_ties(theirs[3])):
                self.differences.append(f"{method} {body[:300]}\n  ours   {str(ours)[:600]}\n  theirs {str(theirs)[:600]}")
            if ours[0] == 200 and method != "LeaseKeepAlive":
                newest = max(newest, int(re.search(rb'"revision":"(\d+)"', ours[3])[1]))
                if method == "Compact":
                    compacted = int(message.get("revision", 0))
        return newest, compacted

    def test_the_histories_of_the_differential_test_get_the_same_answers(self):
        for side in self.sides:
            side.connection.timeout = 30
        with subprocess.Popen([REQUESTS, str(SEED)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stream:
            newest, compacted = 1, 0
            for _ in range(STEPS // 20):
                newest, compacted = self.follow(stream, newest, compacted, 20)
            stream.stdin.close()
        self.assertGreater(newest, STEPS // 10)
        self.finish()

    def frames(self, side, path, steps, headers):
        """What comes after each step (a payload, and how its frame is sent), and at last until the connection ends."""
        with contextlib.closing(websocket.WebSocket(side.port, path, headers, timeout=10)) as opened:
            said = [opened.head]
            for payload, how, answers in steps:
                opened.send(payload, **how)
                said += [opened.receive() for _ in range(answers)]
            said += opened.receive_all()
        for pattern, text in OWN:
            said = [part if part is None or isinstance(part, bytes) else (part[0], pattern.sub(text, part[1]))
                    for part in said]
        said = [part if part is None or isinstance(part, bytes) else (part[0], without_chance(part[1])) for part in said]
        # Of a close frame the code counts, not the text.
        return [part if part is None or part[0] != websocket.CLOSE else (part[0], part[1][:2]) for part in said]

    def test_websockets_get_the_same_frames(self):
        create = b'{"create_request":{"key":"YQ=="}}'
        bye = (struct.pack(">H", 1000), {"opcode": websocket.CLOSE}, 0)
        for path, steps, *headers in [
                ("/v3/watch", [(create, {}, 1), (create, {"opcode": websocket.BINARY}, 1), bye]),
                ("/v3beta/watch", [(create, {}, 1), (b'{"cancel_request":{"watch_id":0}}', {}, 1), bye]),
                ("/v3/watch", [(create * 3, {}, 3), bye]),
                ("/v3/watch", [(create[:9], {"final": False}, 0), (b"x", {"opcode": websocket.PING}, 1),
                               (create[9:], {"opcode": 0}, 1), (b"", {"opcode": websocket.CLOSE}, 0)]),
                ("/v3/watch?method=GET", [(create, {}, 1), bye], "Sec-WebSocket-Protocol: Bearer, x"),
                ("/v3/watch", [(create, {}, 1), bye], "Sec-WebSocket-Protocol: chat"),
                ("/v3/watch", [(create, {}, 1), bye], "Sec-WebSocket-Extensions: permessage-deflate"),
                ("/v3/lease/keepalive", [(b'{"ID":5}', {}, 1), (b'{"ID":"6"}{"ID":7}', {}, 2), bye]),
                ("/v3/kv/range", [(b'{"key":5}', {}, 0)]), ("/v3/kv/range", [(b"nope", {}, 0)]), ("/v3/nope", []),
                *(("/v3/watch", [(create, {}, 1), (create, how, 0)])
                  for how in ({"masked": False}, {"reserved": 4}, {"reserved": 1}, {"opcode": 3}, {"opcode": 0})),
                ("/v3/watch", [(create, {"final": False}, 0), (create, {}, 0)]),
                ("/v3/watch", [(create, {}, 1), (struct.pack(">H", 1005), {"opcode": websocket.CLOSE}, 0)])]:
            ours, theirs = (self.frames(side, path, steps, headers) for side in self.sides)
            if ours != theirs:
                self.differences.append(f"{path} {steps} {headers}\n  ours   {ours}\n  theirs {theirs}")
        self.finish()

    def finish(self):
        self.assertEqual(len(self.differences), 0, "\n".join(["", *self.differences[:20]]))

    def test_odd_bodies_get_the_same_answers(self):
        for path in ["kv/range", "kv/put", "kv/txn", "lease/grant", "lease/keepalive", "cluster/member/promote",
                     "election/leader"]:
            for body in ODD_BODIES:
                self.compare("POST", "/v3/" + path, body)
        self.finish()

    def test_odd_paths_methods_and_headers_get_the_same_answers(self):
        for path in ODD_PATHS:
            for method in ["POST", "GET", "PUT", "HEAD"]:
                self.compare(method, path, b"{\"key\":\"YQ==\"}" if method in ("POST", "PUT") else None)
        for headers in [
                {"Grpc-Timeout": "1x"}, {"Grpc-Timeout": "S"}, {"Grpc-Timeout": "-1S"}, {"Grpc-Timeout": "10S"},
                {"Grpc-Metadata-X-Bin": "A!"}, {"Grpc-Metadata-X-Bin": "AA=="}, {"Grpc-Metadata-hasleader": "true"},
                {"Authorization": "nonsense"}, {"Content-Type": "application/x-www-form-urlencoded"},
                {"Content-Type": "application/x-www-form-urlencoded", "X-HTTP-Method-Override": "GET"},
                {"Content-Type": "application/x-www-form-urlencoded", "X-HTTP-Method-Override": "post"},
                {"Content-Type": "text/plain", "X-HTTP-Method-Override": "GET"}, {"Content-Type": "application/grpc"},
                {"Accept": "text/html"}]:
            self.compare("POST", "/v3/kv/range", b"{\"key\":\"YQ==\"}", headers)
        self.finish()

    def test_a_random_history_gets_the_same_answers(self):
        requests = Requests(SEED)
        for _ in range(STEPS):
            path = requests.random.choice(PATHS if requests.random.random() < 0.4 else PATHS[:10])
            self.compare("POST", "/v3/" + path, json_bytes(requests.body(path)))
        self.finish()


def is_of_3_7():
    try:
        said = subprocess.run([ETCD, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return "etcd Version: 3.7" in said


if __name__ == "__main__":
    if is_of_3_7():
        unittest.main()
    print(f"SKIPPED: {ETCD} is no etcd of 3.7")
