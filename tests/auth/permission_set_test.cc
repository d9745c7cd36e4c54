// A user's readable and writable keys, from the permissions of its roles.
#include "auth/permission_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace kvorum::auth {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kOpen = "\0"sv;

PermissionSet Of(const std::vector<Permission>& permissions) {
  std::vector<const Permission*> pointers;
  for (const Permission& permission : permissions) pointers.push_back(&permission);
  return PermissionSet(pointers);
}
Permission Read(std::string_view key, std::string_view range_end = "") {
  return {PermissionType::kRead, std::string(key), std::string(range_end)};
}

TEST(PermissionSetTest, NothingIsAllowedWithoutPermissions) {
  const PermissionSet none;
  EXPECT_FALSE(none.MayRead("a", ""));
  EXPECT_FALSE(none.MayWrite("a", ""));
  EXPECT_FALSE(none.MayRead("a", "b"));
  EXPECT_FALSE(none.MayRead("\0"sv, kOpen));
}

TEST(PermissionSetTest, TypesAreKeptApart) {
  const auto set = Of({{PermissionType::kRead, "r", ""},
                       {PermissionType::kWrite, "w", ""},
                       {PermissionType::kReadWrite, "x", ""}});
  EXPECT_TRUE(set.MayRead("r", ""));
  EXPECT_FALSE(set.MayWrite("r", ""));
  EXPECT_FALSE(set.MayRead("w", ""));
  EXPECT_TRUE(set.MayWrite("w", ""));
  EXPECT_TRUE(set.MayRead("x", ""));
  EXPECT_TRUE(set.MayWrite("x", ""));
}

TEST(PermissionSetTest, ASingleKeyIsNotItsPrefix) {
  const auto set = Of({Read("foo")});
  EXPECT_TRUE(set.MayRead("foo", ""));
  EXPECT_FALSE(set.MayRead("foo1", ""));
  EXPECT_FALSE(set.MayRead("fo", ""));
  EXPECT_FALSE(set.MayRead("foo\0"sv, ""));
  // The range of just that key.
  EXPECT_TRUE(set.MayRead("foo", "foo\0"sv));
  EXPECT_FALSE(set.MayRead("foo", "foo\1"));
  EXPECT_FALSE(set.MayRead("foo", kOpen));
}

TEST(PermissionSetTest, AnEndIsExclusive) {
  const auto set = Of({Read("b", "d")});
  EXPECT_FALSE(set.MayRead("a", ""));
  EXPECT_TRUE(set.MayRead("b", ""));
  EXPECT_TRUE(set.MayRead("c\xff\xff", ""));
  EXPECT_FALSE(set.MayRead("d", ""));
  EXPECT_TRUE(set.MayRead("b", "d"));
  EXPECT_TRUE(set.MayRead("bb", "c"));
  EXPECT_FALSE(set.MayRead("b", "d\0"sv));
  EXPECT_FALSE(set.MayRead("a\xff", "c"));
}

TEST(PermissionSetTest, AnOpenEndCoversAllFromItsKeyOn) {
  const auto set = Of({Read("b", kOpen)});
  EXPECT_TRUE(set.MayRead("b", kOpen));
  EXPECT_TRUE(set.MayRead("\xff\xff\xff", kOpen));
  EXPECT_TRUE(set.MayRead("c", "z"));
  EXPECT_FALSE(set.MayRead("a", kOpen));
  EXPECT_FALSE(set.MayRead("a", ""));
  const auto everything = Of({Read("\0"sv, kOpen)});
  EXPECT_TRUE(everything.MayRead("\0"sv, kOpen));
  EXPECT_TRUE(everything.MayRead("\0"sv, ""));
  EXPECT_TRUE(everything.MayRead("a", "b"));
}

TEST(PermissionSetTest, NoFiniteEndCoversAnOpenOne) {
  EXPECT_FALSE(Of({Read("a", "\xff\xff\xff\xff")}).MayRead("a", kOpen));
}

