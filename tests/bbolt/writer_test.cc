// The writer's images: the content goes in and comes out, at any size; every page is one that bbolt
// would have made, too; the size is known before the first byte.
#include "bbolt/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bbolt/image.h"

namespace kvorum::bbolt {
namespace {

using testing::HasSubstr;

// A key of the `key` bucket: it ascends with the number.
std::string NumberedKey(std::uint64_t number) {
  std::string key(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8)
    key[static_cast<std::size_t>(i)] = static_cast<char>(number);
  return key;
}

TEST(BboltWriter, GivesBackTheContentOfRandomTreesAtEveryPageSize) {
  for (const std::uint32_t page_size : {1024U, 2048U, 4096U, 16384U, 65536U}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng(seed);
      const Content content = RandomContent(rng, 2000, 2000, 20000);
      const auto image = ImageOf(content, page_size);
      ASSERT_TRUE(image.has_value()) << image.error().message;
      EXPECT_EQ(image->size(), PlanOf(content, page_size)->SizeBytes());
      const auto read = ContentOf(*image);
      ASSERT_TRUE(read.has_value()) << read.error().message << ", seed " << seed;
      EXPECT_TRUE(*read == content) << "seed " << seed << ", pages of " << page_size;
    }
  }
}

TEST(BboltWriter, MakesAFileWithoutBuckets) {
  const auto image = ImageOf({});
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->size(), 4 * 4096U);
  EXPECT_EQ(ContentOf(*image).value(), Content());
}

TEST(BboltWriter, KeepsValuesOfEverySizeAroundAPage) {
  for (std::size_t size = 0; size < 3 * 1024; size += size < 900 ? 13 : 1) {
    const Content content = {
        {"b", {{"1", "small"}, {"2", std::string(size, 'x')}, {"3", "after it"}}}};
    ASSERT_EQ(ContentOf(ImageOf(content, 1024).value()).value(), content) << size;
  }
}

TEST(BboltWriter, KeepsValuesOfSeveralMebibytesAndTheLongestKeys) {
  Records records;
  for (std::size_t i = 0; i < 20; ++i)
    records[NumberedKey(i) + std::string(kMaxKeyBytes - 8, 'k')] = "a value";
  const Content content = {{"keys", records},
                           {"values", {{"a", std::string(5'000'000, 'v')}, {"b", ""}}}};
  EXPECT_TRUE(ContentOf(ImageOf(content).value()).value() == content);
}

TEST(BboltWriter, KeepsAMillionKeys) {
  const auto put_all = [](Writer& writer) {
    ASSERT_TRUE(writer.BeginBucket("key").has_value());
    for (std::uint64_t i = 0; i < 1'000'000; ++i)
      ASSERT_TRUE(writer.Put(NumberedKey(i), "v").has_value());
  };
  Writer sizing = Writer::Sizing();
  put_all(sizing);
  Writer writer = Writer::Writing(sizing.Finish().value());
  put_all(writer);
  ASSERT_TRUE(writer.Finish().has_value());
  const auto reader = OpenImage(writer.Take()).value();
  const auto checked = reader->Check();
  ASSERT_TRUE(checked.has_value()) << checked.error().message;
  Cursor cursor = reader->NewCursor(reader->FindBucket("key")->value());
  std::uint64_t count = 0;
  bool in_order = true;
  for (bool more = cursor.First().value(); more; more = cursor.Next().value())
    in_order &= cursor.key() == NumberedKey(count++);
  EXPECT_TRUE(in_order);
  EXPECT_EQ(count, 1'000'000U);
}

std::uint64_t WholePages(std::uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// The image's leaves, as count of elements and bytes.
std::vector<std::pair<std::uint16_t, std::uint64_t>> LeavesOf(std::string_view image) {
  std::vector<std::pair<std::uint16_t, std::uint64_t>> leaves;
  for (std::size_t at = 0; at < image.size();) {
    const PageHeader header = LoadHeader(image.substr(at));
    const std::uint64_t size = 4096 * (std::uint64_t{1} + header.overflow);
    if (header.flags == kLeafFlag) leaves.emplace_back(header.count, size);
    at += size;
  }
  return leaves;
}

// bbolt ends a leaf in front of the record that passes its fill, but not before it has two.
TEST(BboltWriter, NeedsNoMorePagesThanBboltsLeavesOfTwoRecordsOrMore) {
  constexpr std::uint64_t kRecords = 120;
  for (std::uint64_t record = 60; record < 100'000; record += 1 + (record / 40)) {
    Content content;
    for (std::uint64_t i = 0; i < kRecords; ++i)
      content["b"][NumberedKey(i)] = std::string(record - kElementBytes - 8, 'v');
    std::uint64_t ours = 0;
    for (const auto& [count, size] : LeavesOf(ImageOf(content).value())) ours += size;
    const std::uint64_t per_leaf = std::max<std::uint64_t>(2, (4096 - kHeaderBytes) / record);
    const std::uint64_t theirs =
        (kRecords / per_leaf) * WholePages(kHeaderBytes + (per_leaf * record));
    // The leaf of the root.
    EXPECT_LE(ours, WholePages(theirs * 101 / 100) + 4096) << record;
  }
}

TEST(BboltWriter, LetsRecordsShareALeafOnlyUpTo256KiB) {
  constexpr std::uint64_t kLimit = std::uint64_t{256} << 10;
  // Each gains a page from the next one, without an end.
  Content content;
  for (std::uint64_t i = 0; i < 300; ++i) content["b"][NumberedKey(i)] = std::string(4096, 'v');
  content["b"][NumberedKey(300)] = std::string(kLimit, 'v');
  content["b"][NumberedKey(301)] = std::string(4000, 'v');
  std::uint64_t longest = 0;
  bool is_alone = false;
  for (const auto& [count, size] : LeavesOf(ImageOf(content).value())) {
    if (count > 1) longest = std::max(longest, size);
    if (size > kLimit) is_alone = count == 1;
  }
  EXPECT_EQ(longest, kLimit);
  EXPECT_TRUE(is_alone);
}

TEST(BboltWriter, HoldsNoMoreThanAFewPagesThatAreNotReady) {
  Writer writer = Writer::WritingWithoutPlan();
  ASSERT_TRUE(writer.BeginBucket("key").has_value());
  const std::string value(256, 'v');
  std::uint64_t taken = 0;
  std::uint64_t put = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    ASSERT_TRUE(writer.Put(NumberedKey(i), value).has_value());
    put += 8 + value.size();
    taken += writer.Take().size();
    ASSERT_LT(put, taken + 4096);
  }
}

