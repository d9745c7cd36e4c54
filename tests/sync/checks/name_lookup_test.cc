// Probes beside names whose lookup does not end: getaddrinfo is replaced in this program.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sync/checks/system_prober.h"
#include "tests/eventually.h"

namespace {

// Lookups of names under "dead." wait until they are let go.
class Lookups {
 public:
  static Lookups& Get() {
    static Lookups lookups;
    return lookups;
  }
  void Hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
    asked_.clear();
    ended_ = 0;
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    let_go_.notify_all();
  }
  void Begin(const std::string& name) {
    std::unique_lock lock(mutex_);
    asked_.push_back(name);
    if (name.starts_with("dead.")) let_go_.wait(lock, [this] { return !is_held_; });
  }
  void End() {
    const std::lock_guard lock(mutex_);
    ++ended_;
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  bool has_none_under_way() {
    const std::lock_guard lock(mutex_);
    return ended_ == asked_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable let_go_;
  bool is_held_ = false;
  std::vector<std::string> asked_;
  std::size_t ended_ = 0;
};

}  // namespace

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  using Function = decltype(&getaddrinfo);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string asked = name == nullptr ? "" : name;
  Lookups::Get().Begin(asked);
  const int error = asked.starts_with("dead.") ? EAI_AGAIN : real(name, service, hints, found);
  Lookups::Get().End();
  return error;
}

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SyncNameLookup : public testing::Test {
 protected:
  SyncNameLookup() { Lookups::Get().Hold(); }
  ~SyncNameLookup() override {
    Lookups::Get().LetGo();
    EXPECT_TRUE(Eventually([] { return Lookups::Get().has_none_under_way(); }));
  }

  std::future<ProbeResult> Begin(const std::string& target, Duration timeout = 1min) {
    auto result = std::make_shared<std::promise<ProbeResult>>();
    std::future<ProbeResult> future = result->get_future();
    prober_->Begin({.id = "up", .kind = CheckKind::kTcp, .target = target, .timeout = timeout},
                   [result](ProbeResult ended) { result->set_value(std::move(ended)); });
    return future;
  }
  // One that waits in its lookup.
  std::future<ProbeResult> BeginDead(const std::string& target) {
    const std::size_t before = Lookups::Get().asked().size();
    std::future<ProbeResult> future = Begin(target);
    EXPECT_TRUE(Eventually([&] { return Lookups::Get().asked().size() > before; }));
    return future;
  }

  std::unique_ptr<SystemProber> prober_ = std::make_unique<SystemProber>();
};

TEST_F(SyncNameLookup, AnAddressIsNotLookedUp) {
  EXPECT_EQ(Begin("127.0.0.1:1").get().output, "Connection refused");
  EXPECT_EQ(Begin("[::ffff:127.0.0.1]:1").get().output, "Connection refused");
  EXPECT_THAT(Lookups::Get().asked(), IsEmpty());
}

TEST_F(SyncNameLookup, OneThatDoesNotEndHoldsUpNoOther) {
  const auto dead = BeginDead("dead.test:1");
  ASSERT_TRUE(dead.valid());
  EXPECT_EQ(Begin("localhost:1").get().output, "Connection refused");
}

TEST_F(SyncNameLookup, TheSameNameIsLookedUpOnceAtATime) {
  std::vector<std::future<ProbeResult>> dead;
  dead.push_back(BeginDead("dead.test:1"));
  for (int i = 0; i < 20; ++i) dead.push_back(Begin("dead.test:1"));
  EXPECT_EQ(Begin("localhost:1").get().output, "Connection refused");
  EXPECT_THAT(Lookups::Get().asked(), ElementsAre("dead.test", "localhost"));
  Lookups::Get().LetGo();
  for (auto& probe : dead) EXPECT_EQ(probe.get().health, Health::kCritical);
}

TEST_F(SyncNameLookup, AsManyAsThereAreThreadsAreUnderWay) {
  std::vector<std::future<ProbeResult>> dead;
  for (int i = 0; i < 4; ++i) dead.push_back(BeginDead("dead." + std::to_string(i) + ":1"));
  EXPECT_EQ(Begin("localhost:1", 50ms).get().output, "no answer within 50 ms");
  EXPECT_THAT(Lookups::Get().asked(), SizeIs(4)) << "one that nobody waits for is not begun";
  auto waiting = Begin("localhost:1");
  Lookups::Get().LetGo();
  EXPECT_EQ(waiting.get().output, "Connection refused");
}

TEST_F(SyncNameLookup, TheProbersEndDoesNotWaitForOne) {
  auto dead = BeginDead("dead.test:1");
  prober_.reset();
  EXPECT_FALSE(Lookups::Get().has_none_under_way());
  EXPECT_THROW(dead.get(), std::future_error) << "there is no result";
}

}  // namespace
}  // namespace kvorum::sync
