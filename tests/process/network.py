"""Hosts on a wire of their own, which can be cut in either direction: network namespaces on one bridge.

The test runs in a namespace too (run_isolated starts it again there), with address 10.77.0.1. A host is a namespace
with a process that keeps it; all of it is gone when the processes are. A cut drops at the receiver, silently, as a
broken wire does: no reset, no error.
"""

import os
import subprocess
import sys
import unittest

INSIDE = "KVORUM_TEST_NETWORK"


def run_isolated():
    """For `if __name__ == "__main__"`: runs the tests within a namespace, or says why that cannot be."""
    if os.environ.get(INSIDE):
        unittest.main()
        return
    for flags in (["--net"], ["--map-root-user", "--net"]):
        probe = subprocess.run(["unshare", *flags, "ip", "link", "add", "probe", "type", "bridge"],
                               capture_output=True, check=False)
        if probe.returncode == 0:
            environment = {**os.environ, INSIDE: "1"}
            os.execvpe("unshare", ["unshare", *flags, sys.executable, "-B", *sys.argv], environment)
    print("SKIPPED: network namespaces are not permitted here: " + probe.stderr.decode().strip())


def ip(*words, pid=None):
    enter = [] if pid is None else ["nsenter", f"--net=/proc/{pid}/ns/net"]
    subprocess.run([*enter, "ip", *words], check=True)


class Network:
    def __init__(self):
        self.keepers = {}  # address -> process that keeps the namespace
        self.links = []
        self.cuts = set()
        ip("link", "set", "lo", "up")
        ip("link", "add", "wire", "type", "bridge")
        ip("address", "add", "10.77.0.1/24", "dev", "wire")
        ip("link", "set", "wire", "up")

    def close(self):
        # A namespace goes some time after its last process, and its links with it: the next network's have their names.
        for link in self.links:
            ip("link", "delete", link)
        for keeper in self.keepers.values():
            keeper.kill()
            keeper.wait()
            keeper.stdout.close()
        ip("link", "delete", "wire")

    def new_host(self):
        number = len(self.keepers) + 2
        address = f"10.77.0.{number}"
        # It says when it is in its namespace.
        keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo in; exec sleep infinity"],
                                  stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.keepers[address] = keeper
        keeper.stdout.readline()
        pid = keeper.pid
        link = f"h{number}"
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        self.links.append(link)
        ip("link", "set", link, "master", "wire", "up")
        ip("link", "set", "lo", "up", pid=pid)
        ip("address", "add", f"{address}/24", "dev", "eth0", pid=pid)
        ip("link", "set", "eth0", "up", pid=pid)
        # Room for rules that come before the delivery to this host.
        ip("rule", "add", "pref", "100", "lookup", "local", pid=pid)
        ip("rule", "delete", "pref", "0", pid=pid)
        return address

    def inside(self, address):
        """The words before a command that run it on the host."""
        return ["nsenter", f"--net=/proc/{self.keepers[address].pid}/ns/net"]

    def cut(self, sender, receiver):
        """From now on nothing of the sender's reaches the receiver."""
        if (sender, receiver) not in self.cuts:
            self.cuts.add((sender, receiver))
            ip("rule", "add", "pref", "10", "from", sender, "blackhole", pid=self.keepers[receiver].pid)

    def part(self, some, others):
        for one in some:
            for other in others:
                self.cut(one, other)
                self.cut(other, one)

    def heal(self):
        for sender, receiver in self.cuts:
            ip("rule", "delete", "pref", "10", "from", sender, "blackhole", pid=self.keepers[receiver].pid)
        self.cuts.clear()
