"""Raft's messages, encoded by hand (numbers: proto/raft.proto) and posted to a member's peer port in another member's
name: what they say, no honest member need ever say.
"""

import collections
import http.client

NORMAL, CONF_CHANGE, CONF_CHANGE_V2 = 0, 1, 2
PROP, APP, APP_RESP, VOTE, SNAP, HEARTBEAT, HEARTBEAT_RESP = 2, 3, 4, 5, 7, 8, 9
READ_INDEX, READ_INDEX_RESP, PRE_VOTE = 15, 16, 17

# The answer to a message that is well made: whether it makes sense is for the raft core to say.
TAKEN = (204, "")


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def message(kind, to, sender, term, log_term=0, index=0, entries=(), commit=0, snapshot=None, reject=0, hint=0,
            context=b""):
    out = field(1, kind) + field(2, to) + field(3, sender) + field(4, term) + field(5, log_term) + field(6, index)
    for each in entries:
        out += field(7, each)
    out += field(8, commit)
    if snapshot is not None:
        out += field(9, snapshot)
    return out + field(10, reject) + field(11, hint) + (field(12, context) if context else b"")


def numbers(encoded):
    """The fields of a message that are numbers; 0 where one is missing."""
    found = collections.defaultdict(int)

    def take():
        nonlocal encoded
        value = shift = 0
        while True:
            byte, encoded = encoded[0], encoded[1:]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while encoded:
        tag = take()
        value = take()
        if tag & 7 == 2:
            encoded = encoded[value:]
        else:
            found[tag >> 3] = value
    return found


def entry(term, index, data=b"", kind=NORMAL):
    return field(1, kind) + field(2, term) + field(3, index) + field(4, data)


def joint_changes(added, removed):
    """The data of three entries of the kind CONF_CHANGE_V2: one voter for another, by the old and the new majority until
    told otherwise; the same, left by itself; leaving that state."""
    swap = field(2, field(1, 0) + field(2, added)) + field(2, field(1, 1) + field(2, removed))
    return field(1, 2) + swap, swap, b""


def joint_snapshot(voters, removed, index, term):
    """A snapshot whose configuration is joint: `removed` votes in the old half only, and would be gone."""
    configuration = b"".join(field(1, m) for m in voters) + field(3, removed) + field(5, 1)
    return field(2, field(1, configuration) + field(2, index) + field(3, term))


def headers(cluster_id, sender):
    return {"X-Server-From": f"{sender:x}", "X-Server-Version": "3.7.1", "X-Min-Cluster-Version": "3.0.0",
            "X-Etcd-Cluster-ID": f"{cluster_id:x}", "Content-Type": "application/protobuf"}


def ask(member, method, path, body=None, fields=None):
    """(status, body), or None if the connection was closed instead. `fields` are the request's headers."""
    connection = http.client.HTTPConnection("127.0.0.1", member.peer_port, timeout=10)
    try:
        connection.request(method, path, body, fields or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace").strip()
    except (http.client.HTTPException, ConnectionError):
        return None
    finally:
        connection.close()