TEST(PermissionSetTest, GrantsThatTouchOrOverlapAreOne) {
  const auto set = Of({Read("c", "e"), Read("a", "c"), Read("d", "f")});
  ASSERT_EQ(set.read().ranges().size(), 1U);
  EXPECT_TRUE(set.MayRead("a", "f"));
  EXPECT_FALSE(set.MayRead("a", "g"));
  // A key and its immediate successors.
  EXPECT_TRUE(Of({Read("a"), Read("a\0"sv, "b")}).MayRead("a", "b"));
  EXPECT_FALSE(Of({Read("a"), Read("a\1", "b")}).MayRead("a", "b"));
  EXPECT_TRUE(Of({Read("a", "c"), Read("b", kOpen)}).MayRead("a", kOpen));
}

TEST(PermissionSetTest, AGapIsNotCovered) {
  const auto set = Of({Read("a", "b"), Read("c", "d")});
  ASSERT_EQ(set.read().ranges().size(), 2U);
  EXPECT_FALSE(set.MayRead("a", "d"));
  EXPECT_FALSE(set.MayRead("b", ""));
  EXPECT_TRUE(set.MayRead("a", "b"));
  EXPECT_TRUE(set.MayRead("c", "d"));
}

TEST(PermissionSetTest, AContainedGrantCutsNothingOff) {
  const auto set = Of({Read("a", kOpen), Read("b", "c"), Read("d")});
  ASSERT_EQ(set.read().ranges().size(), 1U);
  EXPECT_TRUE(set.MayRead("a", kOpen));
  const auto finite = Of({Read("a", "z"), Read("b", "c")});
  EXPECT_TRUE(finite.MayRead("a", "z"));
}

TEST(PermissionSetTest, GrantsThatNameNoKeyGrantNothing) {
  const auto set = Of({Read("", ""),
                       Read("", "z"),
                       Read("", kOpen),
                       Read("m", "m"),
                       Read("z", "a"),
                       {static_cast<PermissionType>(7), "k", ""}});
  EXPECT_TRUE(set.read().ranges().empty());
  EXPECT_TRUE(set.write().ranges().empty());
}

TEST(PermissionSetTest, ARequestWithoutAKeyIsRefused) {
  const auto set = Of({Read("\0"sv, kOpen)});
  EXPECT_FALSE(set.MayRead("", ""));
  EXPECT_FALSE(set.MayRead("", "z"));
  EXPECT_FALSE(set.MayRead("", kOpen));
}

TEST(PermissionSetTest, ARequestThatEndsAtItsKeyIsOneForTheKey) {
  const auto set = Of({Read("b", "f")});
  EXPECT_TRUE(set.MayRead("d", "d"));
  EXPECT_TRUE(set.MayRead("b", "b"));
  EXPECT_FALSE(set.MayRead("f", "f"));
  EXPECT_FALSE(set.MayRead("a", "a"));
  EXPECT_TRUE(Of({Read("b")}).MayRead("b", "b"));
}

TEST(PermissionSetTest, ARequestThatEndsBeforeItsKeyIsNotItsToAnswer) {
  EXPECT_FALSE(Of({Read("b", "f")}).MayRead("d", "c"));
  EXPECT_FALSE(Of({Read("\0"sv, kOpen)}).MayRead("d", "c"));
}

// Texts that agree in many first bytes, end early, and hold the least and the greatest byte.
std::string RandomKey(Rng& rng, std::size_t common) {
  constexpr std::string_view kBytes = "\0\1ab\xff"sv;
  std::string key(common, 'c');
  for (std::uint64_t size = 1 + rng.Below(10); size > 0; --size)
    key += rng.Below(8) == 0 ? kBytes[rng.Below(kBytes.size())] : 'a';
  return key;
}

TEST(PermissionSetTest, ASearchAmongManyFindsWhatLookingAtAllFinds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const std::size_t common = rng.Below(12);
    std::vector<GrantedRanges::Range> ranges;
    for (std::uint64_t count = rng.Below(30); count > 0; --count) {
      std::string begin = RandomKey(rng, common);
      std::string end = begin + RandomKey(rng, 0);
      ranges.push_back({std::move(begin), std::move(end), rng.Below(100) == 0});
    }
    const GrantedRanges set(ranges);
    for (int i = 0; i < 200; ++i) {
      const std::string key = RandomKey(rng, rng.Below(10) == 0 ? rng.Below(12) : common);
      const bool is_in = std::ranges::any_of(set.ranges(), [&](const GrantedRanges::Range& range) {
        return range.begin <= key && (range.open || key < range.end);
      });
      EXPECT_EQ(set.Contains(key, ""), is_in) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kvorum::auth
