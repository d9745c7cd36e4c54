// Pairs as bytes: pinned, since HashKV is of them, and as damage leaves them.
#include "mvcc/records/key_value.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/damage.h"

namespace kvorum::mvcc {
namespace {

KeyValue SamplePair() {
  return {.key = "k",
          .create_revision = 2,
          .mod_revision = 300,
          .version = 3,
          .value = "value",
          .lease = 9};
}

void ExpectSamePair(const KeyValue& a, const KeyValue& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.create_revision, b.create_revision);
  EXPECT_EQ(a.mod_revision, b.mod_revision);
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.lease, b.lease);
}

TEST(KeyValueTest, FieldsStandInTheOrderOfTheirNumbersWithoutZeros) {
  EXPECT_EQ(Encode(SamplePair()),
            std::string("\x0a\x01k\x10\x02\x18\xac\x02\x20\x03\x2a\x05value\x30\x09"));
  EXPECT_EQ(Encode({.key = "k", .mod_revision = 1, .value = {}}), std::string("\x0a\x01k\x18\x01"));
  EXPECT_EQ(Encode({}), "");
}

// Every field ends where one of these lengths is cut, or the bytes are refused.
TEST(KeyValueTest, ACutPairIsRefusedOrLacksItsLastFields) {
  const std::string whole = Encode(SamplePair());
  std::size_t refused = 0;
  ForEachCut(whole, [&](std::string_view cut) {
    const auto pair = DecodeKeyValue(cut);
    if (!pair.has_value()) {
      EXPECT_EQ(pair.error().code, Code::kDataLoss);
      ++refused;
      return;
    }
    EXPECT_EQ(Encode(*pair), cut);
  });
  EXPECT_EQ(refused, whole.size() - 6);
}

TEST(KeyValueTest, AChangedPairIsRefusedOrComesBackAsItWasRead) {
  ForEachFlip(Encode(SamplePair()), [](std::string_view flipped, std::size_t) {
    const auto pair = DecodeKeyValue(flipped);
    if (!pair.has_value()) return;
    const std::string again = Encode(*pair);
    const auto read = DecodeKeyValue(again);
    ASSERT_TRUE(read.has_value());
    ExpectSamePair(*read, *pair);
    for (const std::string_view part : {pair->key, pair->value}) {
      EXPECT_TRUE(part.empty() || (part.data() >= flipped.data() &&
                                   part.data() + part.size() <= flipped.data() + flipped.size()));
    }
  });
}

}  // namespace
}  // namespace kvorum::mvcc
