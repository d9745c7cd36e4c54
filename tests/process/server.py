"""A kvorum process for tests: free ports on loopback, a folder of its own, ended by its pid.

The binary comes from the folder $KVORUM_BIN_DIR (ctest sets it).
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import ports

BINARY = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum")
# In front of a command: what a test has started ends with it, however that ends.
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
READY = b"ready to serve client requests"


class Server:
    """One member; its data survives kill() and stop() until close()."""

    def __init__(self, *flags, data_dir=None):
        self.folder = tempfile.mkdtemp(prefix="kvorum-test-")
        self.data_dir = data_dir or os.path.join(self.folder, "data")
        self.flags = list(flags)
        self.binary = BINARY
        self.environment = {"PATH": os.environ["PATH"]}
        self.process = None
        self.starts = 0
        self.peer_port = ports.free_port()  # another one for each start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def command(self, *more):
        return [
            self.binary,
            "--data-dir", self.data_dir,
            "--listen-client-urls", f"http://127.0.0.1:{self.port}",
            "--advertise-client-urls", f"http://127.0.0.1:{self.port}",
            "--listen-peer-urls", f"http://127.0.0.1:{self.peer_port}",
            *self.flags,
            *more,
        ]

    def start(self, *more, timeout=30):
        self.port = ports.free_port()
        self.peer_port = ports.free_port()
        self.starts += 1
        self.log_path = os.path.join(self.folder, f"log.{self.starts}")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*ENDS_WITH_US, *self.command(*more)], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=self.environment, cwd=self.folder)
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if READY in self.log():
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError(f"the server did not get ready: {self.log().decode(errors='replace')}")

    def refuse(self, *more, timeout=20):
        """Starts it, expects it to refuse, returns (exit code, what it said)."""
        self.port = ports.free_port()
        self.peer_port = ports.free_port()
        done = subprocess.run(
            self.command(*more), capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout,
            env=self.environment, cwd=self.folder, check=False)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def log(self):
        with open(self.log_path, "rb") as log:
            return log.read()

    @property
    def endpoint(self):
        return f"127.0.0.1:{self.port}"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, timeout=10):
        """SIGTERM; returns (exit code, seconds it took)."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout)
        return code, time.monotonic() - begin

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def channel(self):
        return grpc.insecure_channel(self.endpoint)


def put(stub, key, value, **fields):
    return stub.Put(rpc_pb2.PutRequest(key=key, value=value, **fields), timeout=10)


def get(stub, key, **fields):
    return stub.Range(rpc_pb2.RangeRequest(key=key, **fields), timeout=10)


def kv(channel):
    return rpc_pb2_grpc.KVStub(channel)


def maintenance(channel):
    return rpc_pb2_grpc.MaintenanceStub(channel)
