"""Programs in Go, Rust and Java that use a cluster of three by their own libraries, and one in Go that subscribes to
a control plane: `make test-clients`.

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
import ports  # noqa: E402
import talker  # noqa: E402

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


class Delta(unittest.TestCase):
    """go-control-plane's package subscribes to the control plane of examples/, and to kvorumctl's."""

    def setUp(self):
        if shutil.which("go") is None:
            self.skipTest("there is no go")
        binary = os.path.join(Clients.folder, "delta", "delta")
        subprocess.run(["go", "build", "-o", binary, "."], cwd=os.path.join(HERE, "delta"), check=True)
        self.members = self.enterContext(cluster.Cluster(1))
        self.members.start()
        self.put("a", "1")
        self.put("b", "1")
        self.address = f"127.0.0.1:{ports.free_ports(1)[0]}"
        self.client = self.enterContext(talker.Talker([binary, self.address]))

    def serve_example(self):
        return self.serve("example-control-plane", self.members.endpoints[0], self.address, "dp=/dp/")

    def serve_kvorumctl(self):
        return self.serve("kvorumctl", "--endpoints", self.members.endpoints[0], "snapshot-server", "run", "--listen",
                          self.address, "--type", "dp=/dp/")

    def serve(self, program, *arguments):
        server = self.enterContext(talker.Talker([os.path.join(os.environ["KVORUM_BIN_DIR"], program), *arguments]))
        server.line()
        return server

    def put(self, name, text):
        self.members.ctl("put", "/dp/" + name, text)

    def test_go_control_plane_subscribes_to_the_example(self):
        self.subscribe(self.serve_example)

    def test_go_control_plane_subscribes_to_kvorumctl(self):
        self.subscribe(self.serve_kvorumctl)

    def subscribe(self, serve):
        server = serve()
        self.client.say("open zone-1 dp")
        self.assertEqual(self.client.line(), "1 a=1 b=1")
        self.client.say("ack")
        self.put("a", "2")
        self.members.ctl("del", "/dp/b")
        line = self.client.line()
        if line != "2 -b a=2":  # the tick may have come between the two
            self.assertEqual(line, "2 a=2")
            self.client.say("ack")
            self.assertEqual(self.client.line(), "3 -b")
        self.client.say("ack")

        # Refused once, and not sent again until it changes.
        self.put("c", "odd")
        nonce, text = self.client.line().split(" ")
        self.assertEqual(text, "c=odd")
        self.client.say("nack c is odd")
        self.client.says_nothing(3)
        self.put("c", "even")
        self.assertEqual(self.client.line(), f"{int(nonce) + 1} c=even")
        self.client.say("ack")

        # It comes back, to the same server and to one that was started anew, with its versions.
        self.client.say("close")
        self.assertEqual(self.client.line().split(" ")[:2], ["end", "Canceled"])
        self.client.say("open zone-1 dp")
        self.client.says_nothing(3)
        server.process.kill()
        self.assertEqual(self.client.line().split(" ")[:2], ["end", "Unavailable"])
        serve()
        self.put("d", "1")
        self.client.say("open zone-1 dp")
        self.assertEqual(self.client.line(), "1 d=1")


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
