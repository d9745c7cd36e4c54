// Files that bbolt 1.5 made (golden/*.hex: lines of offset and bytes, zeros left out): pages of
// 1 KiB, two levels, overflow, nested and inline buckets, deleted keys, a freelist or none.
#include "bbolt/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>

#include "bbolt/meta.h"
#include "tests/bbolt/image.h"

namespace kvorum::bbolt {
namespace {

using testing::HasSubstr;
using testing::Optional;

unsigned Hex(std::string_view digits) {
  unsigned number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

std::string Golden(const std::string& name) {
  std::ifstream file(KVORUM_BBOLT_GOLDEN "/" + name + ".hex");
  EXPECT_TRUE(file) << name;
  std::string image;
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = std::min(line.find(' '), line.size());
    image.resize(Hex(line.substr(0, space)));
    for (std::size_t at = space + 1; at + 1 < line.size(); at += 2)
      image += static_cast<char>(Hex(line.substr(at, 2)));
  }
  return image;
}

std::string GoldenKey(int number) {
  const std::string digits = std::to_string(number);
  return "key " + std::string(3 - digits.size(), '0') + digits;
}

class BboltGolden : public testing::TestWithParam<const char*> {
 protected:
  const std::unique_ptr<Reader> reader = OpenImage(Golden(GetParam())).value();
};

INSTANTIATE_TEST_SUITE_P(Files, BboltGolden, testing::Values("freelist", "no-freelist"),
                         [](const auto& param) {
                           return param.index == 0 ? "WithFreelist" : "WithoutFreelist";
                         });

TEST_P(BboltGolden, PassesTheCheck) {
  const auto checked = reader->Check();
  EXPECT_TRUE(checked.has_value()) << checked.error().message;
  EXPECT_EQ(reader->meta().page_size, 1024U);
  EXPECT_EQ(reader->meta().freelist == kNoFreelist, GetParam() == std::string("no-freelist"));
}

TEST_P(BboltGolden, HoldsWhatWasPut) {
  Records keys = {{"last", ""}};
  for (int i = 0; i < 60; ++i)
    if (i < 10 || i >= 40) keys[GoldenKey(i)] = std::string(static_cast<std::size_t>(i), 'v');
  const Content content = {{"empty", {}},
                           {"key", keys},
                           {"nested", {{"inner", ""}, {"large inner", ""}, {"plain", "value"}}}};
  EXPECT_EQ(ContentOf(*reader).value(), content);
  EXPECT_EQ(reader->FindBucket("key")->value().sequence, 7U);
}

TEST_P(BboltGolden, FindsNestedBuckets) {
  const Bucket nested = reader->FindBucket("nested")->value();
  const Bucket inner = reader->FindBucket(nested, "inner")->value();
  EXPECT_EQ(inner.root, 0U) << "inline";
  EXPECT_THAT(reader->Get(inner, "deep").value(), Optional(std::string("down")));
  const Bucket large = reader->FindBucket(nested, "large inner")->value();
  EXPECT_THAT(reader->Get(large, "k").value(), Optional(std::string(1500, 'x')));
  EXPECT_EQ(reader->FindBucket("missing").value(), std::nullopt);
  EXPECT_EQ(reader->Get(nested, "inner").value(), std::nullopt) << "no key";
  EXPECT_THAT(reader->FindBucket(nested, "plain").error().message, HasSubstr("not a bucket"));
}

TEST_P(BboltGolden, SeeksTheFirstKeyThatIsNotLess) {
  Cursor cursor = reader->NewCursor(reader->FindBucket("key")->value());
  const auto seek = [&](std::string_view key) {
    return cursor.Seek(key).value() ? std::string(cursor.key()) : "none";
  };
  EXPECT_EQ(seek(""), "key 000");
  EXPECT_EQ(seek("key 005"), "key 005");
  EXPECT_EQ(seek("key 0055"), "key 006");
  EXPECT_EQ(seek("key 010"), "key 040");
  EXPECT_EQ(seek("key 059 and more"), "last");
  EXPECT_EQ(seek("last"), "last");
  EXPECT_EQ(seek("lasts"), "none");
  ASSERT_TRUE(cursor.Seek("key 009").value());
  ASSERT_TRUE(cursor.Next().value());
  EXPECT_EQ(cursor.key(), "key 040");
  EXPECT_EQ(cursor.value(), std::string(40, 'v'));
}

TEST(BboltReader, SeeksEveryKeyOfALargeTree) {
  Rng rng(1);
  Content content;
  for (int i = 0; i < 3000; ++i) content["b"][RandomBytes(rng, 1 + rng.Below(30))] = "v";
  const auto reader = OpenImage(ImageOf(content, 1024).value()).value();
  Cursor cursor = reader->NewCursor(reader->FindBucket("b")->value());
  for (int i = 0; i < 3000; ++i) {
    const std::string key = RandomBytes(rng, rng.Below(4));
    const auto expected = content["b"].lower_bound(key);
    ASSERT_EQ(cursor.Seek(key).value(), expected != content["b"].end());
    if (expected != content["b"].end()) {
      ASSERT_EQ(cursor.key(), expected->first);
    }
  }
  for (const auto& [key, value] : content["b"]) {
    ASSERT_TRUE(cursor.Seek(key).value());
    ASSERT_EQ(cursor.key(), key);
  }
}

// CRC-32C over "a", "b", "k", "v": computed with another implementation.
TEST(BboltReader, HashesNamesKeysAndValuesInOrder) {
  const auto reader = OpenImage(ImageOf({{"a", {}}, {"b", {{"k", "v"}}}}).value()).value();
  EXPECT_EQ(ContentHash(*reader).value(), 0xFEB97E11U);
}

// A count of 0xFFFF says that the true one comes first.
class BboltLargeFreelist : public testing::Test {
 protected:
  static constexpr std::uint32_t kPage = 1024;
  static constexpr PageId kPages = 66'500;

