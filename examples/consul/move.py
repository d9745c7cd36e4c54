#!/usr/bin/env python3
"""Takes to an agent of kvorumctl what a Consul holds that no agent brings along by itself.

  move.py kv FILE [AGENT]        the keys of FILE, as `consul kv export` wrote it, with their flags
  move.py catalog OLD [AGENT]    the nodes without an agent (external ones), and their services and checks, that the agent of
                                 Consul at OLD knows

AGENT and OLD are ADDRESS:PORT; AGENT is by default 127.0.0.1:8500. What is there already is written over. Services of nodes
with an agent come back as their agents and programs register them.
"""

import base64
import json
import sys
import urllib.parse
import urllib.request


def call(agent, method, path, body=None):
    with urllib.request.urlopen(urllib.request.Request(f"http://{agent}/v1/{path}", body, method=method), timeout=60) as answer:
        return json.load(answer)


def move_keys(file, agent):
    with open(file, encoding="utf8") as export:
        pairs = json.load(export)
    for pair in pairs:
        path = f"kv/{urllib.parse.quote(pair['key'])}?flags={pair['flags']}"
        if call(agent, "PUT", path, base64.b64decode(pair["value"] or "")) is not True:
            sys.exit(f"{pair['key']} was not taken")
    print(f"{len(pairs)} keys")


def definition(check):
    """The check as a registration has it."""
    return {name: check[name] for name in ("CheckID", "Name", "Status", "Notes", "Output", "ServiceID")}


def move_catalog(old, agent):
    moved = 0
    for node in call(old, "GET", "catalog/nodes"):
        name = urllib.parse.quote(node["Node"], safe="")
        checks = call(old, "GET", f"health/node/{name}")
        if any(check["CheckID"] == "serfHealth" for check in checks):
            continue
        services = call(old, "GET", f"catalog/node/{name}")["Services"].values()
        record = {"Node": node["Node"], "ID": node["ID"], "Address": node["Address"], "NodeMeta": node["Meta"],
                  "TaggedAddresses": node["TaggedAddresses"]}
        call(agent, "PUT", "catalog/register", json.dumps(record).encode())
        for service in services:
            call(agent, "PUT", "catalog/register", json.dumps({
                "Node": node["Node"], "Address": node["Address"], "SkipNodeUpdate": True, "Service": service}).encode())
        if checks:
            call(agent, "PUT", "catalog/register", json.dumps({
                "Node": node["Node"], "Address": node["Address"], "SkipNodeUpdate": True,
                "Checks": [{"Node": node["Node"], **definition(check)} for check in checks]}).encode())
        moved += 1
    print(f"{moved} nodes")


def main():
    what, source = sys.argv[1], sys.argv[2]
    agent = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1:8500"
    {"kv": move_keys, "catalog": move_catalog}[what](source, agent)


if __name__ == "__main__":
    main()
