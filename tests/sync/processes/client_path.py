"""The way from a client to a member, which breaks as networks and firewalls do: silently (Relay.cut), with every
connection at once, or for a while, after which what was on its way arrives."""

import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import relay  # noqa: E402


class Path(relay.Relay):
    def __init__(self, target):
        self.is_flowing = threading.Event()
        self.is_flowing.set()
        self.is_refused = False
        super().__init__(target)

    @property
    def endpoint(self):
        return f"127.0.0.1:{self.port}"

    def stall(self):
        """Nothing arrives until flow(); then all of it does."""
        self.is_flowing.clear()

    def flow(self):
        self.is_flowing.set()

    def refuse(self):
        """Ends every connection, and each new one, until accept()."""
        self.is_refused = True
        with self.lock:
            for each in self.sockets:
                relay.hang_up(each)

    def accept(self):
        self.is_refused = False

    def heal(self):
        self.accept()
        self.mend()
        self.flow()

    def _serve(self, near):
        if self.is_refused:
            near.close()
            return
        super()._serve(near)

    def _pump(self, source, sink):
        super()._pump(Tap(self, source), sink)


class Tap:
    """A socket whose bytes come while the path flows."""

    def __init__(self, path, source):
        self.path, self.source = path, source

    def recv(self, size):
        data = self.source.recv(size)
        self.path.is_flowing.wait()
        return data

    def shutdown(self, how):
        self.source.shutdown(how)
