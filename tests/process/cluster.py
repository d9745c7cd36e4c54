"""A cluster of kvorum processes for tests: ports and folders of its own, faults by signals, ended by their pids.

Members keep their addresses and data from one start to the next. With a Network (network.py) each runs in a network
namespace of its own, so that it can be cut off.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import as_user
import ports
import server

CTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumctl")
# Elections are decided in half a second, which a busy machine still manages.
QUICK = ("--heartbeat-interval", "100", "--election-timeout", "500")
# For tests whose leader has to stay the same: a busy machine may keep it from running for a second.
STEADY = ("--heartbeat-interval", "100", "--election-timeout", "3000")


# The answers to a change after which it may have been made, or still be.
UNKNOWN_OUTCOME = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNKNOWN)
# The refusal of a change that is asked for a second time.
MADE_ALREADY = {"MemberAdd": "Peer URLs already exists", "MemberRemove": "member not found"}


def wait_until(condition, what, timeout=60):
    """The first true value that `condition` returns; it is asked again and again, and more often in the first
    moments: most of what is waited for is true within milliseconds."""
    end = time.monotonic() + timeout
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s in vain for {what}")
        time.sleep(pause)
        pause = min(1.5 * pause, 0.02)


def stop_all_threads(pid):
    """SIGSTOP, and until each thread has stopped: on a busy machine one goes on for a while."""
    os.kill(pid, signal.SIGSTOP)

    def is_stopped(task):
        try:
            with open(os.path.join(task, "stat"), encoding="utf8") as stat:
                return stat.read().rpartition(")")[2].split()[0] in "Tt"
        except OSError:  # it has ended
            return True
    wait_until(lambda: all(map(is_stopped, glob.glob(f"/proc/{pid}/task/*"))), f"process {pid} to stop")


# The name and password with which all calls are made while auth is on, by kvorumctl too; None: nobody's.
caller = None


def channel_to(endpoint, secured=None):
    if secured is not None and secured.has_clients:
        return secured.client.channel(endpoint)
    # Channels share connections and their back-off unless told not to.
    channel = grpc.insecure_channel(endpoint, options=[("grpc.use_local_subchannel_pool", 1)])
    return channel if caller is None else as_user.intercept(channel, *caller)


class Member:
    def __init__(self, cluster, name, host):
        self.cluster = cluster
        self.name = name
        self.host = host
        self.client_port = ports.free_port()
        self.peer_port = ports.free_port()
        self.advertised_peer_port = None  # if it is another one
        self.data_dir = os.path.join(cluster.folder, name)
        self.binary = server.BINARY
        self.environment = {}
        self.process = None
        self.starts = 0
        self.paused = False

    @property
    def endpoint(self):
        return f"{self.host}:{self.client_port}"

    @property
    def peer_url(self):
        return f"{self.peer_scheme}://{self.host}:{self.advertised_peer_port or self.peer_port}"

    @property
    def peer_scheme(self):
        return "http" if self.cluster.secured is None else "https"

    @property
    def client_url(self):
        scheme = "http" if self.cluster.secured is None else self.cluster.secured.client_scheme
        return f"{scheme}://{self.endpoint}"

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        return self.log_of(self.starts)

    def log_of(self, start):
        """The log of its n-th process, from 1 on."""
        with open(os.path.join(self.cluster.folder, f"{self.name}.log.{start}"), "rb") as log:
            return log.read()

    def launch(self, *more):
        """Starts the process; it is ready later (wait_ready)."""
        assert not self.alive
        self.starts += 1
        self.log_path = os.path.join(self.cluster.folder, f"{self.name}.log.{self.starts}")
        command = [
            *server.ENDS_WITH_US,
            self.binary,
            "--name", self.name,
            "--data-dir", self.data_dir,
            "--listen-client-urls", self.client_url,
            "--advertise-client-urls", self.client_url,
            "--listen-peer-urls", f"{self.peer_scheme}://{self.host}:{self.peer_port}",
            "--initial-advertise-peer-urls", self.peer_url,
            "--initial-cluster", self.cluster.initial_cluster(self),
            "--initial-cluster-state", self.cluster.state,
            "--initial-cluster-token", self.cluster.token,
            *self.cluster.flags,
            *(() if self.cluster.secured is None else self.cluster.secured.flags(self.name)),
            *more,
        ]
        if self.cluster.network is not None:
            command = self.cluster.network.inside(self.host) + command
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env={"PATH": os.environ["PATH"], **self.environment},
                                            cwd=self.cluster.folder)
        self.paused = False

    def ready(self):
        if server.READY in self.log():
            return True
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}: {self.tail()}")
        return False

    def wait_ready(self, timeout=60):
        wait_until(self.ready, f"{self.name} to be ready; its log ends with {self.tail()}", timeout)

    def start(self, *more, timeout=60):
        self.launch(*more)
        self.wait_ready(timeout)

    def tail(self):
        return self.log()[-3000:].decode(errors="replace")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.paused = False

    def stop(self, timeout=10):
        """SIGTERM; returns (exit code, seconds it took)."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout), time.monotonic() - begin

    def pause(self):
        stop_all_threads(self.process.pid)
        self.paused = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def wipe(self):
        assert not self.alive
        shutil.rmtree(self.data_dir)

    def channel(self):
        return channel_to(self.endpoint, self.cluster.secured)

    def status(self, timeout=2):
        """Its Status, or None when it does not answer."""
        with self.channel() as channel:
            try:
                return server.maintenance(channel).Status(rpc_pb2.StatusRequest(), timeout=timeout)
            except grpc.RpcError:
                return None

    def applied(self):
        """Its applied index and revision, or None when it does not answer. With users each question is an entry: the
        login."""
        status = self.status()
        if status is None:
            return None
        index = next(field.data for field in status.UnknownFields() if field.field_number == 7)  # raftAppliedIndex
        return index, status.header.revision

    def wait_status(self):
        """Its Status, as soon as it answers."""
        return wait_until(self.status, f"{self.name} to answer")

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf8") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError(f"{self.name} has no VmRSS")


