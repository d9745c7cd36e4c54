"""AWS's signature version 4, as a store checks it and as a client makes it, for S3: the path's bytes are encoded once.

Written from AWS's description (Signature Version 4 signing process, and that of S3's header-based authentication),
independently of archive/store/sigv4.cc, which it judges.
"""

import dataclasses
import datetime
import hashlib
import hmac
import re
import urllib.parse

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
ALLOWED_SKEW_S = 15 * 60
# Headers that are always part of what is signed, beside all that begin with x-amz-.
ALWAYS_SIGNED = ("host", "content-md5", "content-type")


class Refused(Exception):
    """A request that is not what its sender signed: an HTTP status and S3's code."""

    def __init__(self, status, code, text, **more):
        super().__init__(code)
        self.status = status
        self.code = code
        self.text = text
        self.more = more


@dataclasses.dataclass
class Request:
    method: str
    path: str  # as it is on the wire
    query: str  # as it is on the wire
    headers: list  # (name, value), as they are on the wire
    body: bytes = b""

    def header(self, name, default=""):
        """The values of the header, joined as AWS joins them."""
        values = [squeezed(value) for key, value in self.headers if key.lower() == name]
        return ",".join(values) if values else default


def squeezed(value):
    return re.sub(" +", " ", value.strip())


def encoded(text, safe=""):
    """Each byte but the unreserved ones as %XX."""
    return urllib.parse.quote(text, safe=safe + "-_.~")


def query_of(query):
    """Its parameters, decoded; a plus sign is one."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return {urllib.parse.unquote(name, errors="strict"): urllib.parse.unquote(value, errors="strict")
            for name, _, value in pairs}


def canonical_query(query):
    """Sorted by the encoded names and then values."""
    pairs = []
    for part in query.split("&") if query else ():
        name, _, value = part.partition("=")
        pairs.append(tuple(encoded(urllib.parse.unquote_to_bytes(text)) for text in (name, value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def canonical_request(request, signed_headers, payload):
    path = encoded(urllib.parse.unquote_to_bytes(request.path), safe="/")
    lines = [request.method, path or "/", canonical_query(request.query)]
    lines += [f"{name}:{request.header(name)}" for name in signed_headers]
    return "\n".join([*lines, "", ";".join(signed_headers), payload])


def hmac_sha256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(secret, scope, amz_date, canonical):
    """`scope`: date, region, service and the word at its end."""
    key = ("AWS4" + secret).encode()
    for part in scope:
        key = hmac_sha256(key, part)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return hmac_sha256(key, "\n".join([ALGORITHM, amz_date, "/".join(scope), digest])).hex()


def amz_date(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def seconds_of(text):
    try:
        moment = datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ")
    except ValueError as error:
        raise Refused(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header") from error
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()


def sign(request, access, secret, region, seconds, service="s3", token=""):
    """Adds the headers of a client: the body's hash unless it is there, the date, the session's token, the signature."""
    if service == "s3" and not request.header("x-amz-content-sha256"):
        request.headers.append(("x-amz-content-sha256", hashlib.sha256(request.body).hexdigest()))
    payload = request.header("x-amz-content-sha256") or hashlib.sha256(request.body).hexdigest()
    request.headers.append(("x-amz-date", amz_date(seconds)))
    if token:
        request.headers.append(("x-amz-security-token", token))
    names = sorted({name.lower() for name, _ in request.headers})
    scope = [amz_date(seconds)[:8], region, service, "aws4_request"]
    signed = signature(secret, scope, amz_date(seconds), canonical_request(request, names, payload))
    request.headers.append(("Authorization", f"{ALGORITHM} Credential={access}/{'/'.join(scope)}, "
                                             f"SignedHeaders={';'.join(names)}, Signature={signed}"))
    return request


AUTHORIZATION = re.compile(ALGORITHM + r" Credential=([^/,\s]+)/(\d{8})/([^/,\s]+)/([^/,\s]+)/(\w+), *"
                           r"SignedHeaders=([^,\s]+), *Signature=([0-9a-f]{64})")


def check_signed_names(request, names):
    if names != sorted(set(names)) or any(name != name.lower() for name in names):
        raise Refused(403, "SignatureDoesNotMatch", "the names of the signed headers are not sorted and in lower case")
    present = {name.lower() for name, _ in request.headers}
    left_out = [name for name in sorted(present)
                if (name in ALWAYS_SIGNED or name.startswith("x-amz-")) and name not in names]
    if left_out:
        raise Refused(403, "AccessDenied", "There were headers present in the request which were not signed",
                      HeadersNotSigned=", ".join(left_out))
    if "host" not in names or not set(names) <= present:
        raise Refused(403, "SignatureDoesNotMatch", "a signed header is not in the request")


def check_payload(request):
    announced = request.header("x-amz-content-sha256")
    if not announced:
        raise Refused(400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
    if announced == UNSIGNED:
        return
    if not re.fullmatch("[0-9a-f]{64}", announced):
        raise Refused(400, "InvalidArgument", "x-amz-content-sha256 must be UNSIGNED-PAYLOAD or a valid sha256 value.")
    if announced != hashlib.sha256(request.body).hexdigest():
        raise Refused(400, "XAmzContentSHA256Mismatch",
                      "The provided 'x-amz-content-sha256' header does not match what was computed.")


def check(request, keys, region, now, token=""):
    """Raises Refused unless the request is signed by one of `keys` (access key -> secret), for this region, at most
    15 minutes from `now`, and has the body that was signed."""
    authorization = request.header("authorization")
    if not authorization:
        raise Refused(403, "AccessDenied", "Access Denied")
    found = AUTHORIZATION.fullmatch(authorization)
    if not found:
        raise Refused(400, "AuthorizationHeaderMalformed", "The authorization header is malformed")
    access, day, scope_region, service, end, names, signed = found.groups()
    if access not in keys:
        raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.",
                      AWSAccessKeyId=access)
    if scope_region != region:
        raise Refused(400, "AuthorizationHeaderMalformed", "The authorization header is malformed; the region "
                      f"'{scope_region}' is wrong; expecting '{region}'", Region=region)
    date = request.header("x-amz-date")
    seconds = seconds_of(date)
    if (day, service, end) != (date[:8], "s3", "aws4_request"):
        raise Refused(400, "AuthorizationHeaderMalformed", "The authorization header is malformed; its scope is wrong")
    names = names.split(";")
    check_signed_names(request, names)
    canonical = canonical_request(request, names, request.header("x-amz-content-sha256"))
    expected = signature(keys[access], [day, scope_region, service, end], date, canonical)
    if not hmac.compare_digest(expected, signed):
        raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you "
                      "provided. Check your key and signing method.", AWSAccessKeyId=access, SignatureProvided=signed,
                      CanonicalRequest=canonical)
    if request.header("x-amz-security-token") != token:
        raise Refused(403 if token else 400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
    if abs(seconds - now) > ALLOWED_SKEW_S:
        raise Refused(403, "RequestTimeTooSkewed",
                      "The difference between the request time and the current time is too large.",
                      RequestTime=date, ServerTime=amz_date(now), MaxAllowedSkewMilliseconds=str(ALLOWED_SKEW_S * 1000))
    check_payload(request)
