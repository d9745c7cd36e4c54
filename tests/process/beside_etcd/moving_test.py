"""The commands of docs/operations/moving.md, run from the page: a cluster of etcd moves to kvorum, and back.

Addresses, folders and `systemctl` are replaced; everything else is run as it is printed. The etcd is that of
$KVORUM_PEER_DIR. The packaged 3.4 cannot be in one cluster with any later version, so with it one member alone is adopted,
and nothing is moved member by member.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import adopt_test  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
import mixed_state  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "operations", "moving.md")
NAMES = ("m1", "m2", "m3")
SYSTEMCTL = """#!/usr/bin/env python3
import socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({socket!r})
    line.sendall(" ".join(sys.argv[1:]).encode() + b" {name}\\n")
    sys.exit(0 if line.makefile().readline() == "done\\n" else 1)
"""


def sections():
    """The blocks of commands under each title. There are no other blocks on the page."""
    found, title, block = {}, None, None
    with open(PAGE, encoding="utf-8") as page:
        for line in page:
            if block is not None:
                if line == "```\n":
                    found[title].append("".join(block))
                    block = None
                else:
                    block.append(line)
            elif line.startswith("## "):
                title = line[3:].strip()
                found[title] = []
            elif line == "```sh\n":
                block = []
            else:
                assert not line.startswith("```"), f"a block that no test runs, under {title}"
    return found


class Host:
    """One of the page's three: its folder stands for /, and one program runs on it at a time."""

    def __init__(self, base, number):
        self.name = f"m{number}"
        self.address = f"10.0.0.1{number}"
        self.folder = os.path.join(base, self.name)
        os.mkdir(self.folder)
        client, peer = ports.free_ports(2)
        self.endpoint, self.peer = f"127.0.0.1:{client}", f"127.0.0.1:{peer}"
        self.process = None

    def start(self, binary, data_dir, members, state):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*server.ENDS_WITH_US, binary, "--name", self.name, "--data-dir", data_dir,
                 "--listen-client-urls", f"http://{self.endpoint}", "--advertise-client-urls", f"http://{self.endpoint}",
                 "--listen-peer-urls", f"http://{self.peer}", "--initial-advertise-peer-urls", f"http://{self.peer}",
                 "--initial-cluster", members, "--initial-cluster-state", state],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self, number=signal.SIGTERM):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(60)
        self.process = None

    def log(self):
        with open(os.path.join(self.folder, "log"), "rb") as log:
            return log.read().decode(errors="replace")[-4000:]


