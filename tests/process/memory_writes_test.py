"""A member whose memory is bounded survives what is written: small requests that read or copy much, and more log
than it has memory. The bound is that of memory_test.py.
"""

import concurrent.futures
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2

import memory_test

MIB = memory_test.MIB
ALL = memory_test.ALL
TOO_LARGE = r"^grpc: trying to send message larger than max \(\d+ vs\. \d+\)$"


def operation(request):
    kinds = {rpc_pb2.RangeRequest: "request_range", rpc_pb2.PutRequest: "request_put"}
    return rpc_pb2.RequestOp(**{kinds[type(request)]: request})


class WritesTest(memory_test.MemoryCase):
    def restart(self):
        self.member.kill()
        self.channel.close()
        self.start()

    def test_puts_with_127_ranges_of_everything(self):
        self.start()
        self.member.fill(self.channel)

        def ask(number):
            put = rpc_pb2.PutRequest(key=b"put%d" % number, value=b"done")
            return self.stub.Txn.with_call(
                rpc_pb2.TxnRequest(success=[operation(put)] + [operation(ALL)] * 127), timeout=300)

        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            answers = [clients.submit(ask, number) for number in range(16)]
        for answer in answers:
            refused = answer.exception()
            self.assertIsInstance(refused, grpc.RpcError)
            self.assertEqual(refused.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertRegex(refused.details(), TOO_LARGE)
        self.expect_serving()
        self.restart()  # which applies again what the backend did not have
        for number in range(16):
            written = self.stub.Range(rpc_pb2.RangeRequest(key=b"put%d" % number), timeout=60)
            self.assertEqual(written.kvs[0].value, b"done", "the write counts, whatever becomes of its answer")
        self.expect_serving()

    def test_small_puts_that_keep_large_values(self):
        self.start()
        self.stub.Put(rpc_pb2.PutRequest(key=b"large", value=bytes(MIB)), timeout=60)
        keep = rpc_pb2.PutRequest(key=b"large", ignore_value=True)
        calls = [self.stub.Put.future(keep, timeout=300) for _ in range(1500)]
        # A disk may take longer for all of it than a request may wait.
        ended = [call.exception() for call in calls]
        self.assertLessEqual({refused.details() for refused in ended if refused}, {"etcdserver: request timed out"})
        self.assertIn(None, ended)
        self.expect_serving()
        self.restart()
        self.expect_serving()

    # Over ten seconds: more than the bound has to go through the log.
    def test_more_log_than_memory(self):
        self.start()
        value = bytes(1_400_000)
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            written = [clients.submit(self.stub.Put, rpc_pb2.PutRequest(key=b"log%d" % (n % 8), value=value),
                                      timeout=300) for n in range(900)]
        for put in written:
            put.result()
        self.assertLess(self.member.anonymous(), memory_test.LIMIT // 2)
        self.expect_serving()
        self.restart()
        self.assertLess(self.member.anonymous(), memory_test.LIMIT // 2)
        self.expect_serving()


if __name__ == "__main__":
    unittest.main()
