#!/usr/bin/env python3
"""Runs scripts of kvorumctl lines against a server of their own and compares what is printed.

  run_script.py SCRIPT...              compare; a difference is shown as a diff, exit 1
  run_script.py --rewrite SCRIPT...    write down what was printed instead
  run_script.py --server PATH --ctl PATH ...
                                       with other programs: etcd and etcdctl 3.7 print the same

A script is text: `@ flags` starts the server with these flags more, `$ ...` is a line to run, the
`< ...` after it its standard input (`<* N text`: the text N times); what follows is expected: `| ...` on the standard output, `! ...`
on the error stream, `? N` the exit code unless it is 0. `#` begins a comment.
In a line to run, ENDPOINT and PEER stand for the server's addresses, MEMBER for its id, ADDED for that
of the member that was added last, LEASE for that of the lease that was granted last.

Each script gets a fresh server. What differs from run to run is shown as a word: ENDPOINT, PEER,
CLUSTER, MEMBER, ADDED and LEASE (ids), DURATION, SIZE, INDEX. Lines of the error stream that are JSON are log lines
and are left out, as are those by which etcdctl's prompts say that they are not at a terminal.
"""

import argparse
import difflib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "process"))

import ports  # noqa: E402

START_TIMEOUT_S = 30
LINE_TIMEOUT_S = 60


class Server:
    """One node with free ports and a folder of its own, killed at the end."""

    def __init__(self, program, flags):
        self.folder = tempfile.TemporaryDirectory(prefix="kvorumctl-")
        self.client_port, self.peer_port = ports.free_ports(2)
        client, peer = (f"http://127.0.0.1:{p}" for p in (self.client_port, self.peer_port))
        log_path = pathlib.Path(self.folder.name, "log")
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program, "--name=n1", f"--data-dir={self.folder.name}/data",
                 f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                 f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                 f"--initial-cluster=n1={peer}", *flags],
                stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.is_healthy(client):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{program} does not start:\n{log_path.read_text(errors='replace')}")
            time.sleep(0.05)

    def is_healthy(self, url):
        try:
            with urllib.request.urlopen(url + "/health", timeout=1) as answer:
                return json.load(answer).get("health") == "true"
        except (OSError, ValueError):
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


class Runner:
    def __init__(self, server, ctl):
        self.server = server
        self.ctl = ctl
        self.endpoint = f"127.0.0.1:{server.client_port}"
        members = json.loads(self.run(["member", "list", "-w", "json"], b"", {}).stdout)
        self.ids = [(members["header"]["cluster_id"], "CLUSTER"),
                    (members["header"]["member_id"], "MEMBER")]

    def run(self, arguments, standard_input, environment):
        if "ETCDCTL_ENDPOINTS" not in environment and not any(
                a.startswith("--endpoints") for a in arguments):
            environment = {**environment, "ETCDCTL_ENDPOINTS": self.endpoint}
        return subprocess.run(
            [self.ctl, *arguments], input=standard_input, capture_output=True,
            env={"PATH": os.environ["PATH"], **environment}, timeout=LINE_TIMEOUT_S)

    def mask(self, text):
        text = text.replace(self.endpoint, "ENDPOINT")
        text = text.replace(f"127.0.0.1:{self.server.peer_port}", "PEER")
        for number, name in self.ids:
            text = re.sub(rf"\b({number}|0*{number:x})\b", name, text)
        # Ids of less than 16 digits are padded in sentences.
        text = re.sub(r"\b(cluster|Member) +(CLUSTER|MEMBER|ADDED)\b", r"\1 \2", text)
        text = re.sub(r"\b\d+(\.\d+)?(ns|µs|ms|s)(?=[\"\s.,]|$)", "DURATION", text)
        text = re.sub(r"\b\d+(\.\d+)? (B|kB|MB|GB)\b", "SIZE", text)
        text = re.sub(r"\b\d+%", "PERCENT", text)
        # The time left of a lease.
        text = re.sub(r"remaining\(\d+s\)", "remaining(DURATION)", text)
        text = re.sub(r'"ttl":\d+,"granted-ttl":([1-9])', r'"ttl":DURATION,"granted-ttl":\1', text)
        text = re.sub(r'(?m)^"TTL" : \d+(?=\n"GrantedTTL" : [1-9])', '"TTL" : DURATION', text)
        # Go writes one space or two between a message's fields, as a build's checksum has it.
        text = text.replace("MEMBER  alarm:", "MEMBER alarm:")
        # Members are listed by their ids, which are new each time.
        text = re.sub(r'(?<=ETCD_INITIAL_CLUSTER=")[^"]*',
                      lambda pairs: ",".join(sorted(pairs[0].split(","))), text)
        text = re.sub(r"(?m)^(MEMBER, .*\n)(ADDED, .*\n)", r"\2\1", text)
        # A table is as wide as its cells.
        text = re.sub("^[┌├│└].*$", lambda line: re.sub("([ ─])+", r"\1", line[0]), text,
                      flags=re.MULTILINE)
        # The status's sizes and indexes.
        text = re.sub(r'"(dbSize|dbSizeInUse|raftIndex|raftAppliedIndex)":\d+', r'"\1":INDEX', text)
        text = re.sub(r'^"(DBSize|DBSizeInUse|RaftIndex|RaftAppliedIndex)" : \d+', r'"\1" : INDEX',
                      text, flags=re.MULTILINE)
        text = re.sub(r", (true|false), (true|false), (\d+), \d+, \d+, ", r", \1, \2, \3, INDEX, INDEX, ",
                      text)
        return text

    def line(self, command, standard_input):
        """The script's lines that tell what this one prints."""
        environment = {}
        command = command.replace("ENDPOINT", self.endpoint)
        command = command.replace("PEER", f"127.0.0.1:{self.server.peer_port}")
        for number, name in self.ids[1:]:
            command = re.sub(rf"\b{name}\b", f"{number:x}", command)
        words = shlex.split(command)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        assert words[0] == "kvorumctl", command
        done = self.run(words[1:], standard_input, environment)
        added = (re.search(rb"^Member +([0-9a-f]+) added", done.stdout) or
                 re.search(rb'"member":{"ID":(\d+)', done.stdout))
        if added:
            number = int(added[1], 16 if done.stdout.startswith(b"Member") else 10)
            self.ids = self.ids[:2] + [(number, "ADDED")]
        granted = granted_lease(words, done.stdout.decode(errors="replace"))
        if granted is not None:
            self.ids = self.ids[:2] + [(granted, "LEASE")]
        shown = []
        for mark, stream in (("|", done.stdout), ("!", done.stderr)):
            text = self.mask(stream.decode(errors="backslashreplace"))
            text = text.replace(pathlib.Path(self.ctl).name, "kvorumctl")
            text = text.replace("\0", "\\x00")  # so that the script stays text
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            elif lines:
                lines[-1] += "\\"  # no end of line
            for printed in lines:
                if mark == "!" and printed.startswith(('{"level"', "stty: ")):
                    continue
                shown.append(f"{mark} {printed}" if printed else mark)
        if done.returncode != 0:
            shown.append(f"? {done.returncode}")
        return shown


