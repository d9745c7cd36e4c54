#!/usr/bin/env python3
"""The Node client "consul", unmodified."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "clients" / "client.js"


class NodeConsulTest(consul_fixture.ConsulCase):
    def test_the_node_client(self):
        modules = consul_fixture.client("node", "node_modules")
        if shutil.which("node") is None:
            self.skipTest("there is no node")
        done = subprocess.run(["node", PROGRAM, self.agent.address], env={**os.environ, "NODE_PATH": str(modules)},
                              capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "all as expected\n"), done.stderr[-3000:])


if __name__ == "__main__":
    consul_fixture.main()
