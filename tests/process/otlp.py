"""A collector of OpenTelemetry spans: a gRPC server on loopback with the one method that an exporter calls, which keeps
what it is sent. The messages' fields stand here by number and are no more than the tests read.
"""

import threading
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import ports

FIELD = descriptor_pb2.FieldDescriptorProto
BYTES, TEXT, INT64, BOOL = FIELD.TYPE_BYTES, FIELD.TYPE_STRING, FIELD.TYPE_INT64, FIELD.TYPE_BOOL
ENUM, UINT32, FIXED64, FIXED32 = FIELD.TYPE_INT32, FIELD.TYPE_UINT32, FIELD.TYPE_FIXED64, FIELD.TYPE_FIXED32

# Each field: its number, name and type, the name of a message after a "+" where it repeats.
MESSAGES = {
    "ExportTraceServiceRequest": [(1, "resource_spans", "+ResourceSpans")],
    "ExportTraceServiceResponse": [(1, "partial_success", "PartialSuccess")],
    "PartialSuccess": [(1, "rejected_spans", INT64), (2, "error_message", TEXT)],
    "ResourceSpans": [(1, "resource", "Resource"), (2, "scope_spans", "+ScopeSpans"), (3, "schema_url", TEXT)],
    "Resource": [(1, "attributes", "+KeyValue"), (2, "dropped_attributes_count", UINT32)],
    "ScopeSpans": [(1, "scope", "Scope"), (2, "spans", "+Span"), (3, "schema_url", TEXT)],
    "Scope": [(1, "name", TEXT), (2, "version", TEXT)],
    "Span": [(1, "trace_id", BYTES), (2, "span_id", BYTES), (3, "trace_state", TEXT), (4, "parent_span_id", BYTES),
             (5, "name", TEXT), (6, "kind", ENUM), (7, "start", FIXED64), (8, "end", FIXED64),
             (9, "attributes", "+KeyValue"), (10, "dropped_attributes_count", UINT32), (11, "events", "+Event"),
             (15, "status", "Status"), (16, "flags", FIXED32)],
    "Event": [(1, "time", FIXED64), (2, "name", TEXT), (3, "attributes", "+KeyValue")],
    "Status": [(2, "message", TEXT), (3, "code", ENUM)],
    "KeyValue": [(1, "key", TEXT), (2, "value", "AnyValue")],
    "AnyValue": [(1, "string_value", TEXT), (2, "bool_value", BOOL), (3, "int_value", INT64)],
}


def make_classes():
    file = descriptor_pb2.FileDescriptorProto(name="kvorum_test_otlp.proto", package="kvorumtest.otlp", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
        for number, field, kind in fields:
            added = message.field.add(name=field, number=number, label=FIELD.LABEL_OPTIONAL)
            if name == "AnyValue":
                added.oneof_index = 0
            if isinstance(kind, int):
                added.type = kind
                continue
            added.type = FIELD.TYPE_MESSAGE
            added.type_name = ".kvorumtest.otlp." + kind.removeprefix("+")
            if kind.startswith("+"):
                added.label = FIELD.LABEL_REPEATED
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("kvorumtest.otlp." + name)) for name in MESSAGES}


CLASSES = make_classes()


def values(attributes):
    return {of.key: getattr(of.value, of.value.WhichOneof("value")) for of in attributes}


class Span:
    """A span with what its batch says of all its spans."""

    def __init__(self, span, scope, resource):
        self.raw = span
        self.name = span.name
        self.kind = span.kind
        self.trace_id = span.trace_id.hex()
        self.span_id = span.span_id.hex()
        self.parent_id = span.parent_span_id.hex()
        self.trace_state = span.trace_state
        self.flags = span.flags
        self.attributes = values(span.attributes)
        self.events = [(event.name, values(event.attributes)) for event in span.events]
        self.status = (span.status.code, span.status.message)
        self.scope = (scope.name, scope.version)
        self.resource = resource

    def __repr__(self):
        return (f"{self.name} kind={self.kind} parent={self.parent_id} state={self.trace_state!r} "
                f"flags={self.flags:#x} {self.attributes} {self.events} {self.status} {self.scope} {self.resource}")


class Collector:
    """`answers`: the outcomes of the first exports (gRPC codes); the further ones succeed."""

    def __init__(self, *answers, port=None):
        self.answers = list(answers)
        self.changed = threading.Condition()
        self.spans = []
        self.exports = 0
        self.metadata = {}
        handler = grpc.unary_unary_rpc_method_handler(
            self.export, request_deserializer=CLASSES["ExportTraceServiceRequest"].FromString,
            response_serializer=lambda message: message.SerializeToString())
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
            "opentelemetry.proto.collector.trace.v1.TraceService", {"Export": handler}),))
        self.port = port or ports.free_port()
        if self.server.add_insecure_port(f"127.0.0.1:{self.port}") != self.port:
            raise AssertionError("the collector's port is in use")
        self.server.start()

    def close(self):
        self.server.stop(None).wait()

    def export(self, request, context):
        with self.changed:
            self.exports += 1
            self.metadata = dict(context.invocation_metadata())
            code = self.answers.pop(0) if self.answers else grpc.StatusCode.OK
            if code == grpc.StatusCode.OK:
                for of_resource in request.resource_spans:
                    resource = values(of_resource.resource.attributes)
                    for of_scope in of_resource.scope_spans:
                        self.spans += [Span(span, of_scope.scope, resource) for span in of_scope.spans]
            self.changed.notify_all()
        if code != grpc.StatusCode.OK:
            context.abort(code, "as the test wants it")
        return CLASSES["ExportTraceServiceResponse"]()

    def wait(self, condition, timeout=60):
        """Until `condition(spans)` holds; returns the spans."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition(self.spans), timeout):
                raise AssertionError(f"the spans did not come: {self.spans}")
            return list(self.spans)
