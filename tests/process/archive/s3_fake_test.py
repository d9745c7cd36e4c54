#!/usr/bin/env python3
"""The stand-in for S3 that other tests archive to: its signatures against AWS's published examples, and each of its
answers and faults to requests that are signed here."""

import base64
import hashlib
import http.client
import os
import subprocess
import threading
import time
import unittest
import urllib.parse
import xml.etree.ElementTree

import s3_fake
import s3_signature
from s3_signature import Request, canonical_request, sign, signature

# Those of S3's page on the Authorization header: every signature there is of this key and this moment.
PAGES_ACCESS = "AKIAIOSFODNN7EXAMPLE"
PAGES_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
PAGES_SECONDS = 1369353600
# Those of the test suite for the signature.
SUITE_SECONDS = 1440938160


class PublishedExamplesTest(unittest.TestCase):
    def signed(self, method, path, query="", headers=(), body=b""):
        request = Request(method, path, query, [("host", "examplebucket.s3.amazonaws.com"), *headers], body)
        sign(request, PAGES_ACCESS, PAGES_SECRET, "us-east-1", PAGES_SECONDS)
        s3_signature.check(request, {PAGES_ACCESS: PAGES_SECRET}, "us-east-1", PAGES_SECONDS)
        return request.header("authorization").rpartition("Signature=")[2]

    def test_those_of_s3(self):
        self.assertEqual(self.signed("GET", "/test.txt", headers=[("range", "bytes=0-9")]),
                         "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        self.assertEqual(self.signed("PUT", "/test$file.text", headers=[
            ("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                                     body=b"Welcome to Amazon S3."),
                         "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
        self.assertEqual(self.signed("GET", "/", "lifecycle"),
                         "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        self.assertEqual(self.signed("GET", "/", "max-keys=2&prefix=J"),
                         "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")

    def test_those_of_the_suite(self):
        def signed(query, headers=()):
            request = Request("GET", "/", query, [("Host", "example.amazonaws.com"), *headers])
            sign(request, "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", SUITE_SECONDS,
                 service="service")
            return request.header("authorization").rpartition("Signature=")[2]
        self.assertEqual(signed(""), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
        self.assertEqual(signed("Param2=value2&Param1=value1"),
                         "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500")
        self.assertEqual(signed("", [("My-Header1", " value1"), ("My-Header2", ' "a   b   c"')]),
                         "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736")


class Client:
    """Signs requests as AWS's tools do, and sends each over a new connection."""

    def __init__(self, fake, access=None, secret=None, region="us-east-1", token="", seconds=None):
        self.fake = fake
        self.access = access or fake.ACCESS_KEY
        self.secret = secret or fake.SECRET_KEY
        self.region = region
        self.token = token
        self.seconds = seconds

    def request(self, method, key="", query="", headers=(), body=b""):
        path = "/" + self.fake.BUCKET + ("/" + urllib.parse.quote(key) if key else "")
        request = Request(method, path, query, [("Host", f"127.0.0.1:{self.fake.port}"), *headers], body)
        return sign(request, self.access, self.secret, self.region, self.seconds or time.time(), token=self.token)

    def send(self, request):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.fake.port, timeout=10)
        try:
            connection.putrequest(request.method, request.path + ("?" + request.query if request.query else ""),
                                  skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                connection.putheader(name, value)
            if request.body or request.method in ("PUT", "POST"):
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, *arguments, **more):
        return self.send(self.request(*arguments, **more))

    def put(self, key, body, headers=()):
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        return self.ask("PUT", key, headers=[("x-amz-checksum-sha256", digest), *headers], body=body)


def code_of(body):
    return xml.etree.ElementTree.fromstring(body).findtext("Code")


class FakeCase(unittest.TestCase):
    options = {}

    def setUp(self):
        self.fake = s3_fake.S3Fake(**self.options)
        self.addCleanup(self.fake.close)
        self.client = Client(self.fake)

    def assert_refused(self, answer, status, code):
        self.assertEqual((answer[0], code_of(answer[2])), (status, code))

    def assert_changed_is_refused(self, change, status, code):
        """A request that is changed after it was signed."""
        request = self.client.request("PUT", "key", query="", headers=[("content-type", "text/plain")], body=b"bytes")
        change(request)
        self.assert_refused(self.client.send(request), status, code)
        self.assertEqual(self.fake.bucket.keys(), [])


class SignatureTest(FakeCase):
    def test_a_signed_request_passes(self):
        self.assertEqual(self.client.ask("PUT", "a key/with+signs=%", body=b"bytes")[0], 200)
        self.assertEqual(self.client.ask("GET", "a key/with+signs=%")[2], b"bytes")

    def test_a_request_without_a_signature_is_refused(self):
        self.assert_changed_is_refused(lambda request: request.headers.pop(), 403, "AccessDenied")

    def test_another_method_path_query_or_header_is_refused(self):
        def set_header(name, value):
            return lambda request: request.headers.__setitem__(
                [key.lower() for key, _ in request.headers].index(name), (name, value))
        changes = (lambda request: setattr(request, "path", request.path + "2"),
                   lambda request: setattr(request, "query", "versionId=1"),
                   lambda request: setattr(request, "method", "DELETE"),
                   set_header("content-type", "text/html"),
                   set_header("host", "another:1"),
                   set_header("x-amz-content-sha256", "0" * 64),
                   set_header("x-amz-date", s3_signature.amz_date(time.time() + 1)))
        for change in changes:
            self.assert_changed_is_refused(change, 403, "SignatureDoesNotMatch")

    def test_another_body_is_refused(self):
        self.assert_changed_is_refused(lambda request: setattr(request, "body", b"other"), 400,
                                       "XAmzContentSHA256Mismatch")

    def test_a_header_that_was_not_signed_is_refused(self):
        self.assert_changed_is_refused(lambda request: request.headers.append(("x-amz-meta-more", "1")), 403, "AccessDenied")
        self.assert_changed_is_refused(lambda request: request.headers.append(("content-md5", "1")), 403, "AccessDenied")

    def test_a_wrong_secret_key_region_or_token_is_refused(self):
        for client, status, code in (
                (Client(self.fake, secret="wrong"), 403, "SignatureDoesNotMatch"),
                (Client(self.fake, access="UNKNOWN"), 403, "InvalidAccessKeyId"),
                (Client(self.fake, region="eu-central-1"), 400, "AuthorizationHeaderMalformed"),
                (Client(self.fake, token="token"), 400, "InvalidToken")):
            self.assert_refused(client.ask("GET", "key"), status, code)
        self.fake.token = "token"
        self.assert_refused(self.client.ask("GET", "key"), 403, "InvalidToken")
        self.assertEqual(Client(self.fake, token="token").put("key", b"bytes")[0], 200)

    def test_a_clock_that_is_off_gets_the_date(self):
        late = Client(self.fake, seconds=time.time() - 16 * 60)
        status, headers, body = late.ask("GET", "key")
        self.assertEqual((status, code_of(body)), (403, "RequestTimeTooSkewed"))
        self.fake.skew_s = -16 * 60
        self.assertEqual(late.put("key", b"bytes")[0], 200)
        self.assertNotEqual(headers["Date"], late.ask("GET", "key")[1]["Date"])

    def test_the_signature_is_of_what_was_signed(self):
        """One bit of it, of the key or of the request makes another signature."""
        request = self.client.request("GET", "key")
        names = ["host", "x-amz-content-sha256", "x-amz-date"]
        canonical = canonical_request(request, names, request.header("x-amz-content-sha256"))
        date = request.header("x-amz-date")
        scope = [date[:8], "us-east-1", "s3", "aws4_request"]
        right = signature(self.fake.SECRET_KEY, scope, date, canonical)
        self.assertIn("Signature=" + right, request.header("authorization"))
        self.assertEqual(len({right, signature(self.fake.SECRET_KEY + "x", scope, date, canonical),
                              signature(self.fake.SECRET_KEY, scope, date, canonical + "\n")}), 3)


class ObjectsTest(FakeCase):
    options = {"page_keys": 3}

    def test_a_write_if_absent_replaces_nothing(self):
        absent = [("if-none-match", "*")]
        self.assertEqual(self.client.put("key", b"first", absent)[0], 200)
        self.assert_refused(self.client.put("key", b"second", absent), 412, "PreconditionFailed")
        self.assertEqual(self.client.ask("GET", "key")[2], b"first")
        self.assertEqual(self.client.put("key", b"third")[0], 200)
        self.assertEqual(self.client.ask("GET", "key")[2], b"third")

    def test_of_two_conditional_writes_at_once_one_conflicts(self):
        self.fake.faults.latency_s = 0.3
        answers = []
        writers = [threading.Thread(target=lambda: answers.append(self.client.put("key", b"x", [("if-none-match", "*")])[0]))
                   for _ in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        self.assertIn(409, answers)
        self.assertLessEqual(answers.count(200), 1)

    def test_sums_of_bodies_are_compared(self):
        wrong = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
        self.assert_refused(self.client.ask("PUT", "key", headers=[("x-amz-checksum-sha256", wrong)], body=b"x"), 400,
                            "BadDigest")
        self.assert_refused(self.client.ask("PUT", "key", headers=[("content-md5", wrong)], body=b"x"), 400, "BadDigest")
        self.assertEqual(self.fake.bucket.keys(), [])

    def test_ranges_and_versions_of_reads(self):
        self.client.put("key", b"0123456789")
        status, headers, body = self.client.ask("GET", "key", headers=[("range", "bytes=2-4")])
        self.assertEqual((status, headers["Content-Range"], body), (206, "bytes 2-4/10", b"234"))
        self.assertEqual(self.client.ask("GET", "key", headers=[("range", "bytes=8-")])[2], b"89")
        self.assert_refused(self.client.ask("GET", "key", headers=[("range", "bytes=10-")]), 416, "InvalidRange")
        self.assertEqual(self.client.ask("GET", "key", headers=[("if-match", headers["ETag"])])[0], 200)
        self.client.put("key", b"other")
        self.assert_refused(self.client.ask("GET", "key", headers=[("if-match", headers["ETag"])]), 412,
                            "PreconditionFailed")
        self.assert_refused(self.client.ask("GET", "absent"), 404, "NoSuchKey")

    def test_head_says_the_checksum(self):
        self.client.put("key", b"bytes")
        status, headers, body = self.client.ask("HEAD", "key", headers=[("x-amz-checksum-mode", "ENABLED")])
        self.assertEqual((status, headers["Content-Length"], body), (200, "5", b""))
        self.assertEqual(headers["x-amz-checksum-sha256"], base64.b64encode(hashlib.sha256(b"bytes").digest()).decode())

    def listed(self, **query):
        """All pages: keys, and how many pages there were."""
        keys, pages, token = [], 0, {}
        while True:
            text = "&".join(f"{name}={urllib.parse.quote(value, safe='')}"
                            for name, value in {"list-type": "2", **query, **token}.items())
            status, _, body = self.client.ask("GET", query=text)
            self.assertEqual(status, 200, body)
            root = xml.etree.ElementTree.fromstring(body)
            keys += [each.findtext("{*}Key") for each in root.findall("{*}Contents")]
            pages += 1
            if root.findtext("{*}IsTruncated") == "false":
                return keys, pages
            token = {"continuation-token": root.findtext("{*}NextContinuationToken")}

    def test_a_listing_comes_in_pages_in_order(self):
        for key in ("b/2", "a/1", "b/1", "b/3", "b/4", "b/a key+&", "c"):
            self.client.put(key, b"x")
        self.assertEqual(self.listed(), (["a/1", "b/1", "b/2", "b/3", "b/4", "b/a key+&", "c"], 3))
        self.assertEqual(self.listed(prefix="b/", **{"start-after": "b/2"}), (["b/3", "b/4", "b/a key+&"], 1))
        self.assertEqual(self.listed(prefix="b/a", **{"encoding-type": "url"})[0], ["b/a%20key%2B%26"])
        self.assertEqual(self.listed(**{"max-keys": "1"})[1], 7)

    def test_what_is_not_known_is_refused(self):
        self.assert_refused(self.client.ask("GET", query="list-type=2&delimiter=%2F"), 501, "NotImplemented")
        self.assert_refused(self.client.ask("PUT", "key", query="acl=", body=b"x"), 501, "NotImplemented")

    def delete(self, *keys):
        body = ("<Delete>" + "".join(f"<Object><Key>{key}</Key></Object>" for key in keys) + "</Delete>").encode()
        digest = base64.b64encode(hashlib.md5(body).digest()).decode()
        return self.client.ask("POST", query="delete=", headers=[("content-md5", digest)], body=body)

    def test_many_are_deleted_at_once(self):
        for key in ("a", "b", "c"):
            self.client.put(key, b"x")
        status, _, body = self.delete("a", "c", "absent")
        self.assertEqual((status, body.count(b"<Deleted>"), self.fake.bucket.keys()), (200, 3, ["b"]))
        self.assert_refused(self.client.ask("POST", query="delete=", body=b"<Delete/>"), 400, "InvalidRequest")


class LockTest(FakeCase):
    options = {"lock_s": 3600}

    def test_a_locked_version_stays(self):
        _, headers, _ = self.client.put("key", b"bytes")
        version = headers["x-amz-version-id"]
        answer = self.client.ask("DELETE", "key", query=f"versionId={version}")
        self.assert_refused(answer, 403, "AccessDenied")
        self.assertIn(b"object lock", answer[2])
        body = f"<Delete><Object><Key>key</Key><VersionId>{version}</VersionId></Object></Delete>".encode()
        digest = base64.b64encode(hashlib.md5(body).digest()).decode()
        status, _, body = self.client.ask("POST", query="delete=", headers=[("content-md5", digest)], body=body)
        self.assertEqual((status, b"<Code>AccessDenied</Code>" in body), (200, True))
        self.assertEqual(self.client.ask("HEAD", "key")[1]["x-amz-object-lock-mode"], "COMPLIANCE")

    def test_a_plain_delete_hides_it(self):
        version = self.client.put("key", b"bytes")[1]["x-amz-version-id"]
        self.assertEqual(self.client.ask("DELETE", "key")[0], 204)
        status, headers, _ = self.client.ask("GET", "key")
        self.assertEqual((status, headers["x-amz-delete-marker"]), (404, "true"))
        self.assertEqual(self.fake.bucket.keys(), [])
        self.assertEqual(self.client.ask("GET", "key", query=f"versionId={version}")[2], b"bytes")

    def test_once_the_lock_has_ended_it_goes(self):
        version = self.client.put("key", b"bytes")[1]["x-amz-version-id"]
        self.fake.skew_s = 3700
        later = Client(self.fake, seconds=time.time() + 3700)
        self.assertEqual(later.ask("DELETE", "key", query=f"versionId={version}")[0], 204)
        self.assert_refused(later.ask("GET", "key"), 404, "NoSuchKey")

    def test_a_write_without_a_sum_is_refused(self):
        self.assert_refused(self.client.ask("PUT", "key", body=b"x"), 400, "InvalidRequest")


class FaultsTest(FakeCase):
    def test_errors_come_as_often_as_ordered(self):
        self.client.put("key", b"bytes")
        self.fake.faults = s3_fake.Faults(error=0.2, slow_down=0.2)
        statuses = [self.client.ask("GET", "key")[0] for _ in range(200)]
        for status in (500, 503):
            self.assertIn(statuses.count(status), range(15, 75))
        self.assertEqual(statuses.count(500), self.fake.happened["error"])

    def test_one_seed_gives_the_same_faults(self):
        faults = s3_fake.Faults(error=0.3, drop=0.3)

        def drawn(seed):
            with s3_fake.S3Fake(seed=seed) as fake:
                fake.faults = faults
                return [fake.draw(Request("GET", "/", "", [])) for _ in range(50)]
        self.assertEqual(drawn(5), drawn(5))
        self.assertNotEqual(drawn(5), drawn(6))

    def test_an_error_hides_in_a_success(self):
        self.fake.faults = s3_fake.Faults(error_inside=1)
        status, _, body = self.client.ask("POST", query="delete=", body=b"<Delete/>")
        self.assertEqual((status, code_of(body)), (200, "InternalError"))
        self.assertEqual(self.client.ask("GET", "key")[0], 500)

    def test_a_lost_answer_may_have_been_carried_out(self):
        self.fake.faults = s3_fake.Faults(drop=1)
        for number in range(30):
            with self.assertRaises(OSError):
                self.client.put(f"key{number:02}", b"bytes")
        self.assertIn(len(self.fake.bucket.keys()), range(5, 26))

    def test_an_answer_ends_too_early(self):
        self.client.put("key", b"bytes" * 1000)
        self.fake.faults = s3_fake.Faults(truncate=1)
        with self.assertRaises(http.client.IncompleteRead):
            self.client.ask("GET", "key")

    def test_a_slow_answer_is_whole(self):
        self.client.put("key", b"bytes" * 1000)
        self.fake.faults = s3_fake.Faults(slow=1, slow_s=0.2)
        begun = time.monotonic()
        self.assertEqual(self.client.ask("GET", "key")[2], b"bytes" * 1000)
        self.assertGreater(time.monotonic() - begun, 0.2)

    def test_during_an_outage_connections_are_refused(self):
        self.client.put("key", b"bytes")
        with self.fake.outage():
            with self.assertRaises(ConnectionRefusedError):
                self.client.ask("GET", "key")
        self.assertEqual(self.client.ask("GET", "key")[2], b"bytes")

    def test_a_conflict_comes_to_conditional_writes_alone(self):
        self.fake.faults = s3_fake.Faults(conflict=1)
        self.assertEqual(self.client.put("key", b"bytes")[0], 200)
        self.assert_refused(self.client.put("other", b"bytes", [("if-none-match", "*")]), 409, "ConditionalRequestConflict")
        self.assertEqual(self.fake.bucket.keys(), ["key"])


class StoreTest(FakeCase):
    """S3Store in front of it: two implementations of the signature, neither made from the other."""

    def test_the_store_of_archives_gets_on_with_it(self):
        self.fake.buckets = {"plain": s3_fake.Bucket(), "locked": s3_fake.Bucket(lock_s=86400)}
        test = os.path.join(os.environ["KVORUM_BIN_DIR"], "archive_bucket_test")
        subprocess.run([test], check=True, stdout=subprocess.DEVNULL, timeout=120, env={
            "AWS_ACCESS_KEY_ID": self.fake.ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": self.fake.SECRET_KEY,
            "AWS_REGION": "us-east-1", "KVORUM_S3_ENDPOINT": self.fake.endpoint})
        self.assertEqual(set(self.fake.refusals), {"PreconditionFailed"}, "it signs each request rightly")


if __name__ == "__main__":
    unittest.main()
