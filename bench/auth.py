#!/usr/bin/python3
"""Measures what users and roles cost: puts and ranges in the name of a user with 1,000 roles beside the same without
auth, and puts of who is logged in while 1,000 logins a second fail. Alternating rounds on one server, medians.

  bench/auth.py
  bench/auth.py --only etcd --rounds 1
"""

import argparse
import json
import subprocess
import sys
import time

import grpc
from etcd3.etcdrpc import auth_pb2, rpc_pb2, rpc_pb2_grpc

import measures
import programs
import servers
from table import print_table, ratio

ROLES = 1000
KEYS = 10_000
PREFIX = b"/kvorum-bench/"


class Bench(measures.Bench):
    def _users(self, server):
        """Root, and a user whose roles allow the bench's keys and a thousand other ranges; auth stays off."""
        with grpc.insecure_channel(server.endpoint) as channel:
            auth = rpc_pb2_grpc.AuthStub(channel)
            for name in ("root", "bench"):
                auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=name, password="p"))
            auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="root"))
            auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"))
            for number in range(ROLES):
                role = f"role{number}"
                auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name=role))
                key = PREFIX if number == 500 else b"/k%06d/" % number
                auth.RoleGrantPermission(rpc_pb2.AuthRoleGrantPermissionRequest(
                    name=role, perm=auth_pb2.Permission(permType=auth_pb2.Permission.READWRITE, key=key,
                                                        range_end=key[:-1] + bytes([key[-1] + 1]))))
                auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="bench", role=role))

    def _log_in(self, channel, name):
        return rpc_pb2_grpc.AuthStub(channel).Authenticate(
            rpc_pb2.AuthenticateRequest(name=name, password="p"), timeout=30).token

    def _turn(self, server, on):
        """Turns auth on or off; the bench's token."""
        with grpc.insecure_channel(server.endpoint) as channel:
            auth = rpc_pb2_grpc.AuthStub(channel)
            if on:
                auth.AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=30)
                return self._log_in(channel, "bench")
            auth.AuthDisable(rpc_pb2.AuthDisableRequest(), timeout=30,
                             metadata=[("token", self._log_in(channel, "root"))])
            return None

    def cost(self, name, program, folder):
        with servers.Server(program, folder) as server:
            server.start()
            keys = ("--keys", KEYS, "--connections", 8, "--streams", 32)
            self.load(server, *keys, "--sequential", "--count", KEYS, "put")
            self._users(server)
            for number in range(self._options.rounds):
                for on in (False, True) if number % 2 == 0 else (True, False):  # a machine's speed drifts
                    token = self._turn(server, on) if on else None
                    shown = ("--token", token) if on else ()
                    which = "with auth" if on else "without"
                    self.measure(name, server, f"range, {which}", *keys, *shown, "range")
                    self.measure(name, server, f"put, {which}", *keys, *shown, "put")
                    if on:
                        self._turn(server, False)

    def flood(self, name, program, folder):
        with servers.Server(program, folder) as server:
            server.start()
            self._users(server)
            token = self._turn(server, True)
            keys = ("--keys", KEYS, "--connections", 4, "--streams", 4, "--rate", self._options.put_rate,
                    "--token", token)
            for _ in range(self._options.rounds):
                self.measure(name, server, "put, nobody logs in", *keys, "put")
                logins = subprocess.Popen(
                    [str(self._options.bench), "--endpoint", server.endpoint, "--rate", str(self._options.logins),
                     "--connections", "8", "--streams", "512", "--seconds", str(self._options.seconds + 4), "login"],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    time.sleep(1.5)
                    self.measure(name, server, "put, a flood of logins", *keys, "put")
                finally:
                    logins.terminate()
                    logins.wait()
                    time.sleep(2)  # what is still being verified


def rows(bench):
    def row(server, what, measure, less, more, at_least=None, at_most=None):
        a, b = bench.median(server, f"{measure[0]} {less}"), bench.median(server, f"{measure[1]} {less}")
        result = ratio(b, a)
        met = None if result is None or server == "etcd" else (
            result >= at_least if at_least is not None else result <= at_most)
        target = f"at least {at_least}" if at_least is not None else f"at most {at_most}"
        return (f"{server}: {what}", *("" if v is None else f"{v:,.0f} {more}" for v in (a, b)),
                "" if result is None else f"{result:.3g}", "" if server == "etcd" else target, met)
    for server in ("etcd", "kvorum"):
        for operation in ("range", "put"):
            pair = (f"{operation}, without", f"{operation}, with auth")
            yield row(server, f"{operation} a second, without auth and with", pair, "/s", "/s", at_least=0.9)
            yield row(server, f"CPU of a {operation}, without auth and with", pair, "cpu us", "us", at_most=1.1)
        yield row(server, "p99 of a put, nobody logging in and a flood",
                  ("put, nobody logs in", "put, a flood of logins"), "p99 us", "us", at_most=1.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5, help="of each measure")
    parser.add_argument("--logins", type=int, default=1000, help="a second, in the flood")
    parser.add_argument("--put-rate", type=int, default=2000, help="a second, beside it")
    programs.add_programs(parser, "auth.json")
    options = parser.parse_args()

    bench = Bench(options)
    for phase in (bench.cost, bench.flood):
        programs.measure_each(options, phase)

    print_table([row for row in rows(bench) if any(row[1:4])])
    options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n")
    print(f"All samples: {options.report}")


if __name__ == "__main__":
    sys.exit(main())
