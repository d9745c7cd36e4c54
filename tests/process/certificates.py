"""Certificates for tests of TLS: authorities, leaves of every kind, revocation lists, and a cluster's set of them.

Keys are P-256. Files are replaced by renaming, as tools that rotate certificates do.
"""

import datetime
import ipaddress
import os
import threading

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HOSTS = ("127.0.0.1", "localhost")
SERVER = (ExtendedKeyUsageOID.SERVER_AUTH,)
CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH,)
BOTH = SERVER + CLIENT


def replace(path, content):
    """The whole new content or the whole old one, for whoever reads."""
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.replace(path + ".new", path)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def _name(common_name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else [])


def _hosts(hosts):
    names = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return x509.SubjectAlternativeName(names)


class Certificate:
    def __init__(self, certificate, key):
        self.certificate = certificate
        self.key = key

    @property
    def serial(self):
        return self.certificate.serial_number

    @property
    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self):
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                      serialization.NoEncryption())

    def write(self, stem):
        """stem.crt and stem.key; returns both paths."""
        replace(stem + ".crt", self.pem)
        replace(stem + ".key", self.key_pem)
        return stem + ".crt", stem + ".key"


def _make(common_name, hosts, usage, valid, issuer=None, authority=False):
    """`valid` are two numbers of days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.utcnow()
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(common_name))
        .issuer_name(issuer.certificate.subject if issuer else _name(common_name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=valid[0]))
        .not_valid_after(now + datetime.timedelta(days=valid[1]))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        # Clients tell authorities of one name apart by these.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key((issuer.key if issuer else key).public_key()),
                       critical=False))
    if hosts:
        builder = builder.add_extension(_hosts(hosts), critical=False)
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
    return Certificate(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def self_signed(common_name="member", hosts=HOSTS, valid=(-1, 1)):
    return _make(common_name, hosts, BOTH, valid)


class Authority(Certificate):
    """Two of the same name are different authorities."""

    def __init__(self, name="ca", valid=(-1, 1)):
        made = _make(name, (), (), valid, authority=True)
        super().__init__(made.certificate, made.key)

    def issue(self, common_name="member", hosts=HOSTS, usage=BOTH, valid=(-1, 1)):
        return _make(common_name, hosts, usage, valid, issuer=self)

    def revocation_list(self, revoked):
        """PEM; `revoked` are certificates."""
        now = datetime.datetime.utcnow()
        builder = (x509.CertificateRevocationListBuilder().issuer_name(self.certificate.subject)
                   .last_update(now - datetime.timedelta(days=1)).next_update(now + datetime.timedelta(days=1)))
        for certificate in revoked:
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder().serial_number(certificate.serial)
                .revocation_date(now - datetime.timedelta(hours=1)).build())
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


class Files:
    """A certificate, its key and the authorities that its holder trusts, as paths of files that stay the same while
    their content is rotated."""

    def __init__(self, stem):
        self.stem = stem
        self.certificate = stem + ".crt"
        self.key = stem + ".key"
        self.authorities = stem + "-ca.crt"
        self.changing = threading.Lock()  # our own clients never see a key apart from its certificate

    def take(self, certificate):
        with self.changing:
            certificate.write(self.stem)
        return self

    def trust(self, *authorities):
        replace(self.authorities, b"".join(authority.pem for authority in authorities))
        return self

    def ctl(self):
        """Flags of etcdctl and kvorumctl."""
        return ["--cacert", self.authorities, "--cert", self.certificate, "--key", self.key]

    def credentials(self):
        with self.changing:
            return grpc.ssl_channel_credentials(read(self.authorities), read(self.key), read(self.certificate))

    def channel(self, endpoint):
        """On a connection of its own, with what the files hold now."""
        return grpc.secure_channel(endpoint, self.credentials(), options=[("grpc.use_local_subchannel_pool", 1)])


class Secured:
    """The argument of Cluster(secured=...): mutual TLS on the peer port of every member, and on its client port unless
    told otherwise. `client` are the files of the clients."""

    def __init__(self, folder, clients=True):
        self.folder = folder
        self.has_clients = clients
        self.authority = Authority()
        self.client = self.new_files("client", self.authority.issue("client", hosts=(), usage=CLIENT))
        self.members = {}
        self.more = []

    def new_files(self, name, certificate):
        return Files(os.path.join(self.folder, name)).take(certificate).trust(self.authority)

    @property
    def client_scheme(self):
        return "https" if self.has_clients else "http"

    def files(self, name):
        """The member's certificates: for its peer port, and for its client port."""
        if name not in self.members:
            self.members[name] = [self.new_files(f"{name}-{port}", self.authority.issue(name)) for port in
                                  ("peer", "server")]
        return self.members[name]

    def flags(self, name):
        peer, server = self.files(name)
        flags = ["--peer-cert-file", peer.certificate, "--peer-key-file", peer.key, "--peer-trusted-ca-file",
                 peer.authorities, "--peer-client-cert-auth"]
        if self.has_clients:
            flags += ["--cert-file", server.certificate, "--key-file", server.key, "--trusted-ca-file",
                      server.authorities, "--client-cert-auth"]
        return flags + self.more

    def all_files(self):
        return [files for pair in self.members.values() for files in pair] + [self.client]