TEST(BboltWriter, WritesTheSameWithoutAPlanExceptForTheMetas) {
  Rng rng(1);
  const Content content = RandomContent(rng, 1000, 100, 5000);
  Writer writer = Writer::WritingWithoutPlan();
  ASSERT_TRUE(PutAll(writer, content).has_value());
  const Plan plan = writer.Finish().value();
  std::string image = writer.Take();
  EXPECT_FALSE(OpenImage(image).has_value()) << "not a database before its metas are there";
  image.replace(0, 8192, MetaPages(plan));
  EXPECT_EQ(plan, PlanOf(content, 4096).value());
  EXPECT_TRUE(image == ImageOf(content).value());
}

TEST(BboltWriter, SizesValuesAsItSizesTheirBytes) {
  Rng rng(2);
  for (int i = 0; i < 20; ++i) {
    const Content content = RandomContent(rng, 500, 100, 20'000);
    Writer by_bytes = Writer::Sizing(4096);
    ASSERT_TRUE(PutAll(by_bytes, content).has_value());
    EXPECT_EQ(by_bytes.Finish().value(), PlanOf(content, 4096).value());
  }
}

TEST(BboltWriter, RefusesContentThatWasNotPlanned) {
  Writer writer = Writer::Writing(PlanOf({{"b", {{"k", "v"}}}}, 4096).value());
  ASSERT_TRUE(writer.BeginBucket("b").has_value());
  ASSERT_TRUE(writer.Put("k", std::string(3000, 'v')).has_value());
  EXPECT_EQ(writer.Finish().error().code, Code::kInternal);
}

TEST(BboltWriter, RefusesWhatBboltCannotHold) {
  Writer writer = Writer::Sizing();
  EXPECT_THAT(writer.Put("k", "v").error().message, HasSubstr("needs a bucket"));
  ASSERT_TRUE(writer.BeginBucket("b").has_value());
  EXPECT_EQ(writer.Put("", "v").error().code, Code::kInvalidArgument);
  EXPECT_EQ(writer.Put(std::string(kMaxKeyBytes + 1, 'k'), "v").error().code,
            Code::kInvalidArgument);
  ASSERT_TRUE(writer.Put("k", "v").has_value());
  EXPECT_THAT(writer.Put("k", "v").error().message, HasSubstr("ascend"));
  EXPECT_THAT(writer.Put("j", "v").error().message, HasSubstr("ascend"));
  ASSERT_TRUE(writer.BeginBucket("a").has_value());
  EXPECT_THAT(writer.Finish().error().message, HasSubstr("ascend"));
}

// bbolt's own limits of a page, where a writer could be valid to our reader alone: a branch with
// one child, or a bucket that is inline though larger than a quarter of a page.
TEST(BboltWriter, GivesEachBranchTwoChildrenAndKeepsLargeBucketsOutOfLine) {
  for (std::uint64_t count = 1; count < 400; ++count) {
    Content content;
    for (std::uint64_t i = 0; i < count; ++i)
      content["b"][NumberedKey(i) + std::string(200, 'k')] = std::string(150, 'v');
    const std::string image = ImageOf(content, 1024).value();
    for (std::size_t at = 0; at < image.size();) {
      const PageHeader header = LoadHeader(std::string_view(image).substr(at));
      ASSERT_EQ(header.id, at / 1024);
      if (header.flags == kBranchFlag) {
        ASSERT_GE(header.count, 2) << count;
      }
      at += 1024 * (std::size_t{1} + header.overflow);
    }
  }
  const auto is_inline = [](std::size_t size) {
    const Content content = {{"b", {{"k", std::string(size, 'v')}}}};
    return OpenImage(ImageOf(content, 4096).value()).value()->FindBucket("b")->value().root == 0;
  };
  EXPECT_TRUE(is_inline(1024 - 33));
  EXPECT_FALSE(is_inline(1024 - 32));
}

}  // namespace
}  // namespace kvorum::bbolt
