#!/usr/bin/env python3
"""S3Store against moto, a stand-in of others for S3, which keeps conditions and object lock.

scripts/setup puts moto into build/moto. It runs in this process, on a loopback port.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "build" / "moto"))

import boto3  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

KEYS = {"AWS_ACCESS_KEY_ID": "moto-key", "AWS_SECRET_ACCESS_KEY": "moto-secret", "AWS_REGION": "us-east-1"}


def main():
    os.environ |= KEYS | {"no_proxy": "*"}
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        buckets = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
        buckets.create_bucket(Bucket="plain")
        buckets.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
        buckets.put_object_lock_configuration(Bucket="locked", ObjectLockConfiguration={
            "ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}})
        test = pathlib.Path(os.environ["KVORUM_BIN_DIR"]) / "archive_bucket_test"
        done = subprocess.run([test], env=os.environ | {"KVORUM_S3_ENDPOINT": endpoint}, check=False)
    finally:
        server.stop()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
