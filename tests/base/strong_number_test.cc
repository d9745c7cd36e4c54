#include "base/strong_number.h"

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <sstream>
#include <type_traits>
#include <unordered_set>

namespace kvorum {
namespace {

using Apples = StrongNumber<struct ApplesTag>;
using Pears = StrongNumber<struct PearsTag>;

template <class A, class B>
concept Subtractable = requires(A a, B b) { a - b; };
template <class A, class B>
concept Comparable = requires(A a, B b) { a == b; } || requires(A a, B b) { a < b; };

// Nothing turns one kind into the other, or either into a plain number, without a word.
static_assert(!std::constructible_from<Apples, Pears> && !std::assignable_from<Apples&, Pears>);
static_assert(!Comparable<Apples, Pears> && !Subtractable<Apples, Pears>);
static_assert(!std::convertible_to<Apples, std::uint64_t> && !std::convertible_to<Apples, bool>);
// It costs what a number costs.
static_assert(sizeof(Apples) == sizeof(std::uint64_t) && std::is_trivially_copyable_v<Apples>);

TEST(StrongNumberTest, ComparesWithItsKindAndWithLiterals) {
  const Apples three = 3;
  EXPECT_EQ(three, Apples{std::uint64_t{3}});
  EXPECT_EQ(three, 3);
  EXPECT_EQ(three, 3U);
  EXPECT_NE(three, -3);
  EXPECT_NE(Apples{UINT64_MAX}, -1);
  EXPECT_GT(three, -1);
  EXPECT_LT(three, Apples{UINT64_MAX});
  EXPECT_EQ(Apples(), 0);
}

TEST(StrongNumberTest, CountsAsAPosition) {
  Apples at = 7;
  EXPECT_EQ(at++, 7);
  EXPECT_EQ(++at, 9);
  EXPECT_EQ(--at, 8);
  EXPECT_EQ(at + 2, 10);
  EXPECT_EQ(at - 8, 0);
  EXPECT_EQ(at - Apples{5}, 3U);
  at += 2;
  at -= 1;
  EXPECT_EQ(at.value(), 9U);
  EXPECT_EQ(Apples{} - 1, Apples{UINT64_MAX}) << "it wraps, as unsigned numbers do";
}

TEST(StrongNumberTest, IsHashedAndPrinted) {
  std::unordered_set<Apples> known = {1, 2, 2};
  EXPECT_EQ(known.size(), 2U);
  std::ostringstream out;
  out << Apples{UINT64_MAX};
  EXPECT_EQ(out.str(), "18446744073709551615");
}

}  // namespace
}  // namespace kvorum
