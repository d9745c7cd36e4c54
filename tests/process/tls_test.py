"""TLS of real processes: a cluster whose members and clients verify each other, rotation of everything under load,
certificates that nobody believes, and certificates that the server makes for itself."""

import json
import os
import ssl
import socket
import subprocess
import threading
import unittest

import etcd3
import grpc
from etcd3.etcdrpc import rpc_pb2

import certificates
import ports
import server
from cluster import CTL, Cluster, wait_until

PEER = os.environ["KVORUM_PEER_DIR"]
BENCH = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-bench")
NODE_MODULES = os.environ["KVORUM_NODE_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, check=True, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False,
                          env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3", "NODE_PATH": NODE_MODULES, **more})
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done


def shown_certificate(port, files, offered=True):
    """The serial number of the certificate that a port shows, or the error."""
    context = ssl.create_default_context(cafile=files.authorities)
    if offered:
        context.load_cert_chain(files.certificate, files.key)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            return int(connection.getpeercert()["serialNumber"], 16)


def verdict(port, certificate, key, authorities):
    """The answer to GET /version for a client with that certificate: the status line, or "refused"."""
    context = ssl.create_default_context(cafile=authorities)
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                connection.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return connection.recv(4096).split(b"\r\n")[0].decode() or "refused"
    except (ssl.SSLError, ConnectionError):
        return "refused"


class Load:
    """Puts through connections that stay and through new ones, until it is stopped; every failure is kept."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.stopping = threading.Event()
        self.failures = []
        self.puts = {"kept": 0, "new": 0}
        self.threads = [threading.Thread(target=self.work, args=(member, kind))
                        for member in cluster.members for kind in self.puts]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def work(self, member, kind):
        channel = member.channel()
        while not self.stopping.is_set():
            try:
                if kind == "new":
                    channel.close()
                    channel = member.channel()
                server.put(server.kv(channel), f"{kind}/{member.name}".encode(), str(self.puts[kind]).encode())
                self.puts[kind] += 1
            except grpc.RpcError as error:
                self.failures.append(f"{kind} at {member.name}: {error.details()}")
        channel.close()

    def go_on(self, count=60):
        """Until so many more were answered on either kind of connection."""
        before = dict(self.puts)
        wait_until(lambda: self.failures or all(self.puts[kind] >= before[kind] + count for kind in before),
                   "puts to be answered")
        if self.failures:
            raise AssertionError(self.failures[:5])


class MutualTlsTest(unittest.TestCase):
    """A cluster in which everybody verifies everybody."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(secured=certificates.Secured)
        cls.addClassCleanup(cls.cluster.close)
        cls.secured = cls.cluster.secured
        cls.cluster.start()

    def test_clients_of_all_kinds(self):
        first = self.cluster.members[0]
        endpoints = ",".join(self.cluster.endpoints)
        for ctl in (os.path.join(PEER, "etcdctl"), CTL):
            secure = [ctl, "--endpoints", endpoints, *self.secured.client.ctl()]
            self.assertEqual(run(*secure, "put", "key", ctl).stdout, "OK\n")
            self.assertEqual(run(*secure, "get", "key").stdout, f"key\n{ctl}\n")
            health = run(*secure, "endpoint", "health")
            self.assertEqual((health.stdout + health.stderr).count("is healthy"), len(self.cluster.members))
            self.assertIn(f"https://127.0.0.1:{first.client_port}", run(*secure, "member", "list").stdout)
            self.assertNotEqual(
                run(ctl, "--endpoints", first.endpoint, "--command-timeout", "2s", "get", "key", check=False).returncode,
                0)
        files = self.secured.client
        with etcd3.client(host=first.host, port=first.client_port, ca_cert=files.authorities,
                          cert_cert=files.certificate, cert_key=files.key, timeout=10) as client:
            client.put("python", "1")
            self.assertEqual(client.get("python")[0], b"1")
        node = run("node", os.path.join(HERE, "node_tls.js"), first.client_url, files.authorities, files.certificate,
                   files.key)
        self.assertEqual(node.stdout, "all is well\n")
        bench = run(BENCH, "--json", "--endpoint", endpoints, *files.ctl(), "--count", "500", "--keys", "500",
                    "--sequential", "put")
        self.assertEqual(json.loads(bench.stdout)["calls"], 500)
        # Answers of several records of TLS.
        bench = run(BENCH, "--json", "--endpoint", endpoints, *files.ctl(), "--count", "50", "--keys", "1", "page")
        self.assertEqual(json.loads(bench.stdout)["calls"], 50)
        self.assertGreater(json.loads(bench.stdout)["answer_bytes"], 100_000)
        done = run("curl", "-sS", "--cacert", files.authorities, "--cert", files.certificate, "--key", files.key,
                   f"{first.client_url}/health")
        self.assertIn('"health":"true"', done.stdout)

    def test_certificates_that_nobody_believes(self):
        member = self.cluster.members[0]
        ca = self.secured.authority
        stranger = certificates.Authority()
        cases = {
            "good": (ca.issue("client"), "HTTP/1.1 200 OK"),
            "expired": (ca.issue("client", valid=(-2, -1)), "refused"),
            "early": (ca.issue("client", valid=(1, 2)), "refused"),
            "strangers": (stranger.issue("client"), "refused"),
            "self-signed": (certificates.self_signed("client"), "refused"),
            "for-servers": (ca.issue("client", usage=certificates.SERVER), "refused"),
            "elsewhere": (ca.issue("client", hosts=("10.1.2.3",)), {member.client_port: "HTTP/1.1 200 OK",
                                                                    member.peer_port: "refused"}),
        }
        for name, (certificate, expected) in cases.items():
            files = certificate.write(os.path.join(self.cluster.folder, name))
            for port in (member.client_port, member.peer_port):
                with self.subTest(name=name, port="peer" if port == member.peer_port else "client"):
                    self.assertEqual(verdict(port, *files, self.secured.client.authorities),
                                     expected if isinstance(expected, str) else expected[port])
        for port in (member.client_port, member.peer_port):
            self.assertEqual(verdict(port, None, None, self.secured.client.authorities), "refused")

    def test_everything_is_rotated_under_load(self):
        old = self.secured.authority
        new = certificates.Authority()
        everybody = self.secured.all_files()
        with Load(self.cluster) as load:
            load.go_on()
            for files in everybody:
                files.trust(old, new)
            load.go_on()
            for files in everybody:
                files.take(new.issue(os.path.basename(files.stem)))
            load.go_on()
            for files in everybody:
                files.trust(new)
            load.go_on()
        self.assertEqual(load.failures, [])
        self.secured.authority = new
        for member in self.cluster.members:
            for port, files in zip((member.peer_port, member.client_port), self.secured.files(member.name)):
                held = certificates.x509.load_pem_x509_certificate(certificates.read(files.certificate))
                self.assertEqual(shown_certificate(port, self.secured.client), held.serial_number)
        # A certificate of the old authority is no longer accepted.
        left = old.issue("client").write(os.path.join(self.cluster.folder, "left"))
        for port in (member.client_port, member.peer_port):
            self.assertEqual(verdict(port, *left, self.secured.client.authorities), "refused")
        self.cluster.check_equal()

    def test_a_member_comes_back_after_a_kill(self):
        victim = self.cluster.leader()
        victim.kill()
        others = [member for member in self.cluster.members if member is not victim]
        self.cluster.leader(among=others)
        self.cluster.ctl("put", "while", "it is away", endpoints=[member.endpoint for member in others])
        victim.start()
        self.assertEqual(self.cluster.ctl("get", "while", endpoints=[victim.endpoint]), "while\nit is away\n")
        self.cluster.check_equal()
        self.cluster.check_logs()

    def test_a_member_joins_and_one_with_a_strangers_certificate_does_not(self):
        stranger = self.cluster.new_member("stranger")
        try:
            self.secured.members["stranger"] = [
                files.take(certificates.Authority().issue("stranger")) for files in self.secured.files("stranger")]
            stranger.launch()
            self.assertNotEqual(stranger.process.wait(60), 0)
            self.assertIn(b"cannot fetch cluster info from peer urls", stranger.log())
        finally:
            self.cluster.forget(stranger)
        joiner = self.cluster.new_member("m4")
        self.cluster.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[joiner.peer_url]), without=joiner)
        joiner.start()
        self.cluster.check_equal()


