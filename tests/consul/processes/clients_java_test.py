#!/usr/bin/env python3
"""Two Java clients, unmodified: consul-api, which Spring Cloud Consul is made with, and consul-client."""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402


class JavaConsulTest(consul_fixture.ConsulCase):
    def test_consul_api(self):
        self.run_program("clients.Main")

    def test_consul_client(self):
        self.run_program("clients.ConsulClientMain")

    def run_program(self, name):
        folder = consul_fixture.client("java")
        if shutil.which("java") is None:
            self.skipTest("there is no java")
        done = subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/classes:{folder}/dependency/*",
                               name, self.agent.host, str(self.agent.port)],
                              capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "all as expected\n"), done.stderr[-3000:])


if __name__ == "__main__":
    consul_fixture.main()
