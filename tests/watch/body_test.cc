// The bounds of one message to a watcher, exactly.
#include "watch/body.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "mvcc/records/key_value.h"
#include "watch/event_batch.h"

namespace kvorum::watch {
namespace {

constexpr std::uint32_t kEvents = 12;

class BodyTest : public testing::Test {
 protected:
  // Events of one size, each of another revision or all of one.
  std::vector<std::size_t> SizesOf(bool one_revision, Wanted wanted, const BodyLimits& limits) {
    EventBatch batch(2);
    for (std::uint32_t i = 0; i < kEvents; ++i) {
      const std::int64_t revision = one_revision ? 2 : 2 + i;
      const std::string record = mvcc::Encode({.key = "key",
                                               .create_revision = revision,
                                               .mod_revision = revision,
                                               .version = 1,
                                               .value = std::string(90, 'v'),
                                               .lease = 0});
      batch.Add({.revision = {.main = revision, .sub = one_revision ? i : 0}, .value = record});
    }
    const EventBatch::Encoded first = batch.Find(0);
    event_bytes_ = first.end - first.begin;
    std::vector<std::uint32_t> all(kEvents);
    std::iota(all.begin(), all.end(), 0U);
    std::vector<std::size_t> sizes;
    for (const Body& body : MakeBodies(batch, all, wanted, limits, none_).list) {
      EXPECT_EQ(body.size_bytes, body.events * event_bytes_);
      sizes.push_back(body.events);
    }
    return sizes;
  }
  std::size_t EventBytes() {
    static_cast<void>(SizesOf(true, {}, {}));
    return event_bytes_;
  }

  struct NoPrevious final : PreviousValues {
    std::string_view Find(std::string_view, std::int64_t) override { return {}; }
  };
  NoPrevious none_;
  std::size_t event_bytes_ = 0;
};

using Sizes = std::vector<std::size_t>;

TEST_F(BodyTest, TakesSoManyRevisionsAndNoMore) {
  EXPECT_EQ(SizesOf(false, {}, {.revisions = 5}), (Sizes{5, 5, 2}));
  EXPECT_EQ(SizesOf(true, {}, {.revisions = 5}), (Sizes{kEvents})) << "that is one revision";
}

TEST_F(BodyTest, IsFullWithTheRevisionThatMakesItSo) {
  const std::size_t one = EventBytes();
  EXPECT_EQ(SizesOf(false, {}, {.full_bytes = 4 * one}), (Sizes{4, 4, 4}));
  EXPECT_EQ(SizesOf(false, {}, {.full_bytes = 4 * one + 1}), (Sizes{5, 5, 2}));
  EXPECT_EQ(SizesOf(true, {}, {.full_bytes = 4 * one}), (Sizes{kEvents})) << "it stays whole";
}

// With 128 bytes for what is not an event.
TEST_F(BodyTest, APartOfARevisionStaysBelowTheSizeOfAMessage) {
  const std::size_t four = 4 * EventBytes() + 128;
  EXPECT_EQ(SizesOf(true, {.fragment = true}, {.fragment_bytes = four}), (Sizes{3, 3, 3, 3}));
  EXPECT_EQ(SizesOf(true, {.fragment = true}, {.fragment_bytes = four + 1}), (Sizes{4, 4, 4}));
  EXPECT_EQ(SizesOf(true, {}, {.fragment_bytes = four}), (Sizes{kEvents})) << "not asked for";
}

}  // namespace
}  // namespace kvorum::watch
