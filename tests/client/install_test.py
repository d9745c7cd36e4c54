#!/usr/bin/env python3
"""Installs the client library into a folder of its own and builds another project with it, which
then speaks to a server.

  install_test.py BUILD_FOLDER
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "process"))

import ports  # noqa: E402

START_TIMEOUT_S = 30


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def is_healthy(url):
    try:
        with urllib.request.urlopen(url + "/health", timeout=1) as answer:
            return json.load(answer).get("health") == "true"
    except (OSError, ValueError):
        return False


def control(program, endpoint):
    """What the controller prints of an order that was there, one that comes, and one that goes."""
    call = [pathlib.Path(os.environ["KVORUM_BIN_DIR"], "kvorumctl"), "--endpoints", endpoint]
    run(*call, "put", "/orders/last", "tea")
    with subprocess.Popen([program, endpoint], stdout=subprocess.PIPE, text=True) as controller:
        lines = [controller.stdout.readline(), controller.stdout.readline()]
        run(*call, "put", "/orders/2", "milk")
        lines.append(controller.stdout.readline())
        run(*call, "del", "/orders/last")
        lines += controller.stdout.readlines()
    lines.append(run(*call, "get", "--prefix", "/invoices/"))
    return "".join(lines)


def subscribe(program, endpoint):
    """What a subscriber of the control plane is sent first."""
    call = [pathlib.Path(os.environ["KVORUM_BIN_DIR"], "kvorumctl"), "--endpoints", endpoint]
    run(*call, "put", "/orders/1", "tea")
    with subprocess.Popen([program, endpoint], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as plane:
        address = plane.stdout.readline().strip()
        with subprocess.Popen([call[0], "-w", "json", "snapshot-server", "subscribe", "--address", address,
                               "--node", "one", "--type", "orders"], stdout=subprocess.PIPE, text=True) as subscriber:
            told = {}
            while told.get("event") != "response":
                told = json.loads(subscriber.stdout.readline())
            subscriber.terminate()
        plane.stdin.close()
    return {each["name"]: base64.b64decode(each["value"]).decode() for each in told["resources"]}


def main():
    build = sys.argv[1]
    server_program = pathlib.Path(os.environ["KVORUM_BIN_DIR"], "kvorum")
    with tempfile.TemporaryDirectory(prefix="kvorum-install-") as folder:
        prefix = pathlib.Path(folder, "prefix")
        run("cmake", "--install", build, "--prefix", prefix, "--component", "client")
        project = pathlib.Path(folder, "project")
        run("cmake", "-G", "Ninja", "-S", HERE / "installed", "-B", project,
            f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", project)

        client_port, peer_port = ports.free_ports(2)
        client, peer = (f"http://127.0.0.1:{p}" for p in (client_port, peer_port))
        with open(pathlib.Path(folder, "log"), "wb") as log:
            server = subprocess.Popen(
                [server_program, "--name=n1", f"--data-dir={folder}/data", f"--listen-client-urls={client}",
                 f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
                 f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=n1={peer}"],
                stdout=log, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + START_TIMEOUT_S
            while not is_healthy(client):
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit("the server does not start")
                time.sleep(0.05)
            endpoint = f"127.0.0.1:{client_port}"
            printed = run(project / "greeting", endpoint, timeout=60)
            invoiced = control(project / "controller", endpoint)
            subscribed = subscribe(project / "plane", endpoint)
        finally:
            server.kill()
            server.wait()
    expected = "greeting=hello\nseen greeting=hello\nlocked\n"
    if printed != expected:
        sys.exit(f"expected:\n{expected}printed:\n{printed}")
    expected = ("/invoices/last written\nsynced\n/invoices/2 written\n/orders/last gone\n"
                "/invoices/2\nfor milk\n/invoices/last\nfor tea\n")
    if invoiced != expected:
        sys.exit(f"expected:\n{expected}printed:\n{invoiced}")
    if subscribed != {"1": "tea", "2": "milk"}:
        sys.exit(f"a subscriber was sent {subscribed}")


if __name__ == "__main__":
    main()
