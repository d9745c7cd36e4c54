"""A relay in front of a member's peer port (a load balancer, a firewall that knows connections): those that others
open to the member go through it, those that it opens itself do not."""

import socket
import threading


class Relay:
    """Connections to `port` are handed on to `target`; what comes while it is cut is lost, silently, and with it the
    connection: it ends when either end closes it, or at the mending."""

    def __init__(self, target):
        self.target = target
        self.is_cut = False
        self.lock = threading.Lock()
        self.sockets = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self.is_cut = True

    def mend(self):
        with self.lock:
            for each in self.sockets:
                hang_up(each)
            self.is_cut = False

    def close(self):
        hang_up(self.listener)
        self.mend()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                self.listener.close()
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        try:
            far = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            near.close()
            return
        with self.lock:
            self.sockets |= {near, far}
        back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
        back.start()
        self._pump(near, far)
        back.join()
        with self.lock:
            self.sockets -= {near, far}
        near.close()
        far.close()

    def _pump(self, source, sink):
        try:
            while data := source.recv(65536):
                if not self.is_cut:
                    sink.sendall(data)
        except OSError:
            pass
        hang_up(source)
        hang_up(sink)


def hang_up(each):
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
