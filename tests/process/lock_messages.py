"""The messages and stubs of the Lock and Election services, which the Python client does not have: made here of its
own messages of the other services.
"""

from etcd3.etcdrpc import kv_pb2, rpc_pb2
from google.protobuf import descriptor_pb2, message_factory

BYTES = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
INT64 = descriptor_pb2.FieldDescriptorProto.TYPE_INT64
HEADER = rpc_pb2.ResponseHeader.DESCRIPTOR
KEY_VALUE = kv_pb2.KeyValue.DESCRIPTOR
LEADER_KEY = ".kvorumtest.LeaderKey"

# Each field: its name and type, numbered from 1.
MESSAGES = {
    "LockRequest": [("name", BYTES), ("lease", INT64)],
    "LockResponse": [("header", HEADER), ("key", BYTES)],
    "UnlockRequest": [("key", BYTES)],
    "UnlockResponse": [("header", HEADER)],
    "LeaderKey": [("name", BYTES), ("key", BYTES), ("rev", INT64), ("lease", INT64)],
    "CampaignRequest": [("name", BYTES), ("lease", INT64), ("value", BYTES)],
    "CampaignResponse": [("header", HEADER), ("leader", LEADER_KEY)],
    "LeaderRequest": [("name", BYTES)],
    "LeaderResponse": [("header", HEADER), ("kv", KEY_VALUE)],
    "ResignRequest": [("leader", LEADER_KEY)],
    "ResignResponse": [("header", HEADER)],
    "ProclaimRequest": [("leader", LEADER_KEY), ("value", BYTES)],
    "ProclaimResponse": [("header", HEADER)],
}


def make_classes():
    pool = HEADER.file.pool
    file = descriptor_pb2.FileDescriptorProto(name="kvorum_test_lock.proto", package="kvorumtest", syntax="proto3")
    file.dependency.extend([HEADER.file.name, KEY_VALUE.file.name])
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            added = message.field.add(name=field, number=number,
                                      label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
            if isinstance(kind, int):
                added.type = kind
            else:
                added.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
                added.type_name = kind if isinstance(kind, str) else "." + kind.full_name
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"kvorumtest.{name}")) for name in MESSAGES}


CLASSES = make_classes()
LockRequest, UnlockRequest = CLASSES["LockRequest"], CLASSES["UnlockRequest"]
CampaignRequest, LeaderRequest = CLASSES["CampaignRequest"], CLASSES["LeaderRequest"]
ResignRequest, ProclaimRequest = CLASSES["ResignRequest"], CLASSES["ProclaimRequest"]
LeaderKey = CLASSES["LeaderKey"]


class Stub:
    """Lock and Election, one callable a method."""

    def __init__(self, channel):
        for service, methods in (("v3lockpb.Lock", ("Lock", "Unlock")),
                                 ("v3electionpb.Election", ("Campaign", "Proclaim", "Leader", "Resign"))):
            for method in methods:
                setattr(self, method, channel.unary_unary(
                    f"/{service}/{method}", request_serializer=lambda message: message.SerializeToString(),
                    response_deserializer=CLASSES[method + "Response"].FromString))
        self.Observe = channel.unary_stream(
            "/v3electionpb.Election/Observe", request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=CLASSES["LeaderResponse"].FromString)
