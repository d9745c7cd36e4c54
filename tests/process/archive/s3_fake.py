"""A stand-in for S3 on a loopback port, strict where others are lenient: each signature is computed anew, each sum of a
body is compared, a parameter that it does not know is refused. It has conditional writes, versions and object lock.

Faults (Faults) come at random, as often as they are told to, from one seed; outages are ordered. Where a request's
answer is lost, the request was carried out or not, both at random: a client must not take one for the other.
"""

import base64
import collections
import contextlib
import dataclasses
import datetime
import email.utils
import hashlib
import http.server
import random
import socket
import struct
import threading
import time
import urllib.parse
import xml.etree.ElementTree
import xml.sax.saxutils
import zlib

import s3_signature
from s3_signature import Refused

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
MAX_KEYS = 1000
MAX_DELETED = 1000
LOCKED = "Access Denied because object protected by object lock."


@dataclasses.dataclass
class Faults:
    """Parts of the requests (0 to 1) that each of these happens to; an answer has at most one of them."""
    error: float = 0.0  # 500
    slow_down: float = 0.0  # 503
    error_inside: float = 0.0  # 200 with the text of an error, where S3 does that: not for reads of objects
    conflict: float = 0.0  # 409 to a conditional write
    drop: float = 0.0  # the connection ends without an answer
    truncate: float = 0.0  # the connection ends within the answer's body
    slow: float = 0.0  # the answer's body comes in pieces, over `slow_s` seconds
    slow_s: float = 1.0
    latency_s: float = 0.0  # before each answer

    KINDS = ("error", "slow_down", "error_inside", "conflict", "drop", "truncate", "slow")

    def draw(self, rng, request):
        """The fault of this request; None: there is none."""
        rest = rng.random()
        for kind in self.KINDS:
            rest -= getattr(self, kind)
            if rest < 0:
                if kind == "error_inside" and request.method != "POST":
                    return "error"
                if kind == "conflict" and not (request.method == "PUT" and request.header("if-none-match")):
                    return None
                return kind
        return None


@dataclasses.dataclass
class Version:
    id: str
    body: bytes  # None: a delete marker
    etag: str = ""
    content_type: str = "binary/octet-stream"
    locked_until: float = 0.0

    def is_locked(self, now):
        return self.locked_until > now


@dataclasses.dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict = dataclasses.field(default_factory=dict)


def element(name, text):
    return f"<{name}>{xml.sax.saxutils.escape(text)}</{name}>"


def document(root, *elements, namespace=True):
    start = f'<{root} xmlns="{NAMESPACE}">' if namespace else f"<{root}>"
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + start + "".join(elements) + f"</{root}>").encode()


def failure(status, code, text, **more):
    fields = [element("Code", code), element("Message", text), *(element(name, value) for name, value in more.items())]
    return Answer(status, document("Error", *fields, namespace=False), {"Content-Type": "application/xml"})


