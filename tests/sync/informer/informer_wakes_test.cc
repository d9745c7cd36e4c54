// An informer wakes its listeners once for all that came together.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/manual_clock.h"
#include "tests/sync/informer/informer_fixture.h"

namespace kvorum::sync {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// The executor of a listener that always has time: a task runs as it is posted.
class IdleExecutor final : public Executor {
 public:
  void Post(Task task) override {
    ++posts;
    task();
  }
  void PostAt(TimePoint, Task) override { FAIL() << "a listener has no timers"; }
  const Clock& clock() const override { return clock_; }

  int posts = 0;

 private:
  ManualClock clock_;
};

class SyncInformerWakes : public SyncInformer {
 protected:
  // An informer that has listed nothing, and a listener that has heard so.
  void Begin(ListenerOptions options) {
    Make(Prefix());
    options.executor = &listening_;
    ASSERT_TRUE(informer->AddListener(std::move(options), told_.handler()));
    Run();
    listening_.posts = 0;
  }

  IdleExecutor listening_;
  Told told_;
};

TEST_F(SyncInformerWakes, RevisionsThatCameTogetherAreOneWake) {
  Begin({});
  for (int i = 0; i < 50; ++i) Put("k", std::to_string(i));
  executor.Settle();
  EXPECT_EQ(listening_.posts, 1);
  EXPECT_THAT(told_.Take(), SizeIs(50));
}

TEST_F(SyncInformerWakes, ARevisionThatComesAloneIsToldAtOnce) {
  Begin({});
  for (int i = 0; i < 3; ++i) {
    Put("k" + std::to_string(i), "v");
    executor.Settle();
    EXPECT_THAT(told_.Take(), ElementsAre("+k" + std::to_string(i) + "=v"));
  }
}

TEST_F(SyncInformerWakes, AListenerThatBlocksIsWokenForWhatFits) {
  Begin({.overflow = OverflowPolicy::kBlock, .capacity = 8});
  for (int i = 0; i < 50; ++i) Put("k", std::to_string(i));
  executor.Settle();
  EXPECT_THAT(told_.Take(), SizeIs(50));
}

}  // namespace
}  // namespace kvorum::sync
