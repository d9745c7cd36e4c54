// The hand-made encodings, read back by protobuf's own library.
#include "bench/load/request.h"

#include <gtest/gtest.h>

#include "proto/rpc.pb.h"

namespace kvorum::bench {
namespace {

constexpr std::size_t kValueSize = 200;

std::string Key(std::uint64_t number) {
  std::string key(32, '.');
  WriteKey(key.data(), key.size(), number);
  return key;
}

// The message of a request for the key of that number, decoded.
template <class Message>
Message Decoded(const RequestShape& shape, std::uint64_t key_number) {
  const RequestTemplate request(shape);
  std::string bytes(request.size_bytes(), '.');
  request.Write(bytes.data(), key_number, std::string(kValueSize, 'v').data());
  EXPECT_EQ(bytes[0], '\0');
  EXPECT_EQ(static_cast<unsigned char>(bytes[3]) << 8 | static_cast<unsigned char>(bytes[4]),
            static_cast<int>(bytes.size()) - 5);
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes.substr(5)));
  EXPECT_EQ(message.ByteSizeLong(), bytes.size() - 5);
  return message;
}

TEST(RequestTest, KeysHaveTheirSizeAndTheOrderOfTheirNumbers) {
  EXPECT_EQ(Key(0xabc), "/kvorum-bench/000000000000000abc");
  EXPECT_LT(Key(9), Key(10));
  EXPECT_LT(Key(255), Key(256));
}

TEST(RequestTest, APutHoldsItsKeyAndValue) {
  const auto put = Decoded<etcdserverpb::PutRequest>(
      {.operation = Operation::kPut, .value_size = kValueSize}, 7);
  EXPECT_EQ(put.key(), Key(7));
  EXPECT_EQ(put.value(), std::string(kValueSize, 'v'));
}

TEST(RequestTest, LeasesAreNumberedAsKeysAre) {
  // Not as protobuf would write it: the id's size does not change.
  const auto parsed = []<class Message>(Message message, Operation operation,
                                        std::uint64_t number) {
    const RequestTemplate request({.operation = operation, .value_size = kValueSize, .ttl_s = 9});
    std::string bytes(request.size_bytes(), '.');
    request.Write(bytes.data(), number, std::string(kValueSize, 'v').data());
    EXPECT_TRUE(message.ParseFromString(bytes.substr(5)));
    return message;
  };
  for (const std::uint64_t number : {0UL, 126UL, 127UL, 300UL, 99'999'999UL}) {
    const auto id = static_cast<std::int64_t>(number + 1);
    const auto grant = parsed(etcdserverpb::LeaseGrantRequest(), Operation::kLeaseGrant, number);
    EXPECT_EQ(grant.id(), id);
    EXPECT_EQ(grant.ttl(), 9);
    EXPECT_EQ(
        parsed(etcdserverpb::LeaseKeepAliveRequest(), Operation::kLeaseKeepAlive, number).id(), id);
    const auto put = parsed(etcdserverpb::PutRequest(), Operation::kLeasedPut, number);
    EXPECT_EQ(put.lease(), id);
    EXPECT_EQ(put.key(), Key(number));
  }
}

TEST(RequestTest, ARangeAsksForOneKey) {
  const auto range = Decoded<etcdserverpb::RangeRequest>(
      {.operation = Operation::kRange, .serializable = true}, 7);
  EXPECT_EQ(range.key(), Key(7));
  EXPECT_EQ(range.range_end(), "");
  EXPECT_TRUE(range.serializable());
}

TEST(RequestTest, APageGoesToTheEndWithALimit) {
  const auto page =
      Decoded<etcdserverpb::RangeRequest>({.operation = Operation::kPage, .page_limit = 1000}, 7);
  EXPECT_EQ(page.key(), Key(7));
  EXPECT_EQ(page.range_end(), std::string(1, '\0'));
  EXPECT_EQ(page.limit(), 1000);
  EXPECT_FALSE(page.serializable());
}

TEST(RequestTest, ATxnPutsWhicheverWayItsCompareGoes) {
  const auto txn = Decoded<etcdserverpb::TxnRequest>(
      {.operation = Operation::kTxn, .value_size = kValueSize}, 7);
  ASSERT_EQ(txn.compare_size(), 1);
  EXPECT_EQ(txn.compare(0).key(), Key(7));
  EXPECT_EQ(txn.compare(0).target(), etcdserverpb::Compare::MOD);
  EXPECT_EQ(txn.compare(0).result(), etcdserverpb::Compare::GREATER);
  EXPECT_EQ(txn.compare(0).target_union_case(), etcdserverpb::Compare::kModRevision);
  ASSERT_EQ(txn.success_size(), 1);
  ASSERT_EQ(txn.failure_size(), 1);
  EXPECT_EQ(txn.success(0).request_put().key(), Key(7));
  EXPECT_EQ(txn.failure(0).request_put().value(), std::string(kValueSize, 'v'));
}

}  // namespace
}  // namespace kvorum::bench
