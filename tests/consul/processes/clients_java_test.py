#!/usr/bin/env python3
"""The Java client consul-api, unmodified, which Spring Cloud Consul is made with."""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402


class JavaConsulTest(consul_fixture.ConsulCase):
    def test_the_java_client(self):
        folder = consul_fixture.client("java")
        if shutil.which("java") is None:
            self.skipTest("there is no java")
        done = subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/classes:{folder}/dependency/*",
                               "clients.Main", self.agent.host, str(self.agent.port)],
                              capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "all as expected\n"), done.stderr[-3000:])


if __name__ == "__main__":
    consul_fixture.main()
