// Damaged files: each page cut off, flipped bit by bit, swapped with another. bbolt's pages have no
// checksum, so a flipped bit in a key or a value may pass; it is then the only thing that changed.
// Nothing else is read differently without an error, and no reading crashes or goes on for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bbolt/meta.h"
#include "tests/bbolt/image.h"

namespace kvorum::bbolt {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kPage = 1024;

// Branches of two levels, overflow, inline and empty buckets, in about twenty pages.
const Content& Sample() {
  static const Content* const content = [] {
    auto* made = new Content;
    Rng rng(7);
    for (int i = 0; i < 60; ++i)
      (*made)["large"][RandomBytes(rng, 40 + rng.Below(100))] = RandomBytes(rng, rng.Below(200));
    (*made)["overflow"]["a"] = RandomBytes(rng, 1500);
    (*made)["overflow"]["b"] = RandomBytes(rng, 10);
    (*made)["small"] = {{"x", "1"}, {"y", "22"}};
    (*made)["empty"];
    return made;
  }();
  return *content;
}

// Counts what only one of the two has: buckets (one whose name differs is one) and records.
std::size_t Differences(const Content& a, const Content& b) {
  std::size_t differences = 0;
  for (const auto& [name, records] : a) {
    const auto other = b.find(name);
    if (other == b.end()) {
      ++differences;
      continue;
    }
    for (const auto& [key, value] : records) {
      const auto it = other->second.find(key);
      if (it == other->second.end() || it->second != value) ++differences;
    }
  }
  return differences;
}

// Reads with and without the check. An error names a page, or the content is nearly the same: so
// many records may differ. Returns whether it was refused.
bool ReadDamaged(const std::string& image, const std::string& what, std::size_t most = 1) {
  const auto reader = OpenImage(image);
  if (!reader.has_value()) {
    EXPECT_EQ(reader.error().code, Code::kDataLoss) << what;
    return true;
  }
  const auto checked = (*reader)->Check();
  if (!checked.has_value()) {
    EXPECT_EQ(checked.error().code, Code::kDataLoss) << what;
    EXPECT_THAT(checked.error().message, HasSubstr("page ")) << what;
  }
  const auto content = ContentOf(**reader);
  if (!content.has_value() || !checked.has_value()) return true;
  EXPECT_LE(Differences(*content, Sample()), most) << what;
  EXPECT_LE(Differences(Sample(), *content), most) << what;
  return false;
}

TEST(BboltDamage, AFileCutAnywhereIsRefused) {
  const std::string image = ImageOf(Sample(), kPage).value();
  for (std::size_t size = 0; size < image.size(); size += size < 2048 ? 1 : 97) {
    const auto reader = OpenImage(image.substr(0, size));
    ASSERT_FALSE(reader.has_value()) << size;
    EXPECT_THAT(reader.error().message, HasSubstr("page ")) << size;
  }
}

TEST(BboltDamage, AFlippedBitIsAnErrorOrOneRecord) {
  const std::string image = ImageOf(Sample(), kPage).value();
  for (std::size_t at = 0; at < image.size(); at += at % kPage < 256 ? 1 : 5) {
    // All bits of a page's head and first elements, one of each byte elsewhere.
    for (std::size_t bit = 0; bit < 8; bit += at % kPage < 64 ? 1 : 8) {
      std::string flipped = image;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << ((bit + at) % 8)));
      ReadDamaged(flipped, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
    }
  }
}

TEST(BboltDamage, SwappedPagesAreRefused) {
  const std::string image = ImageOf(Sample(), kPage).value();
  const std::size_t pages = image.size() / kPage;
  for (std::size_t a = 2; a < pages; ++a)
    for (std::size_t b = a + 1; b < pages; ++b) {
      std::string swapped = image;
      swapped.replace(a * kPage, kPage, image, b * kPage, kPage);
      swapped.replace(b * kPage, kPage, image, a * kPage, kPage);
      const std::string what = std::to_string(a) + " and " + std::to_string(b);
      EXPECT_TRUE(ReadDamaged(swapped, what)) << what;
    }
}

