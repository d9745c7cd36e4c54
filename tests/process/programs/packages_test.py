"""The Debian packages, installed as an administrator does: by dpkg, into a copy of this machine that is thrown away.

The copy is this machine's root with a layer of memory above it (overlayfs), in a mount namespace of its own.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ports  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
INSIDE = "KVORUM_TEST_MOUNTS"


def run_isolated():
    """For `if __name__ == "__main__"`: runs the tests in a namespace of mounts, or says why that cannot be."""
    if os.environ.get(INSIDE):
        unittest.main()
        return
    probe = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True,
                           check=False)
    if probe.returncode != 0:
        print("SKIPPED: mounts are not permitted here: " + probe.stderr.decode().strip())
        return
    os.execvpe("unshare", ["unshare", "--mount", sys.executable, "-B", *sys.argv], {**os.environ, INSIDE: "1"})


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="kvorum-packages-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.layers = cls.folder / "layers"
        cls.layers.mkdir()
        cls.mount("tmpfs", "tmpfs", cls.layers)
        for name in ("upper", "work", "root"):
            (cls.layers / name).mkdir()
        cls.root = cls.layers / "root"
        cls.mount("overlay", "overlay", cls.root,
                  f"lowerdir=/,upperdir={cls.layers / 'upper'},workdir={cls.layers / 'work'}")
        subprocess.run(["mount", "--rbind", "/proc", cls.root / "proc"], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "-R", "-l", cls.root / "proc"], check=True)
        # Nothing of a systemd that runs here is in the copy.
        cls.mount("tmpfs", "tmpfs", cls.root / "run")

    @classmethod
    def mount(cls, kind, source, target, options="defaults"):
        subprocess.run(["mount", "-t", kind, "-o", options, source, target], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "-l", target], check=True)

    def run_inside(self, *words, **options):
        done = subprocess.run(["chroot", self.root, *words], capture_output=True, text=True, check=False, timeout=120,
                              **options)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def make(self, version):
        """The packages of the release build, within the copy."""
        subprocess.run([ROOT / "scripts" / "package", self.root / "packages", version], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "DEB_COMPRESSION": "none"})
        return [f"/packages/{path.name}" for path in (self.root / "packages").glob(f"*_{version}_*.deb")]

    def settings(self):
        """Those of the package, as systemd reads them, at free ports."""
        file = self.root / "etc" / "kvorum" / "kvorum.env"
        text = file.read_text()
        # At once: the first new port may contain the second old one.
        new = {"2379": str(ports.free_port()), "2380": str(ports.free_port())}
        text = re.sub("2379|2380", lambda found: new[found.group()], text)
        file.write_text(text)
        lines = (line for line in text.splitlines() if line and not line.startswith("#"))
        return dict(line.split("=", 1) for line in lines)

    def serve(self, settings):
        """Starts the unit's command as the unit's user; ends it once it has told that it is ready."""
        notify = self.root / "run" / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(str(notify))
            notify.chmod(0o777)
            supervisor.settimeout(60)
            log = self.folder / "serve.log"
            with open(log, "wb") as output, subprocess.Popen(
                    ["chroot", "--userspec=kvorum:kvorum", self.root, "/usr/bin/kvorum"], stdout=output, stderr=output,
                    env={"PATH": "/usr/sbin:/usr/bin", "NOTIFY_SOCKET": "/run/notify", **settings}) as process:
                try:
                    end = time.monotonic() + 60
                    while b"READY=1" not in supervisor.recv(4096):
                        self.assertLess(time.monotonic(), end)
                except TimeoutError:
                    self.fail(f"it is not ready: exit code {process.poll()}, {log.read_text(errors='replace')}")
                else:
                    answer = self.run_inside("kvorumctl", "--endpoints", settings["ETCD_ADVERTISE_CLIENT_URLS"],
                                             "--dial-timeout=60s", "--command-timeout=60s", "put", "installed", "yes")
                    self.assertEqual(answer, "OK\n")
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(60), 0)
                finally:
                    process.kill()
        notify.unlink()

    def check_dependencies_of_the_library(self):
        """The package depends on all that find_package(kvorum-client) asks for."""
        packages = {"OpenSSL": "libssl-dev", "Protobuf": "libprotobuf-dev", "gRPC": "libgrpc++-dev", "fmt": "libfmt-dev",
                    "spdlog": "libspdlog-dev", "ZLIB": "zlib1g-dev", "wslay": "libwslay-dev", "Threads": None,
                    "PkgConfig": None}
        config = (ROOT / "client" / "kvorum-client-config.cmake.in").read_text(encoding="utf8")
        depends = self.run_inside("dpkg-query", "-W", "-f", "${Depends}", "libkvorum-client-dev").split(", ")
        for name in re.findall(r"find_dependency\((\w+)", config):
            if packages[name] is not None:
                self.assertIn(packages[name], depends)

    def test_install_serve_upgrade_and_purge(self):
        self.run_inside("dpkg", "--force-unsafe-io", "--install", *self.make("0.1.0"))
        data = self.root / "var" / "lib" / "kvorum"
        self.assertEqual((data.stat().st_mode & 0o777, data.stat().st_uid),
                         (0o700, int(self.run_inside("id", "-u", "kvorum"))))
        self.assertEqual(self.run_inside("systemd-analyze", "verify", "/usr/lib/systemd/system/kvorum.service"), "")
        self.assertEqual(self.run_inside("dpkg", "--verify", "kvorum", "kvorumctl", "libkvorum-client-dev"), "")
        self.check_dependencies_of_the_library()
        for program in ("kvorumctl", "kvorumutl"):
            self.assertIn(program, self.run_inside("cat", f"/usr/share/bash-completion/completions/{program}"))
        self.assertIn("kvorumutl version: ", self.run_inside("kvorumutl", "version"))
        settings = self.settings()
        self.serve(settings)
        content = sorted(str(path) for path in data.rglob("*"))
        self.assertIn(str(data / "member" / "snap" / "db"), content)

        self.run_inside("dpkg", "--force-unsafe-io", "--install", *self.make("0.1.1"))
        self.assertIn(settings["ETCD_LISTEN_CLIENT_URLS"], self.run_inside("cat", "/etc/kvorum/kvorum.env"),
                      "the operator's settings stay")
        self.assertEqual(sorted(str(path) for path in data.rglob("*")), content)
        self.serve(settings)

        self.assertIn("the data stays", self.run_inside("dpkg", "--purge", "kvorum", "kvorumctl"))
        self.assertTrue((data / "member" / "snap" / "db").exists())
        self.assertFalse((self.root / "usr" / "bin" / "kvorum").exists())
        self.assertFalse((self.root / "etc" / "kvorum").exists())

    def test_make_install_writes_over_no_settings(self):
        stage = self.folder / "stage"
        for attempt in (1, 2):
            subprocess.run(["cmake", "--install", ROOT / "build" / "release", "--prefix", "/opt/kv", "--component",
                            "server"], env={**os.environ, "DESTDIR": str(stage)}, check=True,
                           stdout=subprocess.DEVNULL)
            settings = stage / "etc" / "kvorum" / "kvorum.env"
            if attempt == 1:
                settings.write_text("ETCD_NAME=mine\n")
        self.assertEqual(settings.read_text(), "ETCD_NAME=mine\n")
        unit = (stage / "opt" / "kv" / "lib" / "systemd" / "system" / "kvorum.service").read_text()
        self.assertIn("ExecStart=/opt/kv/bin/kvorum\n", unit)
        self.assertTrue(os.access(stage / "opt" / "kv" / "bin" / "kvorum", os.X_OK))


if __name__ == "__main__":
    run_isolated()