  // Metas, the root in page 3, a freelist with `count` ids from `first`, in the last pages.
  static std::string Image(PageId first, std::uint64_t count) {
    std::string list;
    Append(list, count);
    for (PageId id = first; id < first + count; ++id) Append(list, id);
    const std::uint64_t list_pages = (kHeaderBytes + list.size() + kPage - 1) / kPage;
    const PageId list_id = kPages - list_pages;
    std::string image = EncodeMetaPage({.page_size = kPage,
                                        .root = 3,
                                        .sequence = 0,
                                        .freelist = list_id,
                                        .high_water = kPages,
                                        .txid = 2});
    image.resize(3 * kPage);
    AppendHeader(image, {.id = 3, .flags = kLeafFlag, .count = 0, .overflow = 0});
    image.resize(list_id * kPage);
    AppendHeader(image, {.id = list_id,
                         .flags = kFreelistFlag,
                         .count = kLargeFreelistCount,
                         .overflow = static_cast<std::uint32_t>(list_pages - 1)});
    image += list;
    image.resize(kPages * kPage);
    return image;
  }
  static std::string CheckOf(std::string image) {
    const auto checked = OpenImage(std::move(image)).value()->Check();
    return checked.has_value() ? "whole" : checked.error().message;
  }
};

TEST_F(BboltLargeFreelist, CountsForEveryPageOutOfReach) {
  // 65,976 ids and their count take 516 pages.
  const std::uint64_t free = kPages - 4 - 516;
  EXPECT_THAT(CheckOf(Image(4, free)), HasSubstr("page 2: neither reachable nor free"));
  EXPECT_THAT(CheckOf(Image(3, free)), HasSubstr("page 3: reachable, but in the freelist"));
  EXPECT_THAT(CheckOf(Image(5, free)), HasSubstr("reachable, but in the freelist"));
}

TEST_F(BboltLargeFreelist, MayNotHoldMoreThanItsPages) {
  std::string image = Image(4, 65'000);
  const PageId list_id = kPages - ((16 + (65'001 * 8) + kPage - 1) / kPage);
  const std::uint64_t count = UINT64_MAX;
  image.replace((list_id * kPage) + kHeaderBytes, 8, reinterpret_cast<const char*>(&count), 8);
  EXPECT_THAT(CheckOf(image), HasSubstr("do not fit into it"));
}

}  // namespace
}  // namespace kvorum::bbolt