def granted_lease(words, printed):
    """The id of the lease that was granted, whatever the format; None if there is none."""
    if words[1:3] != ["lease", "grant"]:
        return None
    for base, pattern in ((16, r"^lease ([0-9a-f]+) granted"), (10, r'"ID" ?: ?(\d+)[,\n]'),
                          (16, r'"ID" : ([0-9a-f]+)\n')):
        found = re.search(pattern, printed)
        if found:
            return int(found[1], base)
    return None


def input_line(text):
    if text.startswith("<* "):
        _, count, repeated = text.split(" ", 2)
        return repeated * int(count)
    return text[2:] + "\n"


def run_script(path, programs):
    """The script as it would read if it told what was printed."""
    lines = path.read_text().split("\n")
    flags = [flag for text in lines if text.startswith("@ ") for flag in shlex.split(text[2:])]
    server = Server(programs.server, flags)
    try:
        runner = Runner(server, programs.ctl)
        result = []
        at = 0
        while at < len(lines):
            if not lines[at].startswith("$ "):
                result.append(lines[at])
                at += 1
                continue
            result.append(lines[at])
            command = lines[at][2:]
            at += 1
            standard_input = ""
            while at < len(lines) and lines[at].startswith("<"):
                result.append(lines[at])
                standard_input += input_line(lines[at])
                at += 1
            while at < len(lines) and lines[at][:1] in ("|", "!", "?") and lines[at]:
                at += 1
            result += runner.line(command, standard_input.encode())
        return lines, result
    finally:
        server.stop()


def main():
    binaries = pathlib.Path(os.environ.get("KVORUM_BIN_DIR", "build/release/bin"))
    parser = argparse.ArgumentParser()
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("--server", default=str(binaries / "kvorum"))
    parser.add_argument("--ctl", default=str(binaries / "kvorumctl"))
    parser.add_argument("scripts", nargs="+", type=pathlib.Path)
    programs = parser.parse_args()
    failed = False
    for path in programs.scripts:
        expected, printed = run_script(path, programs)
        if programs.rewrite:
            path.write_text("\n".join(printed))
        elif expected != printed:
            failed = True
            print("\n".join(difflib.unified_diff(expected, printed, f"{path} (expected)",
                                                 f"{path} (printed)", lineterm="")))
        else:
            print(f"{path.name}: as expected")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
