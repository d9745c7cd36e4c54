// A member of production's executors, each a separate thread, over LMDB in a folder that goes
// with it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "base/executor.h"
#include "base/log/logging.h"
#include "datadir/data_directory.h"
#include "mvcc/lmdb/backend.h"
#include "server/apply/wait_table.h"
#include "server/peer/codec/transport.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"
#include "server/replica/member/local_member.h"
#include "server/replica/recovery/local_member_options.h"
#include "tests/server/no_transport.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {

class ThreadedMember {
 public:
  explicit ThreadedMember(std::uint64_t map_size_bytes = std::uint64_t{1} << 30) {
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
        [this, map_size_bytes](const std::string& path) {
          return mvcc::OpenLmdbBackend(
              {.path = path, .readers = &readers_, .map_size_bytes = map_size_bytes});
        },
        {.raft = raft_, .wal = wal_, .apply = apply_, .backend = backend_, .copier = copier_},
        options, [](const Error& error) { FAIL() << error.message; });
    member_ = std::move(opened).value();
    member_->Start(alone_);
  }
  ~ThreadedMember() {
    Stop();
    raft_.Stop();
    for (OwnThread* executor : std::vector<OwnThread*>{&wal_, &apply_, &backend_, &copier_})
      executor->Stop();
    member_.reset();
    std::filesystem::remove_all(folder_);
  }
  ThreadedMember(const ThreadedMember&) = delete;
  ThreadedMember& operator=(const ThreadedMember&) = delete;

  // Proposes so many puts as one batch; the future has the number of those that were applied.
  std::future<int> Put(const std::string& key, int count, std::string_view value = "value") {
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
           .data = EncodeInternalRequest(id, RequestKind::kPut, PutBody(key, value)),
           .deadline = SystemClock().Now() + std::chrono::seconds(60),
           .waiter = std::make_unique<BurstWaiter>(burst),
           .is_key_write = true});
    }
    auto done = burst->done.get_future();
    member_->replica().Propose(std::move(proposals));
    return done;
  }
  void Stop() {
    std::promise<void> stopped;
    member_->replica().Stop([&] { stopped.set_value(); });
    stopped.get_future().get();
  }

  LocalMember& member() { return *member_; }
  std::string database() const { return (folder_ / "member/snap/db").string(); }
  // Readers of the database that live now.
  unsigned readers() const { return readers_.load(); }

 private:
  std::filesystem::path folder_;
  datadir::DataDirectory directory_;
  std::atomic<unsigned> readers_ = 0;
  NoTransport alone_;
  std::unique_ptr<LocalMember> member_;
  CombiningExecutor raft_{"raft"};
  ThreadExecutor wal_{"wal"};
  ThreadExecutor apply_{"apply"};
  ThreadExecutor backend_{"backend"};
  ThreadExecutor copier_{"copier"};
};

}  // namespace kvorum::server
