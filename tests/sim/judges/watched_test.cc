// The judge of watchers' messages: correct ones pass, and each kind of error is detected.
#include "tests/sim/judges/watched.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mvcc/records/key_value.h"
#include "tests/sim/judges/event_history.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A history of events, and messages about them.
class WatchedTest : public testing::Test {
 protected:
  static std::string Put(std::string_view key, std::int64_t created, std::int64_t revision) {
    return mvcc::Encode({.key = key,
                         .create_revision = created,
                         .mod_revision = revision,
                         .version = 1,
                         .value = "v" + std::to_string(revision)});
  }
  struct Change {
    std::string record;
    bool is_delete = false;
  };
  void Publish(std::int64_t revision, std::initializer_list<Change> changes) {
    std::int64_t sub = 0;
    for (const Change& change : changes) {
      char* room =
          buffer_.Append({.main = revision, .sub = sub++}, change.is_delete, change.record.size());
      std::ranges::copy(change.record, room);
    }
    events_.Take("m1", revision, revision, buffer_.StagedView());
  }
  // k1 at 2, k1 and k2 at 3, the end of k1 at 4.
  void PublishSome() {
    Publish(2, {{first_}});
    Publish(3, {{second_}, {other_}});
    Publish(4, {{mvcc::Encode({.key = "k1", .value = {}}), true}});
  }
  Watched Watch(WatchCreate create) {
    create.key = "k";
    create.range_end = "l";
    create.start_revision = 2;
    Watched watched(world_, events_, std::move(create), "w");
    watched.OnCreated({.watch_id = 7, .revision = 4, .created = true});
    return watched;
  }
  static WatchAnswer Of(std::vector<WatchEvent> events, bool fragment = false) {
    WatchAnswer answer;
    answer.revision = 4;
    answer.fragment = fragment;
    answer.events = std::move(events);
    return answer;
  }

  World world_{Options{}};
  EventHistory events_{world_};
  mvcc::WriteBuffer buffer_{mvcc::WriteBuffer::Options{}};
  const std::string first_ = Put("k1", 2, 2);
  const std::string second_ = Put("k1", 2, 3);
  const std::string other_ = Put("k2", 3, 3);
  const std::string deleted_ = mvcc::Encode({.key = "k1", .mod_revision = 4, .value = {}});
};

TEST_F(WatchedTest, TakesEverythingOnceAndInOrder) {
  PublishSome();
  Watched watched = Watch({.prev_kv = true});
  watched.OnEvents(Of({{.kv = first_}}));
  watched.OnEvents(Of({{.kv = second_, .previous = first_}, {.kv = other_}}));
  EXPECT_FALSE(watched.IsAtEnd());
  watched.OnProgress(3);
  watched.OnEvents(Of({{.is_delete = true, .kv = deleted_, .previous = second_}}));
  watched.OnProgress(4);
  EXPECT_EQ(world_.failure.value_or(""), "");
  EXPECT_TRUE(watched.IsAtEnd());
  EXPECT_EQ(watched.Reopen().start_revision, 5);
}

TEST_F(WatchedTest, SeesAGap) {
  PublishSome();
  Watch({}).OnEvents(Of({{.kv = second_}, {.kv = other_}}));
  EXPECT_TRUE(world_.failed());
}

TEST_F(WatchedTest, SeesADuplicate) {
  PublishSome();
  Watched watched = Watch({});
  watched.OnEvents(Of({{.kv = first_}}));
  ASSERT_FALSE(world_.failed());
  watched.OnEvents(Of({{.kv = first_}}));
  EXPECT_TRUE(world_.failed());
}

TEST_F(WatchedTest, SeesASplitRevision) {
  PublishSome();
  Watch({}).OnEvents(Of({{.kv = first_}, {.kv = second_}}));
  EXPECT_TRUE(world_.failed());
}

TEST_F(WatchedTest, TakesFragmentsThatWereAskedFor) {
  PublishSome();
  Watched watched = Watch({.fragment = true});
  watched.OnEvents(Of({{.kv = first_}, {.kv = second_}}, true));
  watched.OnEvents(Of({{.kv = other_}}));
  EXPECT_EQ(world_.failure.value_or(""), "");
  EXPECT_EQ(watched.next(), 4);
}

TEST_F(WatchedTest, SeesAWrongValueBefore) {
  PublishSome();
  Watched watched = Watch({.prev_kv = true});
  watched.OnEvents(Of({{.kv = first_}}));
  watched.OnEvents(Of({{.kv = second_}, {.kv = other_}}));
  EXPECT_TRUE(world_.failed()) << "none, though nothing is compacted";
}

TEST_F(WatchedTest, BearsThatTheValueBeforeIsCompacted) {
  PublishSome();
  events_.Compacted(3);
  Watched watched = Watch({.prev_kv = true});
  watched.OnEvents(Of({{.kv = first_}}));
  watched.OnEvents(Of({{.kv = second_}, {.kv = other_}}));
  EXPECT_FALSE(world_.failed());
}

TEST_F(WatchedTest, SeesProgressThatRunsAhead) {
  PublishSome();
  Watched watched = Watch({});
  watched.OnEvents(Of({{.kv = first_}}));
  watched.OnProgress(2);
  ASSERT_FALSE(world_.failed());
  watched.OnProgress(3);
  EXPECT_TRUE(world_.failed());
}

TEST_F(WatchedTest, SeesACompactionThatIsNone) {
  PublishSome();
  Watch({}).OnCompacted(3);
  EXPECT_TRUE(world_.failed());
}

TEST_F(WatchedTest, MembersPublishTheSame) {
  PublishSome();
  mvcc::WriteBuffer other{mvcc::WriteBuffer::Options{}};
  std::ranges::copy(other_, other.Append({.main = 2, .sub = 0}, false, other_.size()));
  events_.Take("m2", 2, 2, other.StagedView());
  EXPECT_TRUE(world_.failed());
}

TEST(FastestClock, CountsAsTheFastestOfAll) {
  Scheduler scheduler(1);
  FastestClock clock(scheduler);
  const auto pass = [&](Duration time) {
    scheduler.After(time, [] {});
    scheduler.Step();
  };
  pass(seconds(1));
  clock.SetRate(2, DriftingClock::kExact * 14 / 10);
  clock.SetRate(0, DriftingClock::kExact * 7 / 10);
  pass(seconds(1));
  clock.SetRate(2, DriftingClock::kExact);
  pass(seconds(1));
  EXPECT_EQ(clock.Elapsed(), seconds(3) + milliseconds(400));
}

}  // namespace
}  // namespace kvorum::sim
