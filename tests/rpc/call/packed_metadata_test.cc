#include "rpc/call/packed_metadata.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kvorum::rpc {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs All(const PackedMetadata& metadata) {
  Pairs pairs;
  metadata.ForEach(
      [&](std::string_view name, std::string_view value) { pairs.emplace_back(name, value); });
  return pairs;
}

TEST(PackedMetadataTest, NothingIsInItAtFirst) {
  PackedMetadata metadata;
  EXPECT_TRUE(All(metadata).empty());
  EXPECT_EQ(metadata.Find(""), std::nullopt);
}

TEST(PackedMetadataTest, PairsKeepTheirOrderAndTheFirstOfANameIsFound) {
  PackedMetadata metadata;
  metadata.Add("token", "one");
  metadata.Add("", std::string_view("\0", 1));
  metadata.Add("token", "two");
  metadata.Add("empty", "");
  EXPECT_EQ(All(metadata),
            (Pairs{{"token", "one"}, {"", {"\0", 1}}, {"token", "two"}, {"empty", ""}}));
  EXPECT_EQ(metadata.Find("token"), "one");
  EXPECT_EQ(metadata.Find("empty"), "");
  EXPECT_EQ(metadata.Find("tok"), std::nullopt);
  EXPECT_EQ(metadata.Find("one"), std::nullopt);
}

TEST(PackedMetadataTest, PairsOfAnySizeAreKept) {
  for (const std::size_t size : {0UL, 1UL, 127UL, 128UL, 5'000UL, 100'000UL}) {
    PackedMetadata metadata;
    Pairs expected;
    const auto add = [&](const std::string& name, const std::string& value) {
      metadata.Add(name, value);
      expected.emplace_back(name, value);
      ASSERT_EQ(All(metadata), expected) << size;
    };
    add("user-agent", "grpc-go/1.71.1");
    add("large", std::string(size, 'v'));
    add(std::string(size, 'n'), "");
    add("last", "value");
    EXPECT_EQ(metadata.Find("last"), "value");
  }
}

PackedMetadata PackedOf(MetadataPacker& packer, const Pairs& pairs) {
  for (const auto& [name, value] : pairs) packer.Add(name, value);
  return packer.Pack();
}

// The block's address.
const char* BlockOf(const PackedMetadata& metadata) {
  const char* first = nullptr;
  metadata.ForEach([&](std::string_view name, std::string_view /*value*/) {
    if (first == nullptr) first = name.data();
  });
  return first;
}

const Pairs kUsual{{":authority", "127.0.0.1:2379"}, {"user-agent", "grpc-go/1.71.1"}};

TEST(MetadataPackerTest, CallsWithTheSameMetadataShareOneBlock) {
  MetadataPacker packer;
  const PackedMetadata first = PackedOf(packer, kUsual);
  const PackedMetadata second = PackedOf(packer, kUsual);
  EXPECT_EQ(All(second), kUsual);
  EXPECT_EQ(BlockOf(first), BlockOf(second));
}

TEST(MetadataPackerTest, NothingPacksToNothing) {
  MetadataPacker packer;
  EXPECT_TRUE(All(PackedOf(packer, {})).empty());
  (void)PackedOf(packer, kUsual);
  EXPECT_TRUE(All(PackedOf(packer, {})).empty());
  EXPECT_EQ(All(PackedOf(packer, kUsual)), kUsual);
}

TEST(MetadataPackerTest, MetadataThatDiffersIsPackedByItself) {
  const std::vector<Pairs> all{
      kUsual,
      {{":authority", "127.0.0.1:2379"}},
      {{":authority", "127.0.0.1:2379"}, {"user-agent", "grpc-go/1.71.2"}},
      {{":authority", "127.0.0.1:2380"}, {"user-agent", "grpc-go/1.71.1"}},
      {{":authority", "127.0.0.1:2379"}, {"user-agent", "grpc-go/1.71.1"}, {"token", "a.1"}},
      {{"user-agent", "grpc-go/1.71.1"}, {":authority", "127.0.0.1:2379"}},
      {{":authority", "127.0.0.1:2379user-agent"}, {"", "grpc-go/1.71.1"}},
      {{"", ""}},
      {},
  };
  for (const Pairs& before : all) {
    for (const Pairs& now : all) {
      MetadataPacker packer;
      const PackedMetadata kept = PackedOf(packer, before);
      EXPECT_EQ(All(PackedOf(packer, now)), now);
      EXPECT_EQ(All(PackedOf(packer, before)), before);
      EXPECT_EQ(All(kept), before);
    }
  }
}

// A header block may end in the middle, and its call with it.
TEST(MetadataPackerTest, WhatWasNotPackedIsForgotten) {
  MetadataPacker packer;
  const PackedMetadata first = PackedOf(packer, kUsual);
  for (const std::string value : {"127.0.0.1:2379", "other"}) {
    packer.Add(":authority", value);
    packer.Clear();
    const PackedMetadata next = PackedOf(packer, kUsual);
    EXPECT_EQ(All(next), kUsual);
    EXPECT_EQ(BlockOf(next), BlockOf(first));
  }
}

TEST(MetadataPackerTest, ABlockOfUnusualSizeIsNotKeptForTheNextCall) {
  const auto shares = [](std::size_t value_bytes) {
    MetadataPacker packer;
    const Pairs pairs{{"token", std::string(value_bytes, 't')}};
    const PackedMetadata first = PackedOf(packer, pairs);
    const PackedMetadata second = PackedOf(packer, pairs);
    EXPECT_EQ(All(second), pairs);
    return BlockOf(first) == BlockOf(second);
  };
  constexpr std::size_t kOverhead = 8 + 5;  // the sizes, the name
  EXPECT_TRUE(shares(MetadataPacker::kMostKeptBytes - kOverhead));
  EXPECT_FALSE(shares(MetadataPacker::kMostKeptBytes - kOverhead + 1));
}

}  // namespace
}  // namespace kvorum::rpc