class RevokedTest(unittest.TestCase):
    def test_what_is_revoked_is_refused_from_then_on(self):
        with Cluster(size=1, secured=certificates.Secured) as cluster:
            secured = cluster.secured
            lists = [os.path.join(cluster.folder, name) for name in ("peer.crl", "client.crl")]
            for path in lists:
                certificates.replace(path, secured.authority.revocation_list([]))
            secured.more = ["--peer-crl-file", lists[0], "--client-crl-file", lists[1]]
            member = cluster.start().members[0]
            leaver = secured.authority.issue("leaver")
            files = leaver.write(os.path.join(cluster.folder, "leaver"))
            ports = (member.client_port, member.peer_port)
            trusted = secured.client.authorities
            self.assertEqual([verdict(port, *files, trusted) for port in ports], ["HTTP/1.1 200 OK"] * 2)
            for path in lists:
                certificates.replace(path, secured.authority.revocation_list([leaver]))
            self.assertEqual([verdict(port, *files, trusted) for port in ports], ["refused"] * 2)
            cluster.ctl("put", "others", "go on")


class NamesTest(unittest.TestCase):
    def test_only_members_with_an_allowed_name_are_heard(self):
        with Cluster(secured=lambda folder: certificates.Secured(folder, clients=False)) as cluster:
            cluster.secured.more = ["--peer-cert-allowed-cn", "m1,m2,m3"]
            cluster.start()
            cluster.ctl("put", "key", "value")
            member = cluster.members[0]
            trusted = cluster.secured.client.authorities
            for name, expected in (("m2", "HTTP/1.1 200 OK"), ("m4", "refused")):
                files = cluster.secured.authority.issue(name).write(os.path.join(cluster.folder, "x-" + name))
                self.assertEqual(verdict(member.peer_port, *files, trusted), expected)