def iso_time(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def base64_text(data):
    return base64.b64encode(data).decode()


def range_of(text, size):
    """The first byte of `bytes=A-B`, `bytes=A-` or `bytes=-N`, and the one behind the last."""
    unit, _, span = text.partition("=")
    first, dash, last = span.partition("-")
    if unit != "bytes" or not dash or "," in span or not (first or last) or not (first + last).isdigit():
        raise Refused(400, "InvalidArgument", "the range is not one of bytes")
    begin, end = (max(0, size - int(last)), size) if not first else (int(first), min(size, int(last or size) + 1))
    if begin >= size or end <= begin:
        raise Refused(416, "InvalidRange", "The requested range is not satisfiable")
    return begin, end


class Bucket:
    """Objects by key, with what S3 says to each request. Threading: the holder of `lock`."""

    def __init__(self, versioned=False, lock_s=0.0, page_keys=MAX_KEYS):
        self.lock = threading.RLock()
        self.versioned = versioned or lock_s > 0
        self.lock_s = lock_s  # the retention that each new version gets
        self.page_keys = page_keys
        self.objects = {}  # key -> its versions, oldest first
        self.writing = collections.Counter()  # writes of a key whose answer is not there yet
        self.count = 0

    def latest(self, key):
        """The version that a plain read gets; None: there is no object."""
        versions = self.objects.get(key)
        return versions[-1] if versions and versions[-1].body is not None else None

    @contextlib.contextmanager
    def is_written(self, key):
        """While a request that writes it comes in and is answered."""
        with self.lock:
            self.writing[key] += 1
        try:
            yield
        finally:
            with self.lock:
                self.writing[key] -= 1

    def keys(self):
        with self.lock:
            return sorted((key for key in self.objects if self.latest(key)), key=str.encode)

    def put(self, key, body, now, content_type="binary/octet-stream"):
        self.count += 1
        version = Version(f"v{self.count:08}" if self.versioned else "null", body, f'"{hashlib.md5(body).hexdigest()}"',
                          content_type, now + self.lock_s if self.lock_s else 0.0)
        if self.versioned:
            self.objects.setdefault(key, []).append(version)
        else:
            self.objects[key] = [version]
        return version

    def delete(self, key, version_id, now):
        """What S3 does without a version: in a bucket with versions a marker hides the object, which stays."""
        if version_id:
            kept = []
            for version in self.objects.get(key, []):
                if version.id != version_id:
                    kept.append(version)
                elif version.is_locked(now):
                    raise Refused(403, "AccessDenied", LOCKED)
            self.objects[key] = kept
        elif self.versioned:
            if self.latest(key):
                self.count += 1
                self.objects[key].append(Version(f"v{self.count:08}", None))
        else:
            self.objects.pop(key, None)

    def read(self, request, key, query, now):
        versions = self.objects.get(key, [])
        wanted = query.pop("versionId", None)
        version = next((v for v in versions if v.id == wanted), None) if wanted else versions[-1] if versions else None
        refuse_unknown(query)
        if version is None or version.body is None:
            answer = failure(404, "NoSuchVersion" if wanted else "NoSuchKey", "The specified key does not exist.", Key=key)
            if version is not None:
                answer.headers["x-amz-delete-marker"] = "true"
            return answer
        match = request.header("if-match")
        if match and match not in ("*", version.etag):
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold",
                          Condition="If-Match")
        headers = {"ETag": version.etag, "Content-Type": version.content_type, "Accept-Ranges": "bytes"}
        if self.versioned:
            headers["x-amz-version-id"] = version.id
        if version.locked_until:
            headers["x-amz-object-lock-mode"] = "COMPLIANCE"
            headers["x-amz-object-lock-retain-until-date"] = iso_time(version.locked_until)
        # The checksum is that of the whole object.
        if request.header("x-amz-checksum-mode").upper() == "ENABLED" and not request.header("range"):
            headers["x-amz-checksum-sha256"] = base64_text(hashlib.sha256(version.body).digest())
        if request.header("range"):
            begin, end = range_of(request.header("range"), len(version.body))
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(version.body)}"
            return Answer(206, version.body[begin:end], headers)
        return Answer(200, version.body, headers)

    def write(self, request, key, now):
        """The bodies' sums are right already."""
        condition = request.header("if-none-match")
        if condition and condition != "*":
            raise Refused(501, "NotImplemented", "If-None-Match takes only *")
        if condition and self.latest(key):
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold",
                          Condition="If-None-Match")
        if condition and self.writing[key] > 1:
            raise Refused(409, "ConditionalRequestConflict", "The conditional request cannot succeed due to a conflicting "
                          "operation against this resource.", Condition="If-None-Match", Key=key)
        if self.lock_s and not has_sum(request):
            raise Refused(400, "InvalidRequest", "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object "
                          "requests with Object Lock parameters")
        version = self.put(key, request.body, now, request.header("content-type"))
        headers = {"ETag": version.etag}
        if self.versioned:
            headers["x-amz-version-id"] = version.id
        if request.header("x-amz-checksum-sha256"):
            headers["x-amz-checksum-sha256"] = request.header("x-amz-checksum-sha256")
        return Answer(200, b"", headers)

    def list(self, query):
        if query.pop("list-type", "") != "2":
            raise Refused(501, "NotImplemented", "only the second version of ListObjects is here")
        prefix = query.pop("prefix", "")
        encoding = query.pop("encoding-type", "")
        after = query.pop("start-after", "")
        token = query.pop("continuation-token", "")
        most = query.pop("max-keys", str(MAX_KEYS))
        refuse_unknown(query)
        if encoding not in ("", "url") or not most.isdigit():
            raise Refused(400, "InvalidArgument", "encoding-type is url, max-keys a number")
        if token:
            try:
                after = base64.urlsafe_b64decode(token).decode()
            except ValueError as error:
                raise Refused(400, "InvalidArgument", "The continuation token provided is incorrect") from error
        found = [key for key in self.keys() if key.startswith(prefix) and key.encode() > after.encode()]
        page = found[:min(int(most), self.page_keys, MAX_KEYS)]
        shown = (lambda key: urllib.parse.quote(key, safe="/-_.~*")) if encoding else (lambda key: key)
        fields = [element("Prefix", shown(prefix)), element("KeyCount", str(len(page))),
                  element("IsTruncated", "true" if 0 < len(page) < len(found) else "false")]
        if encoding:
            fields.append(element("EncodingType", "url"))
        if 0 < len(page) < len(found):
            fields.append(element("NextContinuationToken", base64.urlsafe_b64encode(page[-1].encode()).decode()))
        for key in page:
            version = self.latest(key)
            fields.append("<Contents>" + element("Key", shown(key)) + element("ETag", version.etag) +
                          element("Size", str(len(version.body))) + "</Contents>")
        return Answer(200, document("ListBucketResult", *fields), {"Content-Type": "application/xml"})

    def delete_many(self, request, now):
        if not has_sum(request):
            raise Refused(400, "InvalidRequest", "Missing required header for this request: Content-MD5")
        try:
            root = xml.etree.ElementTree.fromstring(request.body)
        except xml.etree.ElementTree.ParseError as error:
            raise Refused(400, "MalformedXML", "The XML you provided was not well-formed") from error
        name = root.tag.rpartition("}")[2]
        objects = root.findall("{*}Object")
        if name != "Delete" or not 0 < len(objects) <= MAX_DELETED:
            raise Refused(400, "MalformedXML", "The XML you provided did not validate against our published schema")
        is_quiet = root.findtext("{*}Quiet") == "true"
        fields = []
        for each in objects:
            key, version_id = each.findtext("{*}Key"), each.findtext("{*}VersionId")
            try:
                self.delete(key, version_id, now)
            except Refused as refused:
                fields.append("<Error>" + element("Key", key) + element("Code", refused.code) +
                              element("Message", refused.text) + "</Error>")
                continue
            if not is_quiet:
                fields.append("<Deleted>" + element("Key", key) + "</Deleted>")
        return Answer(200, document("DeleteResult", *fields), {"Content-Type": "application/xml"})


