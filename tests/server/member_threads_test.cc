// A member of production's executors: lone puts, which are applied by the thread that learns of
// their commit, beside bursts, which the apply thread takes.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/logging.h"
#include "datadir/data_directory.h"
#include "mvcc/backend.h"
#include "server/apply/wait_table.h"
#include "server/messages/internal_request.h"
#include "server/peer/transport.h"
#include "server/replica/local_member.h"
#include "server/replica/local_member_options.h"
#include "server/replica/replica.h"
#include "server/replica/request_id.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

class MemberThreadsTest : public testing::Test {
 protected:
  MemberThreadsTest() {
    SetLogLevel(LogLevel::kError);
    std::string name = (std::filesystem::temp_directory_path() / "kvorum-member-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    LocalMemberOptions options;
    options.name = "default";
    options.initial_cluster = "default=http://localhost:2380";
    options.initial_cluster_token = "etcd-cluster";
    options.wal_dir = name + "/member/wal";
    options.snap_dir = name + "/member/snap";
    options.seed = 1;
    options.wal.segment_size_bytes = 1 << 20;
    options.wal.zero_segments = false;
    options.replica.snapshot_count = 100;
    options.store.restore_threads = 1;
    directory_ = datadir::OpenDataDirectory(PosixFileSystem(), name, "").value();
    auto opened = LocalMember::Open(
        PosixFileSystem(),
        [](const std::string& path) {
          return mvcc::OpenLmdbBackend({.path = path, .map_size_bytes = std::uint64_t{1} << 30});
        },
        {.raft = raft_, .wal = wal_, .apply = apply_, .backend = backend_, .copier = copier_},
        options, [](const Error& error) { FAIL() << error.message; });
    member_ = std::move(opened).value();
    member_->Start(alone_);
  }
  ~MemberThreadsTest() override {
    std::promise<void> stopped;
    member_->replica().Stop([&] { stopped.set_value(); });
    stopped.get_future().get();
    raft_.Stop();
    for (OwnThread* executor : std::vector<OwnThread*>{&wal_, &apply_, &backend_, &copier_})
      executor->Stop();
    member_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Proposes so many puts as one batch; the future has the number of those that were applied.
  std::future<int> Put(const std::string& key, int count) {
    struct Burst {
      explicit Burst(int count) : left(count) {}
      std::atomic<int> left;
      std::atomic<int> applied = 0;
      std::promise<int> done;
      void End(bool was_applied) {
        if (was_applied) ++applied;
        if (--left == 0) done.set_value(applied);
      }
    };
    struct BurstWaiter final : Waiter {
      explicit BurstWaiter(std::shared_ptr<Burst> of) : burst(std::move(of)) {}
      void Applied(ApplyResult result) override { burst->End(result.value.has_value()); }
      void Failed(const Error&) override { burst->End(false); }
      std::shared_ptr<Burst> burst;
    };
    auto burst = std::make_shared<Burst>(count);
    std::vector<Proposal> proposals;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = member_->ids().Next();
      proposals.push_back(
          {.id = id,
           .data = EncodeInternalRequest(id, RequestKind::kPut, PutBody(key, std::to_string(i))),
           .deadline = SystemClock().Now() + std::chrono::seconds(60),
           .waiter = std::make_unique<BurstWaiter>(burst),
           .is_key_write = true});
    }
    auto done = burst->done.get_future();
    member_->replica().Propose(std::move(proposals));
    return done;
  }

  std::filesystem::path folder_;
  datadir::DataDirectory directory_;
  NoTransport alone_;
  std::unique_ptr<LocalMember> member_;
  CombiningExecutor raft_{"raft"};
  ThreadExecutor wal_{"wal"};
  ThreadExecutor apply_{"apply"};
  ThreadExecutor backend_{"backend"};
  ThreadExecutor copier_{"copier"};
};

TEST_F(MemberThreadsTest, LonePutsAndBurstsAreAllAppliedAndAnswered) {
  constexpr int kClients = 3;
  constexpr int kRounds = 100;
  std::atomic<int> applied = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      const std::string key = "key " + std::to_string(client);
      for (int round = 0; round < kRounds; ++round)
        applied += Put(key, round % 10 == client ? 20 : 1).get();
    });
  }
  // Reads wait for what is applied, on whichever thread.
  for (int i = 0; i < 100; ++i) {
    std::promise<bool> confirmed;
    member_->replica().ReadIndex(
        [&](const Result<void>& result) { confirmed.set_value(result.has_value()); });
    EXPECT_TRUE(confirmed.get_future().get());
  }
  for (std::thread& client : clients) client.join();
  constexpr int kPuts = kClients * (kRounds / 10) * (9 + 20);
  EXPECT_EQ(applied, kPuts);
  EXPECT_EQ(member_->store().readable_revision(), 1 + kPuts);
}

TEST_F(MemberThreadsTest, AStopMeetsALonePutAtAnyPoint) {
  std::vector<std::future<int>> puts;
  for (int i = 0; i < 50; ++i) puts.push_back(Put("key", 1));
  std::promise<void> stopped;
  member_->replica().Stop([&] { stopped.set_value(); });
  stopped.get_future().get();
  for (std::future<int>& put : puts) put.get();  // each is answered, in one way or the other
}

}  // namespace
}  // namespace kvorum::server
