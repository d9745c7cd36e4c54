"""A cluster of one etcd and two kvorum, and requests of fields that etcd3's messages do not have."""

import json
import os
import pathlib
import sys
import unittest

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402

ROOT = ("root", "pw")
FLAGS = (*cluster.QUICK, "--bcrypt-cost", "4", "--snapshot-count", "100000")


def etcd_of(variable):
    return os.path.join(os.environ.get(variable, ""), "etcd")


def needs(variable):
    return unittest.skipUnless(os.path.exists(etcd_of(variable)), f"no etcd in ${variable}")


def message(*fields):
    """Of (number, value): an int, or bytes; those of etcd3's messages are older than much of the API."""
    out = bytearray()

    def varint(number):
        while number >= 0x80:
            out.append(number & 0x7f | 0x80)
            number >>= 7
        out.append(number)
    for number, value in fields:
        if isinstance(value, int):
            varint(number << 3)
            varint(value & (1 << 64) - 1)
        else:
            varint(number << 3 | 2)
            varint(len(value))
            out.extend(value)
    return bytes(out)


class MixedCase(unittest.TestCase):
    def begin(self, etcd):
        self.addCleanup(setattr, cluster, "caller", None)
        self.members = cluster.Cluster(3, flags=FLAGS)
        self.fine = False
        self.addCleanup(lambda: self.members.close(keep=not self.fine))
        self.etcd, *self.ours = self.members.members
        self.etcd.binary = etcd
        for member in self.members.members:
            member.launch(*(() if member is self.etcd else ("--compact-hash-check-time", "1s")))
        for member in self.members.members:
            member.wait_ready()
        self.members.state = "existing"

    def learners(self, member):
        """Their URLs by their ids, as that member lists them; etcd3's messages do not tell."""
        listed = json.loads(self.members.ctl("member", "list", "-w", "json", endpoints=[member.endpoint]))["members"]
        return {m["ID"]: m["peerURLs"] for m in listed if m.get("isLearner", False)}

    @staticmethod
    def add_root(member):
        with member.channel() as channel:
            auth = rpc_pb2_grpc.AuthStub(channel)
            auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=ROOT[0], password=ROOT[1]), timeout=30)
            auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"), timeout=10)

    def enable_auth(self):
        self.add_root(self.etcd)
        with self.etcd.channel() as channel:
            rpc_pb2_grpc.AuthStub(channel).AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=10)
        cluster.caller = ROOT
