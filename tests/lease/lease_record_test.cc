// The bytes of a stored lease: those that a member of etcd writes.
#include "lease/lease_record.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum::lease {
namespace {

using namespace std::string_literals;

TEST(LeaseRecordTest, TheBytesAreEtcds) {
  EXPECT_EQ(EncodeLease({.id = 300, .ttl_s = 60, .remaining_s = 7}),
            "\x08\xac\x02\x10\x3c\x18\x07"s);
  EXPECT_EQ(EncodeLease({.id = 1, .ttl_s = 2}), "\x08\x01\x10\x02"s);  // zero fields are absent
}

TEST(LeaseRecordTest, TheKeyIsTheIdInEightBytesTheLargestFirst) {
  EXPECT_EQ(View(EncodeLeaseKey(0x0102030405060708)), "\x01\x02\x03\x04\x05\x06\x07\x08"s);
  EXPECT_EQ(View(EncodeLeaseKey(-1)), std::string(8, '\xff'));
}

TEST(LeaseRecordTest, WhatIsWrittenIsRead) {
  for (const LeaseRecord& record : {LeaseRecord{.id = -5, .ttl_s = 9'000'000'000, .remaining_s = 1},
                                    LeaseRecord{.id = INT64_MAX, .ttl_s = 2, .remaining_s = 0},
                                    LeaseRecord{.id = INT64_MIN, .ttl_s = 1, .remaining_s = -1}}) {
    const auto read = DecodeLease(EncodeLease(record));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, record);
  }
}

TEST(LeaseRecordTest, DamageIsRefused) {
  const std::string good = EncodeLease({.id = 300, .ttl_s = 60, .remaining_s = 7});
  for (const std::string& bad : {""s, "\x10\x02"s, good + "\x08", "\x08"s, "\xff"s, "\x0a\x01z"s}) {
    const auto read = DecodeLease(bad);
    ASSERT_FALSE(read.has_value()) << bad;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
  }
  EXPECT_TRUE(DecodeLease(good + "\x20\x05").has_value());  // a field of a newer version
}

}  // namespace
}  // namespace kvorum::lease