TEST(BboltDamage, ACopiedPageWithItsIdSetRightIsRefusedOrABucketsOnlyPage) {
  const std::string image = ImageOf(Sample(), kPage).value();
  const std::size_t pages = image.size() / kPage;
  for (std::size_t from = 0; from < pages; ++from)
    for (std::size_t to = 2; to < pages; ++to) {
      if (from == to) continue;
      std::string copied = image;
      copied.replace(to * kPage, kPage, image, from * kPage, kPage);
      const PageId id = to;
      copied.replace(to * kPage, sizeof(id), reinterpret_cast<const char*>(&id), sizeof(id));
      const auto reader = OpenImage(copied).value();
      const auto checked = reader->Check();
      auto content = ContentOf(*reader);  // must end
      if (!checked.has_value()) continue;
      // A leaf that is a bucket's only page, or what a value goes on in, may be any other.
      ASSERT_TRUE(content.has_value());
      std::size_t changed = 0;
      for (const auto& [name, records] : Sample()) changed += (*content)[name] == records ? 0 : 1;
      EXPECT_LE(changed, 1U) << from << " to " << to;
    }
}

TEST(BboltDamage, AnyGarbageForAPageIsRefusedOrAFewRecords) {
  const std::string image = ImageOf(Sample(), kPage).value();
  Rng rng(3);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string garbled = image;
    const std::size_t page = 2 + rng.Below(image.size() / kPage - 2);
    const std::size_t begin = rng.OneIn(2) ? 0 : rng.Below(64);
    for (std::size_t at = begin; at < kPage; ++at)
      garbled[(page * kPage) + at] = static_cast<char>(rng.OneIn(2) ? rng.Below(3) : rng());
    // Up to three elements of a page stand before the garbage.
    refused += ReadDamaged(garbled, "garbage " + std::to_string(i), /*most=*/3) ? 1 : 0;
  }
  EXPECT_GT(refused, 500) << "the others are what a large value goes on in, and such elements";
}

// One page that says it is its own child, for ever.
TEST(BboltDamage, ABranchThatHoldsItselfEnds) {
  std::string image = ImageOf({}, kPage).value();
  std::string page;
  AppendHeader(page, {.id = 3, .flags = kBranchFlag, .count = 1, .overflow = 0});
  Append(page, std::uint32_t{16});
  Append(page, std::uint32_t{1});
  Append(page, PageId{3});
  page += 'k';
  image.replace(3 * std::size_t{kPage}, page.size(), page);
  const auto reader = OpenImage(image).value();
  EXPECT_THAT(reader->Check().error().message, HasSubstr("page 3: reachable more than once"));
  EXPECT_THAT(ContentOf(*reader).error().message, HasSubstr("page 3: tree too deep"));
}

// bbolt's trees grow at their root, so that all leaves are as deep.
TEST(BboltDamage, LeavesAtDifferentDepthsAreRefused) {
  const auto branch = [](PageId id, std::string_view keys, std::vector<PageId> children) {
    std::string page;
    AppendHeader(page, {.id = id,
                        .flags = kBranchFlag,
                        .count = static_cast<std::uint16_t>(children.size()),
                        .overflow = 0});
    for (std::size_t i = 0; i < children.size(); ++i) {
      Append(page, static_cast<std::uint32_t>((16 * (children.size() - i)) + i));
      Append(page, std::uint32_t{1});
      Append(page, children[i]);
    }
    page += keys;
    return page;
  };
  const auto leaf = [](PageId id, char key) {
    std::string page;
    AppendHeader(page, {.id = id, .flags = kLeafFlag, .count = 1, .overflow = 0});
    for (const std::uint32_t number : {0U, 16U, 1U, 0U}) Append(page, number);
    page += key;
    return page;
  };
  const auto image_of = [&](const std::vector<std::string>& pages) {
    std::string image = ImageOf({}, kPage).value();
    image.replace(0, kPage,
                  EncodeMetaPage({.page_size = kPage,
                                  .root = 3,
                                  .sequence = 0,
                                  .freelist = kNoFreelist,
                                  .high_water = 3 + pages.size(),
                                  .txid = 2}));
    image.resize((3 + pages.size()) * kPage, '\0');
    for (std::size_t i = 0; i < pages.size(); ++i)
      image.replace((3 + i) * kPage, pages[i].size(), pages[i]);
    return image;
  };
  const auto even = OpenImage(image_of({branch(3, "ab", {4, 5}), branch(4, "a", {6}),
                                        branch(5, "b", {7}), leaf(6, 'a'), leaf(7, 'b')}));
  ASSERT_TRUE(even.has_value());
  const auto checked = (*even)->Check();
  EXPECT_TRUE(checked.has_value()) << checked.error().message;
  const auto uneven = OpenImage(
      image_of({branch(3, "ab", {4, 5}), leaf(4, 'a'), branch(5, "b", {6}), leaf(6, 'b')}));
  ASSERT_TRUE(uneven.has_value());
  const auto refused = (*uneven)->Check();
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("page 6: a leaf at another depth"));
}

