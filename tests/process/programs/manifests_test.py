#!/usr/bin/env python3
"""Manifests as published for etcd start kvorum unmodified, but for addresses, ports and paths.

Each one is the list of arguments, the environment or the file that a tool gives to etcd. 10.0.0.11 stands for the
machine, the ports are the usual ones, and files lie where that tool has them; the test replaces these three.
"""

import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import certificates  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

NODE = "127.0.0.2"  # another address than 127.0.0.1, as on a real machine
READY = b"ready to serve client requests"

PKI = "/etc/kubernetes/pki/etcd"
KUBEADM = [
    "--advertise-client-urls=https://10.0.0.11:2379",
    f"--cert-file={PKI}/server.crt",
    "--client-cert-auth=true",
    "--data-dir=/var/lib/etcd",
    "--initial-advertise-peer-urls=https://10.0.0.11:2380",
    "--initial-cluster=control-plane=https://10.0.0.11:2380",
    f"--key-file={PKI}/server.key",
    "--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.11:2379",
    "--listen-metrics-urls=http://127.0.0.1:2381",
    "--listen-peer-urls=https://10.0.0.11:2380",
    "--name=control-plane",
    f"--peer-cert-file={PKI}/peer.crt",
    "--peer-client-cert-auth=true",
    f"--peer-key-file={PKI}/peer.key",
    f"--peer-trusted-ca-file={PKI}/ca.crt",
    "--snapshot-count=10000",
    f"--trusted-ca-file={PKI}/ca.crt",
]
# The lists of Kubernetes 1.22 to 1.25, 1.26 to 1.33 (etcd 3.5), and from 1.34 on (etcd 3.6), where kubeadm chooses the
# spelling by etcd's version. kubeadm sorts its arguments. The last two were compared with manifests that it has
# written, as users publish them: /etc/kubernetes/manifests/etcd.yaml with the images etcd:3.5.7-0 and 3.5.15-0, and
# with InitialCorruptCheck as a gate; the first and minikube's follow from these tools' sources.
KUBEADM_1_22 = sorted([*KUBEADM, "--experimental-initial-corrupt-check=true"])
KUBEADM_1_28 = sorted([*KUBEADM_1_22, "--experimental-watch-progress-notify-interval=5s"])
KUBEADM_1_34 = sorted([*KUBEADM, "--feature-gates=InitialCorruptCheck=true", "--watch-progress-notify-interval=5s"])
MINIKUBE = sorted([*KUBEADM_1_28, "--proxy-refresh-interval=70000"])

# kOps: etcd-manager's environment.
KOPS = {
    "ETCD_ADVERTISE_CLIENT_URLS": "https://10.0.0.11:2379",
    "ETCD_CERT_FILE": "/etc/kubernetes/pki/etcd/server.crt",
    "ETCD_CLIENT_CERT_AUTH": "true",
    "ETCD_DATA_DIR": "/var/lib/etcd",
    "ETCD_ENABLE_V2": "false",
    "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK": "true",
    "ETCD_INITIAL_ADVERTISE_PEER_URLS": "https://10.0.0.11:2380",
    "ETCD_INITIAL_CLUSTER": "etcd-a=https://10.0.0.11:2380",
    "ETCD_INITIAL_CLUSTER_STATE": "new",
    "ETCD_INITIAL_CLUSTER_TOKEN": "TRi8zWiGYAOD3wNZ0aXoaw",
    "ETCD_KEY_FILE": "/etc/kubernetes/pki/etcd/server.key",
    "ETCD_LISTEN_CLIENT_URLS": "https://0.0.0.0:2379",
    "ETCD_LISTEN_METRICS_URLS": "http://127.0.0.1:2381",
    "ETCD_LISTEN_PEER_URLS": "https://0.0.0.0:2380",
    "ETCD_LOG_OUTPUTS": "stdout",
    "ETCD_LOGGER": "zap",
    "ETCD_NAME": "etcd-a",
    "ETCD_PEER_CERT_FILE": "/etc/kubernetes/pki/etcd/peer.crt",
    "ETCD_PEER_CLIENT_CERT_AUTH": "true",
    "ETCD_PEER_KEY_FILE": "/etc/kubernetes/pki/etcd/peer.key",
    "ETCD_PEER_TRUSTED_CA_FILE": "/etc/kubernetes/pki/etcd/ca.crt",
    "ETCD_QUOTA_BACKEND_BYTES": "8589934592",
    "ETCD_STRICT_RECONFIG_CHECK": "true",
    "ETCD_TRUSTED_CA_FILE": "/etc/kubernetes/pki/etcd/ca.crt",
}

