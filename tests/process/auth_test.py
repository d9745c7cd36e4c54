"""Users, roles and tokens in a cluster of three, with other people's clients: etcdctl, Python, Node, and kvorumctl.

What may not stand in a log stands in none: no password, no token.
"""

import collections
import os
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

import etcd3
import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import certificates
import cluster
import lock_messages
import server

PEER = os.environ["KVORUM_PEER_DIR"]
NODE_MODULES = os.environ["KVORUM_NODE_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
PASSWORDS = {"root": "secret of root", "alice": "of alice", "bob": "of bob"}
DENIED = "etcdserver: permission denied"


def set_up(members):
    """Root, alice, who may read and write what begins with "a", and bob, who may read it; auth is on."""
    ctl = members.ctl
    for name, password in PASSWORDS.items():
        ctl("user", "add", f"{name}:{password}")
    for role in ("root", "writer", "reader"):
        ctl("role", "add", role)
    ctl("role", "grant-permission", "writer", "readwrite", "a", "--prefix")
    ctl("role", "grant-permission", "reader", "read", "a", "--prefix")
    for name, role in (("root", "root"), ("alice", "writer"), ("bob", "reader")):
        ctl("user", "grant-role", name, role)
    ctl("auth", "enable")


class Users:
    """Calls in users' names."""

    def __init__(self, test, members):
        self.members = members
        self.tokens = {}
        self.channels = {}
        self.all_tokens = []
        self.test = test

    def channel(self, member):
        if member.name not in self.channels:
            self.channels[member.name] = member.channel()
            self.test.addCleanup(self.channels[member.name].close)
        return self.channels[member.name]

    def log_in(self, name, member):
        answer = rpc_pb2_grpc.AuthStub(self.channel(member)).Authenticate(
            rpc_pb2.AuthenticateRequest(name=name, password=PASSWORDS[name]), timeout=30)
        self.tokens[name] = answer.token
        self.all_tokens.append(answer.token)
        return answer.token

    def metadata(self, name):
        return [("token", self.tokens[name])] if name else []

    def put(self, name, member, key, value=b"v", timeout=30):
        """The outcome: None, or the error's text."""
        try:
            server.kv(self.channel(member)).Put(rpc_pb2.PutRequest(key=key, value=value), timeout=timeout,
                                                metadata=self.metadata(name))
            return None
        except grpc.RpcError as error:
            return error.details()

    def get(self, name, member, key):
        answer = server.kv(self.channel(member)).Range(rpc_pb2.RangeRequest(key=key), timeout=30,
                                                       metadata=self.metadata(name))
        return [kv.value for kv in answer.kvs]


class AuthTest(unittest.TestCase):
    def start(self, *flags, secured=None):
        members = cluster.Cluster(flags=[*cluster.QUICK, "--bcrypt-cost", "4", *flags], secured=secured)
        self.addCleanup(members.close)
        members.start()
        return members

    def check_logs(self, members, secrets):
        members.check_logs()
        for member in members.members:
            for start in range(1, member.starts + 1):
                with open(os.path.join(members.folder, f"{member.name}.log.{start}"), "rb") as log:
                    text = log.read()
                for secret in secrets:
                    self.assertNotIn(secret.encode(), text)

    def test_clients(self):
        members = self.start()
        set_up(members)
        first, second, third = members.members

        def etcdctl(user, *arguments, endpoint=first.endpoint):
            login = ["--user", f"{user}:{PASSWORDS[user]}"] if user else []
            done = subprocess.run(
                [os.path.join(PEER, "etcdctl"), "--endpoints", endpoint, *login, *arguments],
                capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL,
                env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})
            return done.stdout if done.returncode == 0 else done.stderr
        self.assertEqual(etcdctl("alice", "put", "a/1", "one"), "OK\n")
        self.assertIn(DENIED, etcdctl("alice", "put", "b", "one"))
        self.assertEqual(etcdctl("bob", "get", "a/1", endpoint=second.endpoint), "a/1\none\n")
        self.assertIn(DENIED, etcdctl("bob", "put", "a/1", "two", endpoint=second.endpoint))
        self.assertIn("etcdserver: user name is empty", etcdctl(None, "get", "a/1"))
        self.assertEqual(etcdctl("root", "user", "list", endpoint=third.endpoint), "alice\nbob\nroot\n")
        self.assertIn("KV Read:\n\t[a, b) (prefix a)", etcdctl("root", "role", "get", "reader"))
        self.assertIn(DENIED, etcdctl("alice", "role", "get", "reader"))
        done = subprocess.run([cluster.CTL, "--endpoints", second.endpoint, "--user", "alice", "--password", "wrong",
                               "get", "a/1"], capture_output=True, text=True, timeout=30, check=False,
                              stdin=subprocess.DEVNULL)
        self.assertIn("etcdserver: authentication failed, invalid user ID or password", done.stderr)
        self.assertEqual(members.ctl("--user", f"alice:{PASSWORDS['alice']}", "get", "a/1"), "a/1\none\n")

        done = subprocess.run(["node", os.path.join(HERE, "node_auth.js"), third.endpoint], capture_output=True,
                              text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], "NODE_PATH": NODE_MODULES})
        self.assertEqual((done.returncode, done.stdout), (0, "as expected\n"), done.stderr)
        self.check_logs(members, PASSWORDS.values())

    def test_certificates_and_passwords(self):
        members = self.start(secured=certificates.Secured)
        set_up(members)
        users = Users(self, members)
        own = members.secured.client  # whose name is no user's
        first = members.members[0]
        self.assertEqual(users.put(None, first, b"a"), DENIED)
        users.log_in("bob", first)
        self.assertEqual(users.put("bob", first, b"a"), DENIED)
        # The Python library shows a password only where nobody else can read it.
        for member in members.members:
            host, port = member.endpoint.split(":")
            client = etcd3.client(host=host, port=int(port), timeout=10, user="alice", password=PASSWORDS["alice"],
                                  ca_cert=own.authorities, cert_cert=own.certificate, cert_key=own.key)
            client.put("a/python", "one")
            self.assertEqual(client.get("a/python")[0], b"one")
            with self.assertRaises(grpc.RpcError) as refused:
                client.put("b", "one")
            self.assertEqual(refused.exception.details(), DENIED)
            lease = client.lease(60)
            client.put("a/leased", "x", lease=lease)
            self.assertEqual(list(lease.keys), [b"a/leased"])
            lease.revoke()
            self.assertEqual(client.get("a/leased"), (None, None))
            client.close()
        # A certificate in a user's name; a token comes before it.
        alice = members.secured.new_files("alice", members.secured.authority.issue(
            "alice", hosts=(), usage=certificates.CLIENT))
        with alice.channel(first.endpoint) as channel:
            kv = server.kv(channel)
            kv.Put(rpc_pb2.PutRequest(key=b"a", value=b"by name"), timeout=30)
            for metadata, key in ((None, b"b"), (users.metadata("bob"), b"a")):
                with self.assertRaises(grpc.RpcError) as refused:
                    kv.Put(rpc_pb2.PutRequest(key=key, value=b"x"), timeout=30, metadata=metadata)
                self.assertEqual(refused.exception.details(), DENIED)
        nameless = members.secured.new_files("nameless", members.secured.authority.issue(
            "", hosts=(), usage=certificates.CLIENT))
        with nameless.channel(first.endpoint) as channel:
            with self.assertRaises(grpc.RpcError) as refused:
                server.put(server.kv(channel), b"a", b"x")
            self.assertEqual(refused.exception.details(), DENIED)
            # The name in a token counts, as where a proxy shows its own certificate.
            server.kv(channel).Range(rpc_pb2.RangeRequest(key=b"a"), timeout=30, metadata=users.metadata("bob"))
        self.check_logs(members, [*PASSWORDS.values(), *users.all_tokens])

    def test_simple_tokens_are_known_to_all_members(self):
        members = self.start()
        set_up(members)
        users = Users(self, members)
        for number in range(30):
            through = members.members[number % 3]
            users.log_in("alice", through)
            # At once, wherever: a member that has not heard of the login waits until it has.
            for member in members.members:
                self.assertIsNone(users.put("alice", member, b"a"))
                self.assertEqual(users.put("alice", member, b"b"), DENIED)
        self.check_logs(members, [*PASSWORDS.values(), *users.all_tokens])

    def test_nothing_secret_is_logged_at_any_level(self):
        """CVE-2021-28235: every request is slow enough to be logged, and there is no page that shows requests."""
        members = self.start("--log-level", "debug", "--warning-unary-request-duration", "1ns")
        set_up(members)
        users = Users(self, members)
        first = members.members[0]
        for name in PASSWORDS:
            users.log_in(name, first)
        self.assertIsNone(users.put("alice", first, b"a"))
        self.assertEqual(users.put("alice", first, b"b"), DENIED)
        auth = rpc_pb2_grpc.AuthStub(users.channel(first))
        for password in ("a wrong one", "x" * 73, "y" * (1 << 20)):
            with self.assertRaises(grpc.RpcError) as refused:
                auth.Authenticate(rpc_pb2.AuthenticateRequest(name="alice", password=password), timeout=30)
            self.assertEqual(refused.exception.details(),
                             "etcdserver: authentication failed, invalid user ID or password")
        auth.UserChangePassword(rpc_pb2.AuthUserChangePasswordRequest(name="bob", password="the next of bob"),
                                timeout=30, metadata=users.metadata("root"))
        self.assertEqual(users.put("bob", first, b"a"), "etcdserver: invalid auth token")
        for page in ("/metrics", "/debug/vars", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap",
                     "/debug/pprof/threads"):
            with urllib.request.urlopen(f"http://{first.endpoint}{page}", timeout=30) as answer:
                text = answer.read().decode()
            for secret in (*PASSWORDS.values(), *users.all_tokens, "a wrong one", "the next of bob", "$2a$"):
                self.assertNotIn(secret, text)
        for page in ("/debug/requests", "/debug/pprof/goroutine"):
            with self.assertRaises(urllib.error.HTTPError) as absent:
                urllib.request.urlopen(f"http://{first.endpoint}{page}", timeout=30)
            self.assertEqual(absent.exception.code, 404)
        with open(os.path.join(members.folder, f"{first.name}.log.1"), encoding="utf8") as log:
            self.assertIn("/etcdserverpb.Auth/Authenticate", log.read())
        self.check_logs(members, [*PASSWORDS.values(), *users.all_tokens, "a wrong one", "the next of bob", "x" * 73,
                                  "y" * 73, "$2a$"])

    def test_wrong_tokens_fill_no_log(self):
        members = self.start()
        set_up(members)
        first = members.members[0]
        kv = server.kv(Users(self, members).channel(first))
        begun = time.monotonic()
        calls = [kv.Put.future(rpc_pb2.PutRequest(key=b"a", value=b"v"), timeout=60, metadata=[("token", "wrong.1")])
                 for _ in range(2000)]
        for call in calls:
            self.assertEqual(call.exception().details(), "etcdserver: invalid auth token")
        seconds = int(time.monotonic() - begun) + 2
        with open(os.path.join(members.folder, f"{first.name}.log.1"), encoding="utf8") as log:
            lines = log.read().count('"invalid auth token"')
        self.assertGreater(lines, 0)
        self.assertLessEqual(lines, 10 * seconds)  # all on one connection, so on one loop

    def test_a_flood_of_wrong_logins_keeps_no_other_user_out(self):
        members = self.start("--bcrypt-cost", "8")
        set_up(members)
        users = Users(self, members)
        first = members.members[0]
        channel = first.channel()
        self.addCleanup(channel.close)
        verdicts = collections.Counter()
        over = threading.Event()

        def flood():
            auth = rpc_pb2_grpc.AuthStub(channel)
            wrong = rpc_pb2.AuthenticateRequest(name="bob", password="wrong")
            while not over.is_set():
                calls = [auth.Authenticate.future(wrong, timeout=60) for _ in range(300)]
                verdicts.update(call.exception().details() for call in calls)

        begun = time.monotonic()
        flooding = threading.Thread(target=flood)
        flooding.start()
        try:
            cluster.wait_until(lambda: verdicts, "the flood's first verdict")
            for _ in range(10):
                users.log_in("alice", first)
                self.assertIsNone(users.put("alice", first, b"a"))
        finally:
            over.set()
            flooding.join()
        self.assertEqual(set(verdicts), {"etcdserver: authentication failed, invalid user ID or password",
                                         "etcdserver: too many requests"})
        seconds = int(time.monotonic() - begun) + 2
        with open(os.path.join(members.folder, f"{first.name}.log.1"), encoding="utf8") as log:
            self.assertLessEqual(log.read().count('"invalid authentication was requested"'), 10 * seconds)

    def test_commands_end_without_a_server(self):
        for command in (["user", "add", "u:p"], ["user", "delete", "u"], ["user", "get", "u"], ["user", "list"],
                        ["user", "grant-role", "u", "r"], ["user", "revoke-role", "u", "r"], ["role", "add", "r"],
                        ["role", "delete", "r"], ["role", "get", "r"], ["role", "list"],
                        ["role", "grant-permission", "r", "read", "k"], ["role", "revoke-permission", "r", "k"],
                        ["auth", "enable"], ["auth", "disable"], ["auth", "status"]):
            done = subprocess.run([cluster.CTL, "--endpoints", "127.0.0.1:1", "--command-timeout", "200ms", *command],
                                  capture_output=True, text=True, timeout=30, check=False)
            self.assertEqual(done.returncode, 1, command)
            self.assertIn("Error: context deadline exceeded", done.stderr, command)

    def test_a_name_that_is_no_text_is_refused_in_one_line(self):
        members = self.start()
        done = subprocess.run([cluster.CTL, "--endpoints", members.members[0].endpoint, "user", "add", b"u\xff:p"],
                              capture_output=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"Error: rpc error: code = Internal desc = grpc: error unmarshalling request: "
                         b"string field contains invalid UTF-8\n")

    def test_changes_show_at_once_everywhere(self):
        members = self.start()
        set_up(members)
        users = Users(self, members)
        users.log_in("root", members.members[0])
        users.log_in("bob", members.members[0])
        for number in range(20):
            here, there = members.members[number % 3], members.members[(number + 1) % 3]
            auth = rpc_pb2_grpc.AuthStub(users.channel(here))
            auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="bob", role="writer"), timeout=30,
                               metadata=users.metadata("root"))
            self.assertIsNone(users.put("bob", there, b"a"))
            auth.UserRevokeRole(rpc_pb2.AuthUserRevokeRoleRequest(name="bob", role="writer"), timeout=30,
                                metadata=users.metadata("root"))
            self.assertEqual(users.put("bob", there, b"a"), DENIED)

    def test_streams_locks_and_elections_are_for_whom_they_are_granted(self):
        members = self.start()
        set_up(members)
        users = Users(self, members)
        member = members.members[0]
        for name in PASSWORDS:
            users.log_in(name, member)
        users.tokens["wrong"] = users.tokens["alice"].swapcase()
        channel = users.channel(member)
        stub = lock_messages.Stub(channel)
        leases = rpc_pb2_grpc.LeaseStub(channel)
        read_stream = channel.unary_stream("/etcdserverpb.KV/RangeStream",
                                           request_serializer=lambda message: message.SerializeToString(),
                                           response_deserializer=lambda answer: answer)

        def read(key):
            return lambda **options: next(iter(read_stream(rpc_pb2.RangeRequest(key=key), **options)))

        def observe(key):
            return lambda **options: next(iter(stub.Observe(lock_messages.LeaderRequest(name=key), **options)))

        def new_lease():  # of each its own: what one attaches to it is in the way of others
            return leases.LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=600), timeout=30,
                                     metadata=users.metadata("alice")).ID

        def lock(key):
            lease = new_lease()
            return lambda **options: stub.Lock(lock_messages.LockRequest(name=key, lease=lease), **options)

        def campaign(key):
            lease = new_lease()
            return lambda **options: stub.Campaign(
                lock_messages.CampaignRequest(name=key, lease=lease, value=b"v"), **options)

        def leader(key):
            return lambda **options: stub.Leader(lock_messages.LeaderRequest(name=key), **options)

        def verdict(call, user):
            try:
                call(timeout=30, metadata=users.metadata(user))
                return None
            except grpc.RpcError as error:
                return error.details()

        writers, readers, roots = {"alice", "root"}, {"alice", "bob", "root"}, {"root"}
        for what, call, let in (
                ("a lock", lock(b"a/lock"), writers), ("another's lock", lock(b"b/lock"), roots),
                ("a campaign", campaign(b"a/race"), writers), ("another's campaign", campaign(b"b/race"), roots),
                ("a leader", leader(b"a/race"), readers), ("another's leader", leader(b"b/race"), roots),
                ("observed", observe(b"a/race"), readers), ("another's observed", observe(b"b/race"), roots),
                ("read", read(b"a/race"), readers), ("another's, read", read(b"b/race"), roots)):
            for user in ("bob", "alice", "root"):
                self.assertEqual(verdict(call, user), None if user in let else DENIED, (what, user))
            self.assertEqual(verdict(call, None), "etcdserver: user name is empty", what)
            self.assertEqual(verdict(call, "wrong"), "etcdserver: invalid auth token", what)

        def take_snapshot(**options):
            next(iter(rpc_pb2_grpc.MaintenanceStub(channel).Snapshot(rpc_pb2.SnapshotRequest(), **options)))

        refusals = {"alice": DENIED, None: "etcdserver: user name is empty",
                    "wrong": "etcdserver: invalid auth token"}
        for user, refusal in refusals.items():
            self.assertEqual(verdict(take_snapshot, user), refusal)
        # Any other error is not about admission.
        self.assertNotIn(verdict(take_snapshot, "root"), [*refusals.values(), "etcdserver: revision of auth store is old"])

    def test_a_lost_leader_loses_no_token(self):
        members = self.start()
        set_up(members)
        users = Users(self, members)
        for name in PASSWORDS:
            users.log_in(name, members.members[0])
        lost = self.leader(members, users)
        lost.kill()
        left = members.alive
        cluster.wait_until(lambda: users.put("alice", left[0], b"a", b"behind", timeout=5) is None, "a put")
        self.assertEqual(users.put("bob", left[1], b"a"), DENIED)
        self.assertEqual(users.get("bob", left[1], b"a"), [b"behind"])
        lost.start()
        users.log_in("alice", lost)
        self.assertIsNone(users.put("alice", lost, b"a"))
        self.assertEqual(users.put("alice", lost, b"b"), DENIED)

    def test_jwt(self):
        folder = cluster.tempfile.mkdtemp(prefix="kvorum-jwt-")
        self.addCleanup(cluster.shutil.rmtree, folder)
        private, public = os.path.join(folder, "private"), os.path.join(folder, "public")
        for command in (["openssl", "genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                         "-out", private], ["openssl", "pkey", "-in", private, "-pubout", "-out", public]):
            subprocess.run(command, check=True, capture_output=True)
        members = self.start("--auth-token", f"jwt,pub-key={public},priv-key={private},sign-method=ES256,ttl=10m")
        set_up(members)
        users = Users(self, members)
        users.log_in("root", members.members[0])
        users.log_in("alice", members.members[1])
        self.assertEqual(users.tokens["alice"].count("."), 2)
        for member in members.members:
            self.assertIsNone(users.put("alice", member, b"a"))
            self.assertEqual(users.put("alice", member, b"b"), DENIED)
        auth = rpc_pb2_grpc.AuthStub(users.channel(members.members[2]))
        # Changes to other users end no token...
        auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="another"), timeout=30, metadata=users.metadata("root"))
        for member in members.members:
            self.assertIsNone(users.put("alice", member, b"a"))
        # ...what is changed for its user does.
        auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="alice", role="another"), timeout=30,
                           metadata=users.metadata("root"))
        for member in members.members:
            self.assertEqual(users.put("alice", member, b"a"), "etcdserver: revision of auth store is old")
        forged = users.tokens["alice"][:-4] + "AAAA"
        users.tokens["forged"] = forged
        self.assertEqual(users.put("forged", members.members[0], b"a"), "etcdserver: invalid auth token")
        # It outlives the members.
        token = users.log_in("alice", members.members[0])
        members.members[0].kill()
        members.members[0].start()
        cluster.wait_until(lambda: users.put("alice", members.members[0], b"a", timeout=5) is None, "a put")
        with open(private, encoding="utf8") as key:
            self.check_logs(members, [*PASSWORDS.values(), token, key.read().splitlines()[1]])

    def leader(self, members, users):
        """As leader() of the cluster, which asks without a name."""
        def find():
            for member in members.members:
                status = server.maintenance(users.channel(member)).Status(
                    rpc_pb2.StatusRequest(), timeout=5, metadata=users.metadata("alice"))
                if status.leader == status.header.member_id:
                    return member
            return None
        return cluster.wait_until(find, "a leader")


if __name__ == "__main__":
    unittest.main()
