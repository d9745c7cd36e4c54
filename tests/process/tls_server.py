"""A kvorum process whose client port is under TLS, with a certificate that an authority of its own has issued."""

import os
import ssl

import grpc

import certificates
import server


class TlsServer(server.Server):
    def __init__(self, *flags):
        super().__init__(*flags)
        self.files = certificates.Files(os.path.join(self.folder, "member"))
        authority = certificates.Authority()
        self.files.take(authority.issue())
        self.files.trust(authority)

    def command(self, *more):
        plain = f"http://127.0.0.1:{self.port}"
        return [f"https://127.0.0.1:{self.port}" if argument == plain else argument
                for argument in super().command("--cert-file", self.files.certificate, "--key-file", self.files.key, *more)]

    def context(self):
        """For Python's own sockets."""
        return ssl.create_default_context(cafile=self.files.authorities)

    def channel(self):
        return grpc.secure_channel(self.endpoint, grpc.ssl_channel_credentials(certificates.read(self.files.authorities)))
