// The bound on how often one address may ask.
#include "dns/rate_bound.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum::dns {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{5'000'000'000};

int Taken(RateBound& bound, const std::string& address, int asked, TimePoint now) {
  int taken = 0;
  for (int i = 0; i < asked; ++i) taken += bound.Take(address, now) ? 1 : 0;
  return taken;
}

TEST(DnsRateBound, ASecondsQuestionsMayComeAtOnceAndThenAtTheirRate) {
  RateBound bound(100, 7);
  EXPECT_EQ(Taken(bound, "abcd", 1000, kStart), 100);
  EXPECT_EQ(Taken(bound, "abcd", 1000, kStart + 50ms), 5);
  EXPECT_EQ(Taken(bound, "abcd", 1000, kStart + 1h), 100) << "quiet hours are no credit";
  EXPECT_EQ(Taken(bound, "abce", 1000, kStart), 100) << "another address has its own";
}

TEST(DnsRateBound, AFloodFromManyAddressesCostsFewOthersTheirAnswers) {
  RateBound bound(10, 7);
  for (int i = 0; i < 400; ++i) Taken(bound, "flood" + std::to_string(i), 20, kStart);
  int answered = 0;
  for (int i = 0; i < 1000; ++i) answered += Taken(bound, "calm" + std::to_string(i), 1, kStart);
  EXPECT_GT(answered, 850);
}

TEST(DnsRateBound, NoRateIsNoBound) {
  RateBound bound(0, 7);
  EXPECT_EQ(Taken(bound, "abcd", 10'000, kStart), 10'000);
}

}  // namespace
}  // namespace kvorum::dns