class Cluster:
    """`size` members m1, m2...; start() starts all of them. What runs is killed at the end. With `secured`
    (certificates.Secured, made of the cluster's folder) its ports are under TLS."""

    def __init__(self, size=3, flags=QUICK, network=None, secured=None):
        # Never long: the token and the names stand in every member's environment and log.
        self.folder = tempfile.mkdtemp(prefix="kvorum-cluster-")
        self.token = os.path.basename(self.folder)
        self.flags = list(flags)
        self.network = network
        self.secured = None if secured is None else secured(self.folder)
        self.state = "new"
        self.members = []
        for number in range(1, size + 1):
            self.new_member(f"m{number}")
        self.founders = list(self.members)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(keep=kind is not None)

    def new_member(self, name):
        """A member that is not started, and not known to the others."""
        host = "127.0.0.1" if self.network is None else self.network.new_host()
        member = Member(self, name, host)
        self.members.append(member)
        return member

    def forget(self, member):
        self.members.remove(member)

    def initial_cluster(self, member):
        # Only the first start reads it.
        members = self.founders if self.state == "new" else self.members
        return ",".join(f"{m.name}={m.peer_url}" for m in members if m is member or m.starts > 0 or self.state == "new")

    def start(self, timeout=60):
        for member in self.members:
            member.launch()
        for member in self.members:
            member.wait_ready(timeout)
        # A member started from here on without data joins.
        self.state = "existing"
        return self

    def close(self, keep=False):
        for member in self.members:
            if member.alive:
                member.kill()
        if keep:
            print(f"the members' data and logs are in {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def alive(self):
        return [m for m in self.members if m.alive and not m.paused]

    @property
    def endpoints(self):
        return [m.endpoint for m in self.members]

    @staticmethod
    def wait_log_cut(member, index):
        """Until its log begins behind that entry, so that who has no more needs a snapshot. It is cut off a moment after
        the writes, once the database is durable, at a snapshot of the log; the flags here keep five entries before one."""
        kept = 5
        saved = re.compile(rb'saved snapshot to disk.*"snapshot-index":"?(\d+)')
        wait_until(lambda: max(map(int, saved.findall(member.log())), default=0) > index + kept,
                   f"{member.name} to cut its log off behind {index}")

    def leader(self, timeout=60, among=None):
        """The member that leads and that a majority of the answering members takes for the leader."""
        def find():
            answers = [(m, m.status()) for m in (among or self.alive)]
            answers = [(m, s) for m, s in answers if s is not None]
            for member, status in answers:
                votes = sum(1 for _, s in answers if s.leader == status.header.member_id and
                            s.raftTerm == status.raftTerm)
                if status.leader == status.header.member_id and votes * 2 > len(answers):
                    return member
            return None
        return wait_until(find, "a leader", timeout)

    def followers(self):
        leader = self.leader()
        return [m for m in self.alive if m is not leader]

    def ctl(self, *arguments, endpoints=None, timeout=30):
        """Runs kvorumctl, which must succeed, and returns its output."""
        done = subprocess.run(
            [CTL, "--endpoints", ",".join(endpoints or [m.endpoint for m in self.alive]),
             *(self.secured.client.ctl() if self.secured is not None and self.secured.has_clients else ()),
             *(() if caller is None else ("--user", ":".join(caller))), *arguments],
            capture_output=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise AssertionError(f"kvorumctl {arguments}: {done.stderr.decode()}")
        return done.stdout.decode()

    def details(self, member):
        """Status as kvorumctl prints it in JSON: with the applied index and the errors."""
        return json.loads(self.ctl("endpoint", "status", "-w", "json", endpoints=[member.endpoint]))[0]["Status"]

    def wait_equal(self, timeout=60):
        """Waits until all members have one revision, and all entries that any had applied by then: a compaction, which
        HashKV tells of, moves no revision. Returns that revision with the HashKV of each."""
        def all_applied():
            states = [member.applied() for member in self.members]
            return None if None in states else states

        def same():
            states = all_applied()
            if states is None or len({revision for _, revision in states}) != 1:
                return None
            return max(states)
        index, revision = wait_until(same, "all members to have one revision", timeout)
        wait_until(lambda: all(applied >= index for applied, _ in all_applied() or [(0, 0)]),
                   f"all members to have applied entry {index}", timeout)
        hashes = {}
        for member in self.members:
            with member.channel() as channel:
                answer = server.maintenance(channel).HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=30)
                hashes[member.name] = (answer.hash, answer.compact_revision)
        return revision, hashes

    def check_equal(self, timeout=60):
        revision, hashes = self.wait_equal(timeout)
        if len(set(hashes.values())) != 1:
            raise AssertionError(f"the members differ at revision {revision}: {hashes}")
        return revision

    def check_logs(self):
        """No member logged what must not happen in any fault that leaves disks alone."""
        for member in self.members:
            for start in range(1, member.starts + 1):
                path = os.path.join(self.folder, f"{member.name}.log.{start}")
                with open(path, encoding="utf8", errors="replace") as log:
                    for line in log:
                        if '"level":"fatal"' in line or '"level":"panic"' in line or "Sanitizer" in line:
                            raise AssertionError(f"{path}: {line}")

    def change(self, method, request, without=None):
        """A membership change through a member that stays. It is asked again while it is refused for want of health, and
        after an outcome that is not known, until it is made or turns out to have been."""
        through = next(m for m in self.alive if m is not without)
        outcome_unknown = False

        def attempt():
            nonlocal outcome_unknown
            with through.channel() as channel:
                try:
                    getattr(rpc_pb2_grpc.ClusterStub(channel), method)(request, timeout=10)
                    return True
                except grpc.RpcError as error:
                    if "unhealthy cluster" in error.details() or "not enough started" in error.details():
                        return False
                    if outcome_unknown and MADE_ALREADY[method] in error.details():
                        return True
                    if error.code() not in UNKNOWN_OUTCOME:
                        raise
                    outcome_unknown = True
                    return False
        wait_until(attempt, f"{method} to be accepted")

    def listed(self):
        with self.alive[0].channel() as channel:
            return rpc_pb2_grpc.ClusterStub(channel).MemberList(rpc_pb2.MemberListRequest(), timeout=10).members
