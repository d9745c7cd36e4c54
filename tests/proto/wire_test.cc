// The protobuf wire format: golden bytes, and readers that survive any input.
#include "proto/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace kvorum::wire {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string VarintOf(std::uint64_t value) {
  std::string out;
  AppendVarint(out, value);
  return out;
}

constexpr std::array<std::uint64_t, 12> kEdges = {0,
                                                  1,
                                                  127,
                                                  128,
                                                  16383,
                                                  16384,
                                                  (1ULL << 32) - 1,
                                                  1ULL << 32,
                                                  (1ULL << 56) - 1,
                                                  1ULL << 62,
                                                  1ULL << 63,
                                                  UINT64_MAX};

TEST(WireTest, VarintsHaveTheBytesThatProtobufGivesThem) {
  EXPECT_EQ(VarintOf(0), "\x00"s);
  EXPECT_EQ(VarintOf(1), "\x01");
  EXPECT_EQ(VarintOf(300), "\xac\x02");
  EXPECT_EQ(VarintOf(UINT64_MAX), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(WireTest, SizesAreExact) {
  for (const std::uint64_t value : kEdges) {
    EXPECT_EQ(VarintSize(value), VarintOf(value).size()) << value;
    for (const std::uint32_t field : {1U, 15U, 16U, 2047U, 2048U, 536870911U}) {
      std::string out;
      AppendUint(out, field, value);
      EXPECT_EQ(UintFieldSize(field, value), out.size()) << field << " " << value;
    }
  }
  for (const std::size_t length : {0U, 1U, 127U, 128U, 20000U}) {
    std::string out;
    AppendBytes(out, 16, std::string(length, 'x'));
    EXPECT_EQ(BytesFieldSize(16, length), out.size());
    out.clear();
    AppendBytesAlways(out, 16, std::string(length, 'x'));
    EXPECT_EQ(LengthDelimitedSize(16, length), out.size());
  }
}

TEST(WireTest, WhatIsWrittenIsRead) {
  std::string out;
  for (const std::uint64_t value : kEdges) AppendUintAlways(out, 3, value);
  AppendInt(out, 4, -1);
  AppendBool(out, 5, true);
  AppendBytes(out, 6, "data");
  AppendBytesAlways(out, 7, "");
  Reader reader(out);
  for (const std::uint64_t value : kEdges) {
    ASSERT_TRUE(reader.Next());
    EXPECT_EQ(reader.field(), 3U);
    EXPECT_EQ(reader.Varint(), value);
  }
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Int(), -1);
  ASSERT_TRUE(reader.Next());
  EXPECT_TRUE(reader.Bool());
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Bytes(), "data");
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Bytes(), "");
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok());
}

TEST(WireTest, ZeroAndEmptyFieldsAreLeftOut) {
  std::string out;
  AppendUint(out, 1, 0);
  AppendBool(out, 2, false);
  AppendBytes(out, 3, "");
  EXPECT_EQ(out, "");
}

// Goes over all fields and skips them.
bool SkipsAll(std::string_view bytes) {
  Reader reader(bytes);
  while (reader.Next()) reader.Skip();
  return reader.ok();
}

TEST(WireTest, UnknownFieldsOfAnyTypeAreSkipped) {
  EXPECT_TRUE(SkipsAll(""));
  EXPECT_TRUE(SkipsAll("\x08\x01"sv));                              // varint
  EXPECT_TRUE(SkipsAll("\x09\x01\x02\x03\x04\x05\x06\x07\x08"sv));  // fixed64
  EXPECT_TRUE(SkipsAll("\x0a\x02hi"sv));                            // bytes
  EXPECT_TRUE(SkipsAll("\x0d\x01\x02\x03\x04"sv));                  // fixed32
  EXPECT_TRUE(SkipsAll("\x0b\x10\x01\x13\x14\x0c"sv));              // a group within a group
}

