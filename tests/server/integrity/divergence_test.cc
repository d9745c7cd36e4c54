// Members whose incremental hashes differ from the majority's, since when, and the form in which
// members send the hashes.
#include "server/integrity/divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace kvorum::server {
namespace {

using mvcc::HistorySum;
using testing::ElementsAre;
using testing::IsEmpty;
using Verdict = Comparison::Verdict;

constexpr raft::MemberId kOne{1};
constexpr raft::MemberId kTwo{2};
constexpr raft::MemberId kThree{3};

using Bases = std::vector<HistorySum::Base>;
using Points = std::vector<HistorySum::Point>;

MemberHistory Of(raft::MemberId member, Bases bases, Points points) {
  return {.member = member,
          .serves = true,
          .history = {.bases = std::move(bases), .points = std::move(points)}};
}

TEST(DivergenceTest, EqualMembersMayHaveStartedAtDifferentTimes) {
  const auto compared =
      Compare({Of(kOne, {{-1, 100}}, {{256, 5}, {300, 9}}),
               Of(kTwo, {{-1, 103}}, {{256, 2}, {300, 6}}), Of(kThree, {{-1, 109}}, {{300, 0}})},
              3);
  EXPECT_EQ(compared.verdict, Verdict::kEqual);
  EXPECT_EQ(compared.revision, 300);
  EXPECT_EQ(compared.compared, 3u);
}

TEST(DivergenceTest, TheOneThatDiffersFromAMajorityIsNamed) {
  const auto compared = Compare({Of(kOne, {{-1, 0}}, {{300, 9}}), Of(kTwo, {{-1, 0}}, {{300, 8}}),
                                 Of(kThree, {{-1, 0}}, {{300, 9}})},
                                3);
  EXPECT_EQ(compared.verdict, Verdict::kMinority);
  EXPECT_THAT(compared.diverged, ElementsAre(kTwo));
}

TEST(DivergenceTest, TwoOfThreeThatDifferAreNoMajority) {
  const auto compared =
      Compare({Of(kOne, {{-1, 0}}, {{300, 9}}), Of(kTwo, {{-1, 0}}, {{300, 8}})}, 3);
  EXPECT_EQ(compared.verdict, Verdict::kNoMajority);
  EXPECT_THAT(compared.diverged, IsEmpty());
}

TEST(DivergenceTest, TwoOfFiveThatAreEqualAreNoMajority) {
  const auto compared = Compare({Of(kOne, {{-1, 0}}, {{300, 9}}), Of(kTwo, {{-1, 0}}, {{300, 8}}),
                                 Of(kThree, {{-1, 0}}, {{300, 9}})},
                                5);
  EXPECT_EQ(compared.verdict, Verdict::kNoMajority);
}

TEST(DivergenceTest, ComparedIsWhereMostMembersAre) {
  const auto compared =
      Compare({Of(kOne, {{-1, 0}}, {{256, 1}, {512, 2}}), Of(kTwo, {{-1, 0}}, {{256, 1}, {512, 2}}),
               Of(kThree, {{-1, 0}}, {{256, 7}})},
              3);
  EXPECT_EQ(compared.revision, 256);
  EXPECT_THAT(compared.diverged, ElementsAre(kThree));
}

TEST(DivergenceTest, SumsOfDifferentCompactionsSayNothing) {
  EXPECT_EQ(Compare({Of(kOne, {{5, 0}}, {{300, 9}}), Of(kTwo, {{7, 0}}, {{300, 8}})}, 2).verdict,
            Verdict::kNothing);
  // One still remembers the compaction before.
  EXPECT_EQ(
      Compare({Of(kOne, {{5, 0}}, {{300, 9}}), Of(kTwo, {{5, 1}, {7, 0}}, {{300, 8}})}, 2).verdict,
      Verdict::kEqual);
}

TEST(DivergenceTest, MembersWithoutABaseAreLeftOut) {
  EXPECT_EQ(Compare({Of(kOne, {}, {{300, 9}}), Of(kTwo, {{-1, 0}}, {{300, 8}})}, 3).verdict,
            Verdict::kNothing);
  EXPECT_EQ(Compare({}, 3).verdict, Verdict::kNothing);
}

TEST(DivergenceTest, ItsBeginningIsBetweenTwoPoints) {
  const auto a = Of(kOne, {{-1, 10}}, {{256, 1}, {512, 2}, {768, 3}, {1024, 4}}).history;
  const auto b = Of(kTwo, {{-1, 11}}, {{256, 0}, {512, 1}, {768, 9}, {1024, 9}}).history;
  const auto range = FindDivergence(a, b);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->equal_at, 512);
  EXPECT_EQ(range->differ_at, 768);
}

TEST(DivergenceTest, OneOlderThanAllPointsHasNoKnownBeginning) {
  const auto a = Of(kOne, {{-1, 10}}, {{256, 1}, {512, 2}}).history;
  const auto b = Of(kTwo, {{-1, 12}}, {{256, 1}, {512, 2}}).history;
  const auto range = FindDivergence(a, b);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->equal_at, std::nullopt);
  EXPECT_EQ(range->differ_at, 256);
  EXPECT_FALSE(FindDivergence(a, a).has_value());
  EXPECT_FALSE(FindDivergence(a, Of(kTwo, {{3, 10}}, {{256, 1}}).history).has_value());
}

// ---- between members ----

TEST(HistoryJsonTest, ComesBackAsItWas) {
  const MemberHistory sent = Of(raft::MemberId{0x8e9e05c52164694d}, {{-1, 7}, {9, UINT64_MAX}},
                                {{256, 1}, {300, UINT64_MAX}});
  const std::string text = EncodeHistoryJson(sent);
  EXPECT_EQ(
      text,
      R"({"member":"8e9e05c52164694d","serves":true,"bases":[[-1,7],[9,18446744073709551615]],)"
      R"("points":[[256,1],[300,18446744073709551615]]})");
  const auto received = DecodeHistoryJson(text);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(EncodeHistoryJson(*received), text);
}

std::string TooManyBases() {
  std::string text = R"({"member":"1","serves":true,"bases":[[0,1])";
  for (std::size_t i = 1; i <= HistorySum::kMaxBases; ++i) text += ",[" + std::to_string(i) + ",1]";
  return text + R"(],"points":[]})";
}

TEST(HistoryJsonTest, NonsenseIsRefused) {
  for (const std::string& text : std::vector<std::string>{
           "", "[]", "{}", "404 page not found", R"({"member":"1","serves":true,"bases":[]})",
           R"({"member":"x","serves":true,"bases":[],"points":[]})",
           R"({"member":"1","serves":1,"bases":[],"points":[]})",
           R"({"member":"1","serves":true,"bases":[[1]],"points":[]})",
           R"({"member":"1","serves":true,"bases":[],"points":[[1,-2]]})",
           R"({"member":"1","serves":true,"bases":[],"points":[["1",2]]})", TooManyBases()}) {
    EXPECT_FALSE(DecodeHistoryJson(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace kvorum::server
