"""The programs that a comparison runs, and the folder that it runs them in."""

import os
import pathlib
import shutil
import subprocess
import sys

from servers import ROOT

BUILT = ROOT / "build/release/bin"
PEERS = (ROOT / "build/peer-newest/etcd", ROOT / "build/peer-3.7/etcd", ROOT / "build/peer/usr/bin/etcd")


def newest_peer():
    """The newest etcd that scripts/setup could get, or where the packaged one would be."""
    return next((peer for peer in PEERS if os.access(peer, os.X_OK)), PEERS[-1])


def add_programs(parser, report):
    """The options that say what is measured, with what, and where the data and the samples go."""
    parser.add_argument("--only", choices=["etcd", "kvorum"])
    parser.add_argument("--data-root", type=pathlib.Path, default=ROOT / "build" / "bench-data")
    parser.add_argument("--etcd", type=pathlib.Path, default=newest_peer())
    parser.add_argument("--kvorum", type=pathlib.Path, default=BUILT / "kvorum")
    parser.add_argument("--bench", type=pathlib.Path, default=BUILT / "kvorum-bench")
    parser.add_argument("--watch-bench", type=pathlib.Path, default=BUILT / "kvorum-watch-bench")
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / "build" / report,
                        help="where all samples go, as JSON")


def add_any_file_system(parser):
    parser.add_argument("--any-file-system", action="store_true",
                        help="data may be in memory: to try the tool, not to measure")


def on_disk(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    return kind not in ("tmpfs", "ramfs")


def check(options, *tools):
    """Ends the program unless every program is there, and the data's folder on a disk."""
    for program in (*chosen(options).values(), *tools):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is missing: `make bench` builds and unpacks it")
    options.data_root.mkdir(parents=True, exist_ok=True)
    if not options.any_file_system and not on_disk(options.data_root):
        sys.exit(f"{options.data_root} is in memory; name a folder on disk with --data-root")


def chosen(options):
    """The servers to be measured, name: program."""
    return {name: program for name, program in (("etcd", options.etcd), ("kvorum", options.kvorum))
            if options.only in (None, name)}


def measure_each(options, phase, *arguments):
    """Runs the phase with every server in turn, with an empty folder for its data."""
    options.data_root.mkdir(parents=True, exist_ok=True)
    for name, program in chosen(options).items():
        folder = options.data_root / f"{os.getpid()}-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        phase(name, program, folder, *arguments)
        shutil.rmtree(folder)  # kept when the phase failed: its logs are in there
