#!/usr/bin/python3
"""Measures kvorum beside etcd with auth and with mutual TLS on and off, one node and three members, on the same machine in
one run: data on disk, 32-byte keys, 256-byte values. Prints the medians and their ratios.

  bench/compare_secured.py                          three rounds, about 25 minutes
  bench/compare_secured.py --only kvorum --rounds 1 --seconds 2
"""

import argparse
import json
import os
import sys

import grpc
from etcd3.etcdrpc import auth_pb2, rpc_pb2, rpc_pb2_grpc

import measures
import programs
import servers
from table import number, ratio

import certificates  # noqa: E402 of the process tests, which servers has put into the path

PREFIX = b"/kvorum-bench/"
WAYS = {"plain": (False, False), "auth": (True, False), "mutual TLS": (False, True), "both": (True, True)}
ONE, THREE = "one node", "three members"
CALLS = ((1, "put"), (256, "put"), (256, "range"))


class SecuredBench(measures.Bench):
    def _log_in(self, members, secured):
        """Turns auth on; the token of a user whose only role is for the bench's keys."""
        endpoint = members.endpoints[0]
        channel = grpc.insecure_channel(endpoint) if secured is None else secured.client.channel(endpoint)
        with channel:
            auth = rpc_pb2_grpc.AuthStub(channel)
            for name in ("root", "bench"):
                auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=name, password="p"))
                auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name=name))
                auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user=name, role=name))
            auth.RoleGrantPermission(rpc_pb2.AuthRoleGrantPermissionRequest(
                name="bench", perm=auth_pb2.Permission(permType=auth_pb2.Permission.READWRITE, key=PREFIX,
                                                       range_end=PREFIX[:-1] + bytes([PREFIX[-1] + 1]))))
            auth.AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=30)
            return auth.Authenticate(rpc_pb2.AuthenticateRequest(name="bench", password="p"), timeout=30).token

    def phase(self, name, program, folder, place, way):
        with_auth, with_tls = WAYS[way]
        secured = certificates.Secured(str(folder)) if with_tls else None
        with servers.Cluster(program, folder, 1 if place == ONE else 3, secured=secured) as members:
            members.start()
            keys = ("--keys", self._options.keys)
            self.load(members, *keys, *measures.in_flight(256), "--count", self._options.keys, "--sequential", "put")
            token = ("--token", self._log_in(members, secured)) if with_auth else ()
            for flight, operation in CALLS:
                # One call in flight is with the leader.
                endpoints = [members.leader().endpoint] if flight == 1 and place == THREE else None
                self.measure(name, members, measure_of(place, way, flight, operation), "--warmup", self._options.warmup,
                             *measures.in_flight(flight), *keys, *token, operation, endpoints=endpoints)


def measure_of(place, way, flight, operation):
    return f"{place}, {way}: {operation}, {flight}"


def rows(bench):
    """(what, then etcd's, kvorum's and their ratio)"""
    for place in (ONE, THREE):
        for flight, operation in CALLS:
            figure, unit = ("p50 us", "us") if flight == 1 else ("/s", "/s")
            for way in WAYS:
                measure = measure_of(place, way, flight, operation)
                peer, ours = (bench.median(server, f"{measure} {figure}") for server in ("etcd", "kvorum"))
                cpu = [bench.median(server, f"{measure} cpu us") for server in ("etcd", "kvorum")]
                result, cpu_result = ratio(ours, peer), ratio(cpu[1], cpu[0])
                yield (f"{place}: {operation}, {flight} in flight, {way}", number(peer, unit), number(ours, unit),
                       number(result, "", 2), *(number(value, "us", 1) for value in cpu), number(cpu_result, "", 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    measures.add_rounds(parser)
    programs.add_programs(parser, "compare_secured.json")
    programs.add_any_file_system(parser)
    options = parser.parse_args()
    programs.check(options, options.bench)

    bench = SecuredBench(options)
    for number_of_round in range(1, options.rounds + 1):
        print(f"round {number_of_round} of {options.rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
        bench.probe_disk(options.data_root)
        for place in (ONE, THREE):
            for way in WAYS:
                programs.measure_each(options, bench.phase, place, way)
        options.report.write_text(json.dumps(bench.samples(), indent=1) + "\n", encoding="ascii")

    print("\n| | etcd | kvorum | ratio | etcd, CPU | kvorum, CPU | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for cells in rows(bench):
        print("| " + " | ".join(cells) + " |")
    print(f"\nMedians of {options.rounds} rounds. All samples: {options.report}")


if __name__ == "__main__":
    sys.exit(main())