TEST(WireTest, GroupsAreSkippedAsDeepAsGoDoes) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '\x0b') + std::string(depth, '\x0c');
  };
  EXPECT_TRUE(SkipsAll(nested(40)));
  EXPECT_TRUE(SkipsAll(nested(kMaxGroupDepth)));
  EXPECT_FALSE(SkipsAll(nested(kMaxGroupDepth + 1)));
}

TEST(WireTest, TheTagTellsAFieldOfAnotherTypeFromTheOneThatIsKnown) {
  Reader reader("\x08\x07\x0a\x01x\x0d\x01\x02\x03\x04"sv);  // field 1 as three types
  std::uint64_t number = 0;
  std::string_view bytes;
  while (reader.Next()) {
    switch (reader.tag()) {
      case VarintTag(1):
        number = reader.Varint();
        break;
      case BytesTag(1):
        bytes = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(number, 7U);
  EXPECT_EQ(bytes, "x");
}

TEST(WireTest, MalformedFieldsStopTheReader) {
  EXPECT_FALSE(SkipsAll("\x08"sv));                                          // no value
  EXPECT_FALSE(SkipsAll("\x08\x80"sv));                                      // a varint cut short
  EXPECT_FALSE(SkipsAll("\x0a\x03hi"sv));                                    // bytes past the end
  EXPECT_FALSE(SkipsAll("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv));  // a length of 2^64-1
  EXPECT_FALSE(SkipsAll("\x09\x01"sv));                                      // fixed64 cut short
  EXPECT_FALSE(SkipsAll("\x00\x01"sv));                                      // field 0
  EXPECT_FALSE(SkipsAll("\x0e\x01"sv));                                      // wire type 6
  EXPECT_FALSE(SkipsAll("\x0c"sv));                                          // the end of no group
  EXPECT_FALSE(SkipsAll("\x0b\x14"sv));  // the end of another group
  EXPECT_FALSE(SkipsAll("\x0b"sv));      // a group without an end
  EXPECT_FALSE(SkipsAll("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv));  // more than 64 bits
  EXPECT_FALSE(SkipsAll("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv));  // 11 bytes
  EXPECT_FALSE(SkipsAll("\x88\x80\x80\x80\x10\x01"sv));  // a tag of more than 32 bits
  EXPECT_FALSE(SkipsAll(std::string(100'000, '\x0b')));  // groups without end
}

TEST(WireTest, AFieldOfAnotherTypeThanAskedForIsMalformed) {
  Reader reader("\x08\x01"sv);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Bytes(), "");
  EXPECT_FALSE(reader.ok());
  Reader other("\x0a\x01x"sv);
  ASSERT_TRUE(other.Next());
  EXPECT_EQ(other.Varint(), 0U);
  EXPECT_FALSE(other.ok());
  EXPECT_FALSE(other.Next());
}

TEST(WireTest, RepeatedIntegersAreReadInBothSpellings) {
  std::vector<std::uint64_t> values;
  Reader reader("\x08\x05\x0a\x03\x01\xac\x02\x08\x07"sv);  // 5, packed {1, 300}, 7
  while (reader.Next())
    reader.RepeatedVarint([&](std::uint64_t value) { values.push_back(value); });
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(values, (std::vector<std::uint64_t>{5, 1, 300, 7}));

  Reader cut("\x0a\x02\x01\x80"sv);
  while (cut.Next()) cut.RepeatedVarint([](std::uint64_t) {});
  EXPECT_FALSE(cut.ok());
}

TEST(WireTest, RandomBytesNeverLeadOutOfThem) {
  Rng rng(1);
  for (int round = 0; round < 20000; ++round) {
    // A string of exactly this size, so that the address sanitizer sees a read past its end.
    std::string bytes(rng.Below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.Below(rng.OneIn(2) ? 256 : 32));
    SkipsAll(bytes);
  }
}

}  // namespace
}  // namespace kvorum::wire