class SelfSigned(certificates.Secured):
    """Certificates that the members make for themselves."""

    def flags(self, name):
        return ["--peer-auto-tls", "--auto-tls"]


class AutoTlsTest(unittest.TestCase):
    def test_members_make_their_certificates_and_keep_them(self):
        with Cluster(secured=SelfSigned) as cluster:
            first = cluster.members[0]
            # Each client port has a certificate of its own: who trusts it, trusts it.
            cluster.secured.client.authorities = os.path.join(first.data_dir, "fixtures/client/cert.pem")
            for member in cluster.members:
                member.launch()
            for member in cluster.members:
                member.wait_ready()
            cluster.ctl("put", "key", "value", endpoints=[first.endpoint])
            paths = [os.path.join(first.data_dir, "fixtures", side, name)
                     for side in ("client", "peer") for name in ("cert.pem", "key.pem")]
            before = [certificates.read(path) for path in paths]
            for path in paths:
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            first.kill()
            first.start()
            self.assertEqual([certificates.read(path) for path in paths], before)
            first.kill()
            for path in (paths[1], paths[2]):  # the clients' key, the peers' certificate
                with open(path, "wb"):
                    pass
            first.start()
            after = [certificates.read(path) for path in paths]
            self.assertEqual([a == b for a, b in zip(after, before)], [False] * 4)
            self.assertIn(b"the self-signed certificate or its key is damaged", first.log())
            self.assertEqual(cluster.ctl("get", "key", endpoints=[first.endpoint]), "key\nvalue\n")
            self.assertIn(b"automatically generate certificates",
                          certificates.read(os.path.join(cluster.folder, "m1.log.1")))


class RefusalTest(unittest.TestCase):
    def test_files_that_cannot_be_are_refused_at_the_start(self):
        with server.Server() as member:
            folder = member.folder
            ca = certificates.Authority()
            good = ca.issue().write(os.path.join(folder, "good"))
            other = ca.issue().write(os.path.join(folder, "other"))
            garbage = os.path.join(folder, "garbage")
            certificates.replace(garbage, b"garbage")
            url = f"https://127.0.0.1:{ports.free_port()}"
            peer = ["--listen-peer-urls", url, "--initial-advertise-peer-urls", url]
            for flags, text in (
                    ([], "cannot listen on TLS for"),
                    (["--peer-cert-file", good[0]], "KeyFile and CertFile must both be present"),
                    (["--peer-cert-file", good[0], "--peer-key-file", other[1]], "does not match"),
                    (["--peer-cert-file", garbage, "--peer-key-file", good[1]], garbage),
                    (["--peer-cert-file", good[0], "--peer-key-file", "/no/such"], "/no/such"),
                    (["--peer-cert-file", good[0], "--peer-key-file", good[1], "--peer-trusted-ca-file", garbage],
                     garbage),
                    (["--peer-cert-file", good[0], "--peer-key-file", good[1], "--peer-cert-allowed-cn", "a",
                      "--peer-cert-allowed-hostname", "b"], "mutually exclusive"),
                    (["--peer-auto-tls", "--self-signed-cert-validity", "0"], "selfSignedCertValidity is invalid")):
                with self.subTest(flags=flags):
                    code, said = member.refuse(*peer, *flags)
                    self.assertEqual(code, 1)
                    self.assertIn(text, said)
                    self.assertNotIn("PRIVATE KEY", said)


if __name__ == "__main__":
    unittest.main()