# Bitnami's image: what its scripts and its chart set, theirs and others'.
BITNAMI = {
    "ALLOW_NONE_AUTHENTICATION": "yes",
    "BITNAMI_DEBUG": "false",
    "ETCDCTL_API": "3",
    "ETCD_ADVERTISE_CLIENT_URLS": "http://10.0.0.11:2379",
    "ETCD_AUTH_TOKEN": "jwt,priv-key=/opt/bitnami/etcd/certs/token/jwt-token.pem,sign-method=RS256,ttl=10m",
    "ETCD_CLUSTER_DOMAIN": "etcd-headless.default.svc.cluster.local",
    "ETCD_DATA_DIR": "/bitnami/etcd/data",
    "ETCD_DISABLE_PRESTOP": "no",
    "ETCD_DISABLE_STORE_MEMBER_ID": "no",
    "ETCD_DISASTER_RECOVERY": "no",
    "ETCD_INIT_SNAPSHOTS_DIR": "/init-snapshot",
    "ETCD_INITIAL_ADVERTISE_PEER_URLS": "http://10.0.0.11:2380",
    "ETCD_INITIAL_CLUSTER": "etcd-0=http://10.0.0.11:2380",
    "ETCD_INITIAL_CLUSTER_STATE": "new",
    "ETCD_INITIAL_CLUSTER_TOKEN": "etcd-cluster-k8s",
    "ETCD_LISTEN_CLIENT_URLS": "http://0.0.0.0:2379",
    "ETCD_LISTEN_PEER_URLS": "http://0.0.0.0:2380",
    "ETCD_LOG_LEVEL": "info",
    "ETCD_NAME": "etcd-0",
    "ETCD_ON_K8S": "yes",
    "ETCD_ROOT_PASSWORD": "secret",
    "ETCD_SNAPSHOTS_DIR": "/snapshots",
    "ETCD_START_FROM_SNAPSHOT": "no",
    "MY_STS_NAME": "etcd",
}

# /etc/default/etcd as guides for Patroni have it.
PATRONI = {
    "ETCD_NAME": "pg1",
    "ETCD_DATA_DIR": "/var/lib/etcd/postgres.etcd",
    "ETCD_LISTEN_PEER_URLS": "http://10.0.0.11:2380",
    "ETCD_LISTEN_CLIENT_URLS": "http://127.0.0.1:2379, http://10.0.0.11:2379",
    "ETCD_INITIAL_ADVERTISE_PEER_URLS": "http://10.0.0.11:2380",
    "ETCD_INITIAL_CLUSTER": "pg1=http://10.0.0.11:2380,",
    "ETCD_INITIAL_CLUSTER_STATE": "new",
    "ETCD_INITIAL_CLUSTER_TOKEN": "patroni-token",
    "ETCD_ADVERTISE_CLIENT_URLS": "http://10.0.0.11:2379",
    "ETCD_ENABLE_V2": "true",
    "ETCD_ELECTION_TIMEOUT": "5000",
    "ETCD_HEARTBEAT_INTERVAL": "1000",
}

