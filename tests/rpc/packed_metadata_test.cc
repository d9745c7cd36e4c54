#include "rpc/packed_metadata.h"

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

// Whatever is added last meets the end of the object's own room, by every number of bytes.
TEST(PackedMetadataTest, PairsThatDoNotFitIntoTheObjectAreKeptAsWell) {
  for (std::size_t size = 0; size < 200; ++size) {
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

}  // namespace
}  // namespace kvorum::rpc