class MovingTest(unittest.TestCase):
    def begin(self, size, etcd=ctl.ETCD):
        self.etcd = etcd
        self.folder = tempfile.mkdtemp(prefix="kvorum-moving-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.hosts = [Host(self.folder, number) for number in range(1, size + 1)]
        for host in self.hosts:
            self.addCleanup(host.stop, signal.SIGKILL)
        os.mkdir(os.path.join(self.folder, "backup"))
        self.where = "etcd"  # the folder in /var/lib that servers start from
        self.state = "new"
        self.written = 0
        self.listen()
        for host in self.hosts:
            self.systemctl("start", "etcd", host)
        self.wait_healthy(self.hosts)
        with grpc.insecure_channel(self.hosts[0].endpoint) as channel:
            mixed_state.fill(channel, 1)

    def listen(self):
        """For the fake systemctl's, one a host."""
        test = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                verb, unit, name = self.rfile.readline().decode().split()
                test.systemctl(verb, unit, next(host for host in test.hosts if host.name == name))
                self.wfile.write(b"done\n")

        path = os.path.join(self.folder, "systemctl")
        listener = socketserver.UnixStreamServer(path, Handler)
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(listener.server_close)
        self.addCleanup(listener.shutdown)
        for host in self.hosts:
            tools = os.path.join(host.folder, "bin")
            os.mkdir(tools)
            script = os.path.join(tools, "systemctl")
            with open(script, "w", encoding="utf-8") as file:
                file.write(SYSTEMCTL.format(socket=path, name=host.name))
            os.chmod(script, 0o755)
            etcdutl = os.path.join(os.path.dirname(ctl.ETCD), "etcdutl")
            if not os.path.exists(etcdutl):  # 3.4's has its commands
                os.symlink(os.path.join(os.path.dirname(ctl.ETCD), "etcdctl"), os.path.join(tools, "etcdutl"))

    def systemctl(self, verb, unit, host):
        if verb == "stop":
            return host.stop()
        assert host.process is None, f"{host.name} runs already"
        members = ",".join(f"{each.name}=http://{each.peer}" for each in self.hosts)
        binary = {"etcd": self.etcd, "kvorum": server.BINARY}[unit]
        host.start(binary, os.path.join(host.folder, self.where), members, self.state)
        return None

    def wait_healthy(self, hosts):
        for host in hosts:
            cluster.wait_until(
                lambda host=host: host.process.poll() is not None
                or ctl.run(host.endpoint, "endpoint", "health").returncode == 0, f"{host.name} to be healthy", 60)
            self.assertIsNone(host.process.poll(), host.log())

    def run_block(self, block, host):
        """As its root would; m1 and its address stand for the host."""
        other = self.hosts[(self.hosts.index(host) + 1) % len(self.hosts)]
        if "--initial-cluster m1" not in block:
            block = block.replace("10.0.0.12", "OTHER").replace("10.0.0.11", host.address)
            block = block.replace("OTHER", other.address)
        else:
            block = re.sub(r"(-urls http://)10\.0\.0\.11", rf"\g<1>{host.address}", block)
            members = ",".join(f"{each.name}=http://{each.address}:2380" for each in self.hosts)
            block = re.sub(r"--initial-cluster \S+", f"--initial-cluster {members}", block)
        block = re.sub(r"\bm1\b(?!=)", host.name, block.replace('"m2"', '"OTHER"')).replace('"OTHER"', f'"{other.name}"')
        for each in self.hosts:
            block = block.replace(f"{each.address}:2379", each.endpoint).replace(f"{each.address}:2380", each.peer)
        block = block.replace("/var/lib", host.folder).replace("/backup", os.path.join(self.folder, "backup"))
        # A server that was started is asked once it can answer; systemctl's own start waits for that.
        path = ":".join((os.path.join(host.folder, "bin"), os.path.dirname(server.BINARY), os.path.dirname(ctl.ETCD),
                         os.environ["PATH"]))
        parts = re.split(r"(?m)^(?=\S*ctl --endpoints \S+ endpoint health)", block)
        for number, part in enumerate(parts):
            if number > 0:
                self.wait_healthy([host])
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", part], capture_output=True, text=True, timeout=120,
                                  check=False, env={"PATH": path, "ETCDCTL_API": "3"})
            self.assertEqual(done.returncode, 0, f"{part}\n{done.stdout}\n{done.stderr}\n{host.log()}")

    def write(self):
        """A key more through each member that is up; all of them are there in the end."""
        for host in self.hosts:
            if host.process is None:
                continue
            with grpc.insecure_channel(host.endpoint) as channel:
                server.kv(channel).Put(server.rpc_pb2.PutRequest(key=b"moved %d" % self.written, value=b"v"), timeout=30,
                                       wait_for_ready=True)
            self.written += 1

    def seen(self, members=True):
        with grpc.insecure_channel(self.hosts[0].endpoint) as channel:
            return mixed_state.everything(channel, members=members)

    def check(self, before, members=True):
        """All is there, and the same everywhere."""
        self.wait_healthy(self.hosts)
        now = self.seen(members)
        moved = [row for row in now["rows"] if row[0].startswith(b"moved ")]
        self.assertEqual(len(moved), self.written)
        now["rows"] = [row for row in now["rows"] if not row[0].startswith(b"moved ")]
        self.assertEqual(now, before)

        def equal():
            found = set()
            for host in self.hosts:
                with grpc.insecure_channel(host.endpoint) as channel:
                    told = server.maintenance(channel).HashKV(server.rpc_pb2.HashKVRequest(revision=0), timeout=30)
                found.add((told.hash, told.header.revision, told.compact_revision))
            return len(found) == 1

        cluster.wait_until(equal, "equal hashes")

    def versions(self, host):
        with urllib.request.urlopen(f"http://{host.endpoint}/version", timeout=30) as answer:
            return json.load(answer)

    def wait_raised(self):
        """Members raise the cluster's version once all of them are kvorum's."""
        cluster.wait_until(lambda: self.versions(self.hosts[0])["etcdcluster"].startswith("3.7."),
                           "a cluster of version 3.7")

    def leads(self, host):
        with grpc.insecure_channel(host.endpoint) as channel:
            status = server.maintenance(channel).Status(server.rpc_pb2.StatusRequest(), timeout=30)
        return status.leader == status.header.member_id

    def member_by_member(self, blocks, members=True):
        """The last block on each host; before it, the others on a leader."""
        before = self.seen(members)
        before["rows"] = [row for row in before["rows"] if not row[0].startswith(b"moved ")]
        for host in self.hosts:
            self.write()
            for each in blocks if self.leads(host) else blocks[-1:]:
                self.run_block(each, host)
            self.write()
        self.check(before, members)

    def everywhere(self, block):
        for host in self.hosts:
            self.run_block(block, host)

    @unittest.skipUnless(adopt_test.peer_is_3_7(), "there is no etcd of 3.7")
    def test_rolling(self):
        self.begin(3)
        self.state = "existing"
        self.member_by_member(sections()["In: rolling"], members=False)

    def test_adopt_and_release(self):
        """Without a 3.7, one member alone; and 3.4 takes no directory back whose cluster is of a newer version."""
        is_3_7 = adopt_test.peer_is_3_7()
        self.begin(3 if is_3_7 else 1)
        self.member_by_member(sections()["In: adopt"])
        self.wait_raised()
        validate, _, release = sections()["Back: release"]
        self.run_block(validate, self.hosts[0])
        if is_3_7:
            self.member_by_member([release])

    @unittest.skipUnless(os.path.exists(adopt_test.ETCD_36), "no etcd of 3.6 in $KVORUM_PEER_36")
    def test_release_to_3_6(self):
        self.begin(3, adopt_test.ETCD_36)
        self.member_by_member(sections()["In: adopt"])
        self.wait_raised()
        validate, enable, release = sections()["Back: release"]
        self.run_block(validate, self.hosts[0])
        self.run_block(enable, self.hosts[0])
        for host in self.hosts:
            cluster.wait_until(lambda host=host: self.versions(host)["storage"] == "3.6.0",
                               f"the storage version 3.6.0 at {host.name}")
        self.member_by_member([release])

    def test_snapshots(self):
        self.begin(3)
        save, restore, start = sections()["In: snapshot"]
        before = self.seen(members=False)
        self.run_block(save, self.hosts[0])
        self.where = "kvorum"
        self.everywhere(restore)
        self.everywhere(start)
        self.check(before, members=False)
        self.write()
        self.written = 0
        save, restore, start = sections()["Back: snapshot"]
        before = self.seen(members=False)
        self.run_block(save, self.hosts[0])
        for host in self.hosts:
            shutil.rmtree(os.path.join(host.folder, "etcd"))
        self.where = "etcd"
        self.everywhere(restore)
        self.everywhere(start)
        self.wait_healthy(self.hosts)
        self.assertEqual(self.seen(members=False), before)

    def test_every_block_is_run(self):
        self.assertEqual({title: len(blocks) for title, blocks in sections().items() if blocks}, {
            "In: rolling": 2, "In: adopt": 1, "In: snapshot": 3, "Back: release": 3, "Back: snapshot": 3})


if __name__ == "__main__":
    if not ctl.etcd_is_here():
        print("SKIPPED: there is no etcd")
        sys.exit(0)
    unittest.main()
