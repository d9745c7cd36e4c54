"""A channel whose calls are made in a user's name: with a token that is asked for when the first call needs one, and anew
after a member did not know it (simple tokens go when a member ends)."""

import collections

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc


class Details(collections.namedtuple("Details", ("method", "timeout", "metadata", "credentials", "wait_for_ready",
                                                 "compression")), grpc.ClientCallDetails):
    pass


class AsUser(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor):
    def __init__(self, channel, name, password):
        self.auth = rpc_pb2_grpc.AuthStub(channel)
        self.login = rpc_pb2.AuthenticateRequest(name=name, password=password)
        self.token = None

    def with_token(self, details):
        if self.token is None:
            self.token = self.auth.Authenticate(self.login, timeout=details.timeout or 30).token
        return Details(details.method, details.timeout, (*(details.metadata or ()), ("token", self.token)),
                       details.credentials, details.wait_for_ready, details.compression)

    def intercept_unary_unary(self, continuation, details, request):
        answer = continuation(self.with_token(details), request)
        if answer.code() == grpc.StatusCode.UNAUTHENTICATED:
            self.token = None
        return answer

    def intercept_unary_stream(self, continuation, details, request):
        return continuation(self.with_token(details), request)

    def intercept_stream_stream(self, continuation, details, requests):
        return continuation(self.with_token(details), requests)


def intercept(channel, name, password):
    return grpc.intercept_channel(channel, AsUser(channel, name, password))
