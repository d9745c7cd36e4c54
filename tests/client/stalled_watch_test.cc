// Watches of a member that takes nothing any more.
#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "client/client.h"
#include "proto/rpc.pb.h"
#include "tests/client/fake_member.h"
#include "tests/client/stalled_member.h"

namespace kvorum::client {
namespace {

// The size of the request that creates a watch of nothing, and of one for progress: the message's
// head and an empty field.
constexpr std::uint32_t kRequestBytes = 5 + 2;

// A watch that is run.
class Running {
 public:
  explicit Running(const StalledMember& member)
      : client_(ConnectTo({member.endpoint()})), watch_(client_->NewWatch({})) {
    runner_ = std::jthread([this] {
      ended_ = watch_->Run([](const etcdserverpb::WatchResponse&) { return Result<void>(); });
    });
  }
  Watch& watch() { return *watch_; }
  Result<void> End() {
    runner_.join();
    return ended_;
  }

 private:
  std::unique_ptr<Client> client_;
  std::unique_ptr<Watch> watch_;
  Result<void> ended_;
  std::jthread runner_;
};

TEST(StalledWatchTest, IsCancelledWhileItsCreationIsNotTaken) {
  const StalledMember member(0);
  Running running(member);
  member.AwaitCall();
  running.watch().Cancel();
  EXPECT_TRUE(running.End());
}

TEST(StalledWatchTest, IsCancelledWhileARequestForProgressIsNotTaken) {
  constexpr std::uint32_t kTaken = 4 * kRequestBytes;
  const StalledMember member(kTaken);
  Running running(member);
  std::jthread asker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) running.watch().RequestProgress();
  });
  member.AwaitBytes(kTaken);
  running.watch().Cancel();
  EXPECT_TRUE(running.End());
  asker.request_stop();
}

}  // namespace
}  // namespace kvorum::client