TEST(BboltDamage, ALargePageIsRefusedUnread) {
  const Content content = {{"b", {{"k", std::string(100'000, 'v')}}}};
  const auto reader = OpenImage(ImageOf(content).value(), {.max_leaf_bytes = 50'000}).value();
  EXPECT_THAT(ContentOf(*reader).error().message, HasSubstr("page 3: too large"));
}

TEST(BboltDamage, MorePagesThanTheContentTakesAreRefusedButForOne) {
  // A leaf of exactly three pages, then one of another bucket.
  const std::size_t value = (3 * kPage) - kHeaderBytes - kElementBytes - 1;
  const std::string image =
      ImageOf({{"a", {{"k", std::string(value, 'v')}}}, {"b", {{"k", std::string(5000, 'v')}}}},
              kPage)
          .value();
  const auto with_overflow = [&](std::uint32_t overflow) {
    std::string changed = image;
    changed.replace(3 * kPage + 12, sizeof(overflow), reinterpret_cast<const char*>(&overflow),
                    sizeof(overflow));
    const auto reader = OpenImage(changed).value();
    const auto content = ContentOf(*reader);
    return content.has_value() ? std::string() : content.error().message;
  };
  EXPECT_EQ(with_overflow(2), "");
  EXPECT_EQ(with_overflow(3), "");  // as old versions of bbolt allocated it
  EXPECT_THAT(with_overflow(4), HasSubstr("page 3: its content is shorter than its overflow"));
}

TEST(BboltDamage, TheNewerValidMetaCounts) {
  const Content old_content = {{"b", {{"k", "old"}}}};
  const Content new_content = {{"b", {{"k", "new"}}}};
  std::string image = ImageOf(old_content, kPage).value();
  const std::string other = ImageOf(new_content, kPage).value();
  // A transaction: its pages behind the others, then the meta.
  const Plan plan = PlanOf(new_content, kPage).value();
  std::string root = other.substr(plan.root * kPage);
  const PageId root_id = image.size() / kPage;
  root.replace(0, sizeof(root_id), reinterpret_cast<const char*>(&root_id), sizeof(root_id));
  const Meta meta{.page_size = kPage,
                  .root = root_id,
                  .sequence = 0,
                  .freelist = kNoFreelist,
                  .high_water = root_id + 1,
                  .txid = 2};
  image += root;
  image.replace(0, kPage, EncodeMetaPage(meta));
  EXPECT_EQ(ContentOf(image).value(), new_content);

  image[40] = static_cast<char>(image[40] ^ 1);
  EXPECT_EQ(ContentOf(image).value(), old_content);

  image[kPage + 40] = static_cast<char>(image[kPage + 40] ^ 1);
  const auto both = OpenImage(image);
  ASSERT_FALSE(both.has_value());
  EXPECT_THAT(both.error().message, HasSubstr("page 0: wrong checksum"));
}

// The reader finds the second meta without knowing the size of a page.
TEST(BboltDamage, TheSecondMetaAloneIsEnoughAtEveryPageSize) {
  for (std::uint32_t page_size = kMinPageSize; page_size <= kMaxPageSize; page_size *= 2) {
    std::string image = ImageOf(Sample(), page_size).value();
    image[20] = 'x';
    EXPECT_TRUE(ContentOf(image).value() == Sample()) << page_size;
  }
}

}  // namespace
}  // namespace kvorum::bbolt
