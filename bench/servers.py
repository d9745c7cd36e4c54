"""Servers for the comparisons: one, or the members of a cluster, on free ports, with their data in a folder of their
own. Each is a context manager that stops its processes.
"""

import json
import pathlib
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "process"))

import ports  # noqa: E402

READY_LIMIT_SECONDS = 600
STOP_LIMIT_SECONDS = 300
DEFAULT_QUOTA_BYTES = 8 << 30
MIB = 1 << 20


def status_line(pid, name):
    """The number on that line of the process's status."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"no {name} of process {pid}")


def rss_anon_bytes(pid):
    return status_line(pid, "RssAnon") * 1024


def memory_total_bytes():
    lines = pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemTotal:"))


def _client_context(secured):
    context = ssl.create_default_context(cafile=secured.client.authorities)
    context.load_cert_chain(secured.client.certificate, secured.client.key)
    return context


class Member:
    """A server's process, started as often as it is stopped."""

    def __init__(self, program, folder, name, flags=(), quota_bytes=DEFAULT_QUOTA_BYTES, secured=None):
        client_port, peer_port = ports.free_ports(2)
        self.name = name
        self.endpoint = f"127.0.0.1:{client_port}"
        self._scheme, self._context = ("http", None) if secured is None else ("https", _client_context(secured))
        self.peer_url = f"{self._scheme}://127.0.0.1:{peer_port}"
        self.data = folder / name
        self.log = folder / f"{name}.log"
        self._program = program
        self._flags = (*flags, *(() if secured is None else secured.flags(name)), f"--quota-backend-bytes={quota_bytes}")
        self._process = None

    @property
    def pid(self):
        return self._process.pid

    def start(self, members):
        """Does not wait until it answers. `members`: all of the cluster."""
        client = f"{self._scheme}://{self.endpoint}"
        cluster = ",".join(f"{member.name}={member.peer_url}" for member in members)
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                [str(self._program), f"--name={self.name}", f"--data-dir={self.data}",
                 f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                 f"--listen-peer-urls={self.peer_url}", f"--initial-advertise-peer-urls={self.peer_url}",
                 f"--initial-cluster={cluster}", *self._flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def check_runs(self):
        if self._process.poll() is not None:
            raise RuntimeError(f"{self._program} ended: see {self.log}")

    def get(self, path):
        """What it says at that path of its client port; None when it does not answer."""
        try:
            url = f"{self._scheme}://{self.endpoint}{path}"
            with urllib.request.urlopen(url, timeout=30, context=self._context) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, OSError):
            return None

    def is_healthy(self):
        try:
            return json.loads(self.get("/health") or "{}").get("health") in ("true", True)
        except ValueError:
            return False

    def metric(self, name):
        """The value of a metric without labels; None when it does not answer or has none."""
        lines = (self.get("/metrics") or "").splitlines()
        return next((float(line.split()[1]) for line in lines if line.startswith(name + " ")), None)

    def stop(self):
        self.ask_to_stop()
        self.wait_for_stop()

    def ask_to_stop(self):
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait_for_stop(self):
        if self._process is None:
            return
        try:
            self._process.wait(STOP_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Cluster:
    """`size` members; `secured`: certificates.Secured of the tests, for mutual TLS on all ports."""

    def __init__(self, program, folder, size, flags=(), quota_bytes=DEFAULT_QUOTA_BYTES, secured=None):
        self.members = [Member(program, folder, f"m{n}", flags, quota_bytes, secured) for n in range(size)]
        self.client_flags = [] if secured is None else secured.client.ctl()

    @property
    def endpoints(self):
        return [member.endpoint for member in self.members]

    @property
    def pids(self):
        return [member.pid for member in self.members]

    def start(self):
        """Seconds from the start of the processes until each says that it is healthy, with a leader."""
        begin = time.monotonic()
        for member in self.members:
            member.start(self.members)
        while not self._is_ready():
            for member in self.members:
                member.check_runs()
            if time.monotonic() - begin > READY_LIMIT_SECONDS:
                raise RuntimeError(f"not healthy: see {self.members[0].log}")
            time.sleep(0.005 if len(self.members) == 1 else 0.05)
        return time.monotonic() - begin

    def _is_ready(self):
        if not all(member.is_healthy() for member in self.members):
            return False
        return len(self.members) == 1 or self.leader() is not None

    def leader(self):
        """The leader, when every member knows one and one says that it is it; else None."""
        if not all(member.metric("etcd_server_has_leader") == 1 for member in self.members):
            return None
        leaders = [member for member in self.members if member.metric("etcd_server_is_leader") == 1]
        return leaders[0] if len(leaders) == 1 else None

    def stop(self):
        for member in self.members:
            member.ask_to_stop()
        for member in self.members:
            member.wait_for_stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Server(Cluster):
    """A cluster of one."""

    def __init__(self, program, folder, flags=(), quota_bytes=DEFAULT_QUOTA_BYTES, secured=None):
        super().__init__(program, folder, 1, flags, quota_bytes, secured)

    @property
    def endpoint(self):
        return self.members[0].endpoint

    @property
    def pid(self):
        return self.members[0].pid
