"""Programs in Go, Rust and Java that use a cluster of three by their own libraries: `make test-clients`.

  run.py FOLDER   builds each whose toolchain stands ready in FOLDER, and runs its scenarios

Each scenario is one case. Those of a language without its toolchain are counted as skipped. The last line is
"clients: N passed, N failed, N skipped".
"""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "process"))

import certificates  # noqa: E402
import cluster  # noqa: E402

SCENARIOS = ("txn", "watch", "lease", "lock", "election", "auth")
OF_GO = ("leasing", "ordering", "mirror")
SECURED = ("txn", "lock")


def build_go(folder):
    binary = os.path.join(folder, "go", "clients")
    subprocess.run(["go", "build", "-o", binary, "."], cwd=os.path.join(HERE, "go"), check=True)
    return [binary]


def build_rust(folder):
    target = os.path.join(folder, "rust")
    subprocess.run(["cargo", "build", "--quiet", "--target-dir", target], cwd=os.path.join(HERE, "rust"),
                   check=True)
    return [os.path.join(target, "debug", "clients")]


def build_java(folder):
    target = os.path.join(folder, "java")
    subprocess.run(["mvn", "--quiet", "--batch-mode", f"-Dkvorum.build={target}", "package"],
                   cwd=os.path.join(HERE, "java"), check=True)
    path = f"{target}/classes:{target}/dependency/*"
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", path, "clients.Main"]


# Language: its tools, and how its program is built; protoc is for Rust's library.
LANGUAGES = {
    "go": (("go",), build_go),
    "rust": (("cargo", "protoc"), build_rust),
    "java": (("java", "javac", "mvn"), build_java),
}


class Clients(unittest.TestCase):
    folder = None
    commands = {}

    def command(self, language):
        tools, build = LANGUAGES[language]
        missing = [tool for tool in tools if shutil.which(tool) is None]
        if missing:
            self.skipTest(f"there is no {missing[0]}")
        if language not in self.commands:
            self.commands[language] = build(self.folder)
        return self.commands[language]

    def run_scenario(self, language, scenario, secured=None):
        command = self.command(language)
        with cluster.Cluster(3, secured=secured) as members:
            members.start()
            environment = {**os.environ, "ENDPOINTS": ",".join(members.endpoints)}
            if secured is not None:
                client = members.secured.client
                environment.update(CACERT=client.authorities, CERT=client.certificate, KEY=client.key)
            with subprocess.Popen([*command, scenario], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as program:
                try:
                    if scenario == "watch":
                        self.assertEqual(program.stdout.readline(), b"halfway\n", "it ended early")
                        members.leader().kill()
                    _, errors = program.communicate(timeout=150)
                finally:
                    program.kill()
            self.assertEqual(program.returncode, 0, errors.decode(errors="replace")[-3000:])


def add_cases():
    for language in LANGUAGES:
        for scenario in SCENARIOS + (OF_GO if language == "go" else ()):
            setattr(Clients, f"test_{language}_{scenario}",
                    lambda self, l=language, s=scenario: self.run_scenario(l, s))
        for scenario in SECURED:
            setattr(Clients, f"test_{language}_{scenario}_with_certificates",
                    lambda self, l=language, s=scenario: self.run_scenario(l, s, certificates.Secured))


def main():
    Clients.folder = os.path.abspath(sys.argv.pop(1))
    add_cases()
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"clients: {result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