# The environment of CoreOS' etcd-member.service and of the distributions' etcd.conf.
COREOS = {
    "ETCD_IMAGE_TAG": "v3.5.0",
    "ETCD_USER": "etcd",
    "ETCD_SSL_DIR": "/etc/ssl/etcd",
    "ETCD_NAME": "core-1",
    "ETCD_DATA_DIR": "/var/lib/etcd",
    "ETCD_LISTEN_PEER_URLS": "http://10.0.0.11:2380",
    "ETCD_LISTEN_CLIENT_URLS": "http://0.0.0.0:2379",
    "ETCD_INITIAL_ADVERTISE_PEER_URLS": "http://10.0.0.11:2380",
    "ETCD_ADVERTISE_CLIENT_URLS": "http://10.0.0.11:2379",
    "ETCD_INITIAL_CLUSTER": "core-1=http://10.0.0.11:2380",
    "ETCD_INITIAL_CLUSTER_STATE": "new",
    "ETCD_INITIAL_CLUSTER_TOKEN": "etcd-cluster",
    "ETCD_STRICT_RECONFIG_CHECK": "true",
    "ETCD_SNAPSHOT_COUNT": "10000",
    "ETCD_MAX_SNAPSHOTS": "5",
    "ETCD_MAX_WALS": "5",
    "ETCD_QUOTA_BACKEND_BYTES": "0",
    "ETCD_GRPC_KEEPALIVE_INTERVAL": "2h0m0s",
    "ETCD_PROXY": "off",
    "ETCD_DEBUG": "false",
    "ETCD_ENABLE_PPROF": "false",
    "ETCD_METRICS": "basic",
    "ETCD_LOG_PACKAGE_LEVELS": "",
    "ETCD_AUTO_COMPACTION_RETENTION": "1",
}

DRUID = """
name: etcd-main
data-dir: /var/etcd/data/new.etcd
metrics: basic
snapshot-count: 75000
enable-v2: false
quota-backend-bytes: 8589934592
auto-compaction-mode: periodic
auto-compaction-retention: 30m
listen-client-urls: https://0.0.0.0:2379
advertise-client-urls: https://10.0.0.11:2379
listen-peer-urls: https://0.0.0.0:2380
initial-advertise-peer-urls: https://10.0.0.11:2380
initial-cluster-token: etcd-cluster
initial-cluster-state: new
initial-cluster: etcd-main=https://10.0.0.11:2380
client-transport-security:
  cert-file: /etc/kubernetes/pki/etcd/server.crt
  key-file: /etc/kubernetes/pki/etcd/server.key
  client-cert-auth: true
  trusted-ca-file: /etc/kubernetes/pki/etcd/ca.crt
  auto-tls: false
peer-transport-security:
  cert-file: /etc/kubernetes/pki/etcd/peer.crt
  key-file: /etc/kubernetes/pki/etcd/peer.key
  client-cert-auth: true
  trusted-ca-file: /etc/kubernetes/pki/etcd/ca.crt
  auto-tls: false
"""

# With the keys that etcd's own sample still has, though nothing reads them any more.
SAMPLE = """
# This is a file for etcd 3.5.
name: 'node1'
data-dir: /var/lib/etcd
wal-dir:
snapshot-count: 10000
heartbeat-interval: 100
election-timeout: 1000
quota-backend-bytes: 0
listen-peer-urls: http://10.0.0.11:2380
listen-client-urls: http://10.0.0.11:2379,http://127.0.0.1:2379
max-snapshots: 5
max-wals: 5
cors:
initial-advertise-peer-urls: http://10.0.0.11:2380
advertise-client-urls: http://10.0.0.11:2379
discovery:
discovery-fallback: 'proxy'
discovery-proxy:
discovery-srv:
initial-cluster: node1=http://10.0.0.11:2380
initial-cluster-token: 'etcd-cluster'
initial-cluster-state: 'new'
strict-reconfig-check: false
enable-v2: true
proxy: 'off'
proxy-failure-wait: 5000
proxy-refresh-interval: 30000
client-transport-security:
  cert-file:
  key-file:
  client-cert-auth: false
  trusted-ca-file:
  auto-tls: false
peer-transport-security:
  cert-file:
  key-file:
  client-cert-auth: false
  trusted-ca-file:
  auto-tls: false
  allowed-cn:
  allowed-hostname:
self-signed-cert-validity: 1
log-level: debug
logger: zap
log-outputs: [stderr]
force-new-cluster: false
auto-compaction-mode: periodic
auto-compaction-retention: "1"
cipher-suites: [
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
]
tls-min-version: 'TLS1.2'
tls-max-version: 'TLS1.3'
"""


class ManifestsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kvorum-manifest-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.ports = dict(zip(("2379", "2380", "2381"), ports.free_ports(3)))
        self.pki = os.path.join(self.folder, "pki")
        os.mkdir(self.pki)
        authority = certificates.Authority()
        authority.write(os.path.join(self.pki, "ca"))
        hosts = (*certificates.HOSTS, NODE)
        for name in ("server", "peer", "client"):
            authority.issue(name, hosts=hosts).write(os.path.join(self.pki, name))

    def adapt(self, text):
        text = re.sub(r":(2379|2380|2381)\b", lambda port: f":{self.ports[port[1]]}", text)
        text = text.replace("10.0.0.11", NODE).replace(PKI, self.pki)
        return re.sub(r"(/var/|/bitnami/|/opt/)", self.folder + r"\1", text)

    def run_manifest(self, arguments=(), environment=None, tls=True, metrics=False):
        """Starts it, asks what its probe asks, ends it; returns its log."""
        log_path = os.path.join(self.folder, "log")
        with open(log_path, "wb") as log:
            process = subprocess.Popen(
                [server.BINARY, *map(self.adapt, arguments)], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"],
                     **{name: self.adapt(value) for name, value in (environment or {}).items()}})
        try:
            end = time.monotonic() + 60
            while READY not in certificates.read(log_path):
                said = certificates.read(log_path).decode(errors="replace")
                self.assertIsNone(process.poll(), said)
                self.assertLess(time.monotonic(), end, said)
                time.sleep(0.01)
            context = None
            if tls:
                context = ssl.create_default_context(cafile=os.path.join(self.pki, "ca.crt"))
                context.load_cert_chain(os.path.join(self.pki, "client.crt"), os.path.join(self.pki, "client.key"))
            url = f"http{'s' if tls else ''}://{NODE}:{self.ports['2379']}/health"
            with urllib.request.urlopen(url, timeout=20, context=context) as answer:
                self.assertIn(b'"health":"true"', answer.read())
            if metrics:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['2381']}/livez", timeout=20) as answer:
                    self.assertEqual(answer.status, 200)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), 0)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return certificates.read(log_path).decode(errors="replace")

    def run_file(self, text, **options):
        path = os.path.join(self.folder, "etcd.conf.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.adapt(text))
        return self.run_manifest(["--config-file=" + path], **options)

    def test_kubeadm_of_kubernetes_1_22(self):
        self.run_manifest(KUBEADM_1_22, metrics=True)

    def test_kubeadm_of_kubernetes_1_28_to_1_33(self):
        log = self.run_manifest(KUBEADM_1_28, metrics=True)
        self.assertIn("use --watch-progress-notify-interval", log)
        self.assertIn("use --feature-gates=InitialCorruptCheck=true", log)

    def test_kubeadm_of_kubernetes_1_34(self):
        log = self.run_manifest(KUBEADM_1_34, metrics=True)
        self.assertNotIn("ended with", log)

    def test_minikube(self):
        self.run_manifest(MINIKUBE, metrics=True)

    def test_etcd_manager_of_kops(self):
        self.run_manifest(environment=KOPS, metrics=True)

    def test_bitnami(self):
        token = self.adapt("/opt/bitnami/etcd/certs/token/jwt-token.pem")
        os.makedirs(os.path.dirname(token))
        subprocess.run(["openssl", "genrsa", "-out", token, "2048"], check=True, capture_output=True)
        log = self.run_manifest(environment=BITNAMI, tls=False)
        self.assertIn("unrecognized environment variable ETCD_ROOT_PASSWORD", log)
        self.assertNotIn("secret", log)

    def test_patroni(self):
        self.run_manifest(environment=PATRONI, tls=False)

    def test_coreos(self):
        self.run_manifest(environment=COREOS, tls=False)

    def test_etcd_druid(self):
        self.run_file(DRUID)

    def test_the_keys_of_the_sample_file(self):
        log = self.run_file(SAMPLE, tls=False)
        self.assertIn('the unknown key \\"discovery-proxy\\" is ignored', log)


if __name__ == "__main__":
    unittest.main()
