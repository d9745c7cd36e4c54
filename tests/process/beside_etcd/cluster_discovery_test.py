#!/usr/bin/env python3
"""Clusters whose first members meet in another, running cluster (--discovery-token, --discovery-endpoints)."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import certificates  # noqa: E402
import cluster  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

CTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumctl")
ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
TOKEN = "2f8c"
SIZE_KEY = f"/_etcd/registry/{TOKEN}/_config/size"


def has_peer():
    if not os.path.exists(ETCD):
        return False
    said = subprocess.run([ETCD, "--version"], capture_output=True, check=False).stdout
    return said.startswith(b"etcd Version: 3.7.")


class Member:
    """One process of the new cluster."""

    def __init__(self, folder, name, *flags, binary=server.BINARY):
        self.folder = folder
        self.name = name
        self.peer_url = f"http://127.0.0.1:{ports.free_port()}"
        self.client_url = f"http://127.0.0.1:{ports.free_port()}"
        self.log_path = os.path.join(folder, name + ".log")
        self.command = [
            *server.ENDS_WITH_US, binary, "--name", name, "--data-dir", os.path.join(folder, name),
            "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
            "--listen-client-urls", self.client_url, "--advertise-client-urls", self.client_url, *flags]
        self.process = None
        self.launch()

    def launch(self):
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            cwd=self.folder, env={"PATH": os.environ["PATH"]})

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_for(self, text):
        def said():
            log = self.log()
            if text in log:
                return True
            assert self.process.poll() is None, log
            return False
        cluster.wait_until(said, f"{self.name} to say {text!r}")

    def wait_ready(self):
        self.wait_for(server.READY.decode())

    def wait_end(self):
        self.process.wait(60)
        return self.process.returncode

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class ClusterDiscoveryTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kvorum-discovery-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.members = []

    def serve(self, *flags):
        """The cluster in which the others meet: a single member."""
        service = server.Server(*flags)
        self.addCleanup(service.close)
        return service

    def ctl(self, *command, endpoint=None, **options):
        return subprocess.run([CTL, "--endpoints", endpoint or self.service.endpoint, *command], timeout=60, check=True,
                              capture_output=True, **options).stdout.decode()

    def begin(self, size="3"):
        self.service = self.serve().start()
        self.ctl("put", SIZE_KEY, size)

    def start(self, name, *flags, token=TOKEN, endpoints=None, binary=server.BINARY):
        member = Member(self.folder, name, "--discovery-token", token, "--discovery-endpoints",
                        endpoints or f"http://{self.service.endpoint}", *flags, binary=binary)
        self.addCleanup(member.end)
        self.members.append(member)
        return member

    def check_cluster(self, *members):
        """They are one cluster, which answers."""
        for member in members:
            member.wait_ready()
        listed = self.ctl("member", "list", endpoint=members[0].client_url)
        self.assertEqual(len(listed.splitlines()), len(members), listed)
        for member in members:
            self.assertIn(f"{member.name}, {member.peer_url}", listed)
        self.ctl("put", "k", "v", endpoint=members[0].client_url)
        self.assertEqual(self.ctl("get", "k", endpoint=members[-1].client_url), "k\nv\n")

    def test_three_members_meet_and_a_fourth_finds_the_cluster_full(self):
        self.begin()
        first = self.start("m1")
        first.wait_for("waiting for peers from discovery service")
        members = [first, self.start("m2"), self.start("m3")]
        self.check_cluster(*members)
        for member in members:
            self.assertIn("discovery joined cluster successfully", member.log())
        registered = self.ctl("get", "--prefix", f"/_etcd/registry/{TOKEN}/members/", "--print-value-only")
        self.assertCountEqual(registered.split(), [f"{m.name}={m.peer_url}" for m in members])
        late = self.start("m4")
        self.assertEqual(late.wait_end(), 1)
        self.assertIn("discovery: cluster is full", late.log())
        self.assertIn("do not reuse discovery token", late.log())
        # A later start goes by the data, and asks nobody.
        self.service.kill()
        first.process.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait_end(), 0)
        first.launch()
        first.wait_ready()
        self.assertIn("discovery token is ignored since cluster already initialized", first.log())

    def test_a_token_that_nobody_has_set_up_is_refused(self):
        self.begin(size="no number")
        wrong = self.start("m1", token="other")
        self.assertEqual(wrong.wait_end(), 1)
        self.assertIn("failed to join discovery cluster (discovery: size key not found)", wrong.log())
        bad = self.start("m2")
        self.assertEqual(bad.wait_end(), 1)
        self.assertIn("discovery: size key is bad", bad.log())
        self.assertEqual(self.ctl("get", "--prefix", "--keys-only", "/_etcd/registry/other"), "")

    def test_a_member_waits_for_the_service_and_for_others_until_it_is_told_to_end(self):
        self.service = self.serve()
        port = ports.free_port()
        member = self.start("m1", "--discovery-request-timeout=300ms",
                            endpoints=f"http://127.0.0.1:1,127.0.0.1:{port}/path")
        member.wait_for("retry connecting to discovery service")
        self.service.command = lambda *more: [
            server.BINARY, "--data-dir", self.service.data_dir, "--listen-client-urls", f"http://127.0.0.1:{port}",
            "--advertise-client-urls", f"http://127.0.0.1:{port}", "--listen-peer-urls",
            f"http://127.0.0.1:{self.service.peer_port}"]
        self.service.start()
        self.ctl("put", SIZE_KEY, "2", endpoint=f"127.0.0.1:{port}")

        def waits():
            if member.process.poll() is not None:  # it has looked before the size was there
                member.launch()
            return "waiting for peers from discovery service" in member.log()
        cluster.wait_until(waits, "the member to wait for others")
        member.process.send_signal(signal.SIGTERM)
        self.assertEqual(member.wait_end(), -signal.SIGTERM)

    def test_by_tls_and_with_a_user(self):
        files = certificates.Files(os.path.join(self.folder, "service"))
        authority = certificates.Authority()
        files.take(authority.issue("service")).trust(authority)
        self.service = self.serve("--cert-file", files.certificate, "--key-file", files.key, "--client-cert-auth",
                                  "--trusted-ca-file", files.authorities)
        plain = self.service.command
        self.service.command = lambda *more: [
            part.replace("http://", "https://") if number in (4, 6) else part for number, part in
            enumerate(plain(*more))]
        self.service.start()
        tls = ["--cacert", files.authorities, "--cert", files.certificate, "--key", files.key]
        for command in (["put", SIZE_KEY, "1"], ["role", "add", "d"],
                        ["role", "grant-permission", "--prefix", "d", "readwrite", "/_etcd/"],
                        ["user", "add", "root:r"], ["user", "grant-role", "root", "root"], ["user", "add", "d:secret"],
                        ["user", "grant-role", "d", "d"], ["auth", "enable"]):
            self.ctl(*tls, *command)
        flags = ["--discovery-cacert", files.authorities, "--discovery-cert", files.certificate, "--discovery-key",
                 files.key, "--discovery-insecure-transport=false"]
        quick = "--discovery-request-timeout=1s"
        endpoint = self.service.endpoint
        nobody = self.start("m1", *flags, quick, endpoints=endpoint)
        nobody.wait_for("etcdserver: permission denied")  # its certificate's name is a user that does not exist
        wrong = self.start("m2", *flags, quick, "--discovery-user=d", "--discovery-password=x", endpoints=endpoint)
        wrong.wait_for("etcdserver: authentication failed, invalid user ID or password")
        self.assertNotIn("secret", wrong.log())
        for member in (nobody, wrong):
            member.end()
        self.check_cluster(self.start("m3", *flags, "--discovery-user=d:secret", endpoints=endpoint))
        untrusting = self.start("m4", quick, endpoints="https://" + endpoint)
        untrusting.wait_for("certificate")

    @unittest.skipUnless(has_peer(), "there is no etcd of 3.7")
    def test_members_of_both_kinds_meet(self):
        self.begin()
        members = [self.start("m1"), self.start("e2", binary=ETCD), self.start("m3")]
        self.check_cluster(*members)


if __name__ == "__main__":
    unittest.main()
