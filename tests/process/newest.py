"""Runs a test beside the newest etcd, if scripts/setup could build it, and else says that it is skipped, so that it is
counted and not run a second time beside the packaged one.

  newest.py COMMAND...
"""

import os
import subprocess
import sys

ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")


def is_here():
    try:
        shown = subprocess.run([ETCD, "--version"], capture_output=True, check=True, timeout=30).stdout.decode()
    except OSError:
        return False
    return tuple(int(part) for part in shown.split()[2].split(".")[:2]) >= (3, 7)


if __name__ == "__main__":
    if not is_here():
        print(f"SKIPPED: {ETCD} is no etcd of 3.7")
        sys.exit(0)
    os.execv(sys.argv[1], sys.argv[1:])