def refuse_unknown(query):
    if query:
        raise Refused(501, "NotImplemented", f"A parameter is not implemented: {', '.join(query)}")


# By the header that announces one.
SUMS = {"content-md5": lambda body: hashlib.md5(body).digest(),
        "x-amz-checksum-sha256": lambda body: hashlib.sha256(body).digest(),
        "x-amz-checksum-crc32": lambda body: zlib.crc32(body).to_bytes(4, "big")}


def has_sum(request):
    return any(request.header(name) for name in SUMS)


def check_sums(request):
    """Of what the sender announces about the body."""
    for name, sum_of in SUMS.items():
        announced = request.header(name)
        if announced and announced != base64_text(sum_of(request.body)):
            raise Refused(400, "BadDigest", f"The {name} you specified did not match what we received.")


class S3Fake:
    """Serves buckets by path (`/bucket/key`) and by host (`bucket.host`), a thread for each connection."""

    ACCESS_KEY = "AKIDKVORUMTEST"
    SECRET_KEY = "secret/of+kvorum=tests"
    BUCKET = "archive"

    def __init__(self, region="us-east-1", seed=1, **of_bucket):
        self.region = region
        self.bucket = Bucket(**of_bucket)
        self.buckets = {self.BUCKET: self.bucket}
        self.keys = {self.ACCESS_KEY: self.SECRET_KEY}
        self.token = ""  # of a session, which all requests must then show
        self.skew_s = 0.0  # by which the store's clock is ahead
        self.faults = Faults()
        self.requests = collections.Counter()  # by method
        self.happened = collections.Counter()  # faults by kind
        self.refusals = collections.Counter()  # by code
        self._rng = random.Random(seed)
        self._guard = threading.Lock()
        self._connections = set()
        self._closed = False
        self._listener = None
        self.port = 0
        self._listen()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def now(self):
        return time.time() + self.skew_s

    def credentials(self):
        """The content of a file of credentials."""
        token = f"aws_session_token = {self.token}\n" if self.token else ""
        return "".join(f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n{token}"
                       for access, secret in list(self.keys.items())[-1:])

    def close(self):
        self._closed = True
        self._end_all()

    @contextlib.contextmanager
    def outage(self):
        """Connections are refused, and those that are open end."""
        self.happened["outage"] += 1
        self._end_all()
        try:
            yield
        finally:
            if not self._closed:
                self._listen()

    def _end_all(self):
        with self._guard:
            listener, self._listener = self._listener, None
            connections = list(self._connections)
        if listener is not None:
            # Closing alone would leave a thread that waits in accept.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for each in connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _listen(self):
        listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self.port = listener.getsockname()[1]
        with self._guard:
            self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                return
            with self._guard:
                if self._listener is not listener:
                    connection.close()
                    return
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection, address), daemon=True).start()

    def _serve(self, connection, address):
        try:
            Handler(connection, address, self)
        except OSError:
            pass  # the client, a fault or an outage ended the connection
        finally:
            with self._guard:
                self._connections.discard(connection)
            connection.close()

    def draw(self, request):
        with self._guard:
            self.requests[request.method] += 1
            kind = self.faults.draw(self._rng, request)
            is_done = self._rng.random() < 0.5
            if kind:
                self.happened[kind] += 1
        return kind, is_done

    def place(self, request):
        """The bucket and the key of the request; an empty key: the bucket itself."""
        path = urllib.parse.unquote(request.path, errors="strict")
        name = request.header("host").partition(".")[0]
        if name not in self.buckets:
            _, name, *rest = path.split("/", 2)
            path = "/" + (rest[0] if rest else "")
        if name not in self.buckets:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist", BucketName=name)
        return self.buckets[name], path[1:]

    def answer(self, request):
        """Carries the request out."""
        try:
            s3_signature.check(request, self.keys, self.region, self.now(), self.token)
            check_sums(request)
            return self._carry_out(request, *self.place(request))
        except Refused as refused:
            with self._guard:
                self.refusals[refused.code] += 1
            return failure(refused.status, refused.code, refused.text, **refused.more)
        except ValueError:
            return failure(400, "InvalidURI", "Couldn't parse the specified URI.")

    def _carry_out(self, request, bucket, key):
        query = s3_signature.query_of(request.query)
        with bucket.lock:
            if not key:
                if request.method == "GET":
                    return bucket.list(query)
                if request.method == "POST" and query.pop("delete", None) is not None:
                    refuse_unknown(query)
                    return bucket.delete_many(request, self.now())
            elif request.method in ("GET", "HEAD"):
                return bucket.read(request, key, query, self.now())
            elif request.method == "PUT":
                refuse_unknown(query)
                return bucket.write(request, key, self.now())
            elif request.method == "DELETE":
                version_id = query.pop("versionId", None)
                refuse_unknown(query)
                bucket.delete(key, version_id, self.now())
                return Answer(204)
        raise Refused(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of an S3Fake, request after request."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, format, *args):
        """Nothing is logged."""

    def do_any(self):
        fake = self.server
        path, _, query = self.path.partition("?")
        request = s3_signature.Request(self.command, path, query, self.headers.items())
        length = self.headers.get("Content-Length")
        if length is None and self.command in ("PUT", "POST"):
            self._send(failure(411, "MissingContentLength", "You must provide the Content-Length HTTP header."), None)
            return
        with self._writing(request):
            self._answer(request, int(length or 0))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_any

    def _writing(self, request):
        if request.method == "PUT":
            with contextlib.suppress(Refused, ValueError):
                bucket, key = self.server.place(request)
                return bucket.is_written(key)
        return contextlib.nullcontext()

    def _answer(self, request, length):
        fake = self.server
        request.body = self.rfile.read(length)
        if len(request.body) < length:
            self.close_connection = True
            return
        kind, is_done = fake.draw(request)
        if fake.faults.latency_s:
            time.sleep(fake.faults.latency_s)
        if kind == "drop":
            if is_done:
                fake.answer(request)
            self._cut()
            return
        if kind == "error":
            answer = failure(500, "InternalError", "We encountered an internal error. Please try again.")
        elif kind == "slow_down":
            answer = failure(503, "SlowDown", "Please reduce your request rate.")
        elif kind == "conflict":
            answer = failure(409, "ConditionalRequestConflict", "The conditional request cannot succeed due to a "
                             "conflicting operation against this resource.")
        elif kind == "error_inside":
            if is_done:
                fake.answer(request)
            answer = failure(200, "InternalError", "We encountered an internal error. Please try again.")
        else:
            answer = fake.answer(request)
        self._send(answer, kind)

    def _send(self, answer, kind):
        self.send_response_only(answer.status)
        self.send_header("Date", email.utils.formatdate(self.server.now(), usegmt=True))
        self.send_header("Server", "S3Fake")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        body = b"" if self.command == "HEAD" else answer.body
        if kind == "truncate":
            self.wfile.write(body[:len(body) // 2])
            self.close_connection = True
        elif kind == "slow" and body:
            pieces = 10
            size = -(-len(body) // pieces)
            for at in range(0, len(body), size):
                time.sleep(self.server.faults.slow_s / pieces)
                self.wfile.write(body[at:at + size])
        else:
            self.wfile.write(body)

    def _cut(self):
        """Ends the connection by a reset, as a proxy that fails does."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
