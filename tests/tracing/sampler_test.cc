// The share of traces that are recorded, chosen by the last 63 bits of their ids.
#include "server/tracing/sampler.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace kvorum::server::tracing {
namespace {

// A trace whose deciding number is this.
TraceId IdOf(std::uint64_t number) {
  TraceId id{};
  id.front() = 0xff;  // the first half does not count
  const std::uint64_t low = number << 1;
  for (std::size_t i = 0; i < 8; ++i) id[15 - i] = static_cast<std::uint8_t>(low >> (8 * i));
  return id;
}

constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;

TEST(SamplerTest, NoneOfThemAtZero) {
  const Sampler sampler(0);
  EXPECT_FALSE(sampler.begins_traces());
  EXPECT_FALSE(sampler.Takes(IdOf(0)));
}

TEST(SamplerTest, AllOfThemAtAMillion) {
  const Sampler sampler(1'000'000);
  EXPECT_TRUE(sampler.begins_traces());
  EXPECT_TRUE(sampler.Takes(IdOf(0)));
  EXPECT_TRUE(sampler.Takes(IdOf(kEnd - 1)));
}

TEST(SamplerTest, ThoseBelowTheBoundBetween) {
  const Sampler half(500'000);
  EXPECT_TRUE(half.Takes(IdOf(kEnd / 2 - 1)));
  EXPECT_FALSE(half.Takes(IdOf(kEnd / 2)));
  const Sampler one(1);
  EXPECT_TRUE(one.Takes(IdOf(9'223'372'036'853)));
  EXPECT_FALSE(one.Takes(IdOf(9'223'372'036'854)));
}

}  // namespace
}  // namespace kvorum::server::tracing
