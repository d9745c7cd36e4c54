#!/usr/bin/env python3
"""A web server that registers itself at the agent of its node by Consul's HTTP API, and leaves when it ends.

  register.py NAME PORT [AGENT]     AGENT is ADDRESS:PORT, by default 127.0.0.1:8500

Port 0 is a free one. The agent asks for /health; until then the instance is critical.
"""

import http.server
import json
import signal
import sys
import urllib.request

INTERVAL = "2s"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        kind = "text/plain; version=0.0.4" if self.path == "/metrics" else "text/plain"
        text = {"/health": "fine\n", "/metrics": "# TYPE example_up gauge\nexample_up 1\n"}.get(self.path, "hello\n")
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def put(agent, path, body=None):
    data = json.dumps(body).encode() if body is not None else b""
    with urllib.request.urlopen(urllib.request.Request(f"http://{agent}/v1/agent/{path}", data, method="PUT"), timeout=30):
        pass


def main():
    name, port = sys.argv[1], int(sys.argv[2])
    agent = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1:8500"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    port = server.server_address[1]
    service = f"{name}-{port}"

    def leave(*_):
        raise SystemExit
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    put(agent, "service/register", {
        "ID": service, "Name": name, "Address": "127.0.0.1", "Port": port, "Tags": ["example", "traefik.enable=true"],
        "Meta": {"metrics_path": "/metrics"},
        "Check": {"HTTP": f"http://127.0.0.1:{port}/health", "Interval": INTERVAL,
                  "DeregisterCriticalServiceAfter": "10m"}})
    print(f"{service} at 127.0.0.1:{port}", flush=True)
    try:
        server.serve_forever()
    finally:
        put(agent, f"service/deregister/{service}")


if __name__ == "__main__":
    main()
