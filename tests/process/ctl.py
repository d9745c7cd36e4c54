"""kvorumctl for tests, and the packaged etcd as a server that it must also get on with."""

import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

import ports

CTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumctl")
ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")


def run(endpoints, *arguments, stdin="", timeout=120, environment=None):
    """Runs it to its end; `endpoints` is a text or a list."""
    endpoints = endpoints if isinstance(endpoints, str) else ",".join(endpoints)
    return subprocess.run(
        [CTL, "--endpoints", endpoints, *arguments], input=stdin, capture_output=True, text=True, timeout=timeout,
        check=False, env={"PATH": os.environ["PATH"], **(environment or {})})


def succeed(endpoints, *arguments, **more):
    """Its output; an exit code other than 0 is a failure."""
    done = run(endpoints, *arguments, **more)
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


class Etcd:
    """One node of the packaged etcd. `etcd_is_here()` says if there is one."""

    def __init__(self, *flags):
        self.folder = tempfile.mkdtemp(prefix="kvorum-etcd-")
        client, peer = ports.free_ports(2)
        self.endpoint = f"127.0.0.1:{client}"
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", ETCD, "--data-dir", self.folder, "--listen-client-urls", f"http://{self.endpoint}",
             "--advertise-client-urls", f"http://{self.endpoint}", "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://{self.endpoint}/health", timeout=2) as answer:
                    if b'"true"' in answer.read():
                        return self
            except OSError:
                pass
            assert time.monotonic() < end and self.process.poll() is None, "the packaged etcd does not start"
            time.sleep(0.05)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def etcd_is_here():
    return os.path.exists(ETCD)
