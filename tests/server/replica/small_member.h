// A whole member in one process and one thread: the production LocalMember over a simulated disk
// and the backend's in-memory twin, or over the machine's own disk and LMDB, with lanes. Segments
// and batches are small, so that a short run meets cuts, commits, snapshots and compaction.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "auth/auth_state.h"
#include "base/log/logging.h"
#include "datadir/data_directory.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"
#include "server/replica/member/local_member.h"
#include "server/replica/recovery/local_member_options.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/server/no_transport.h"
#include "tests/server/replica/lanes.h"

namespace kvorum::server {

class SmallMember {
 public:
  static constexpr const char* kWalDir = "/data/member/wal";
  static constexpr const char* kSnapDir = "/data/member/snap";
  static constexpr const char* kDatabase = "/data/member/snap/db";
  static constexpr const char* kQuarantineFile = "/data/member/quarantined";

  SmallMember(FileSystem& fs, std::uint64_t seed) : fs_(fs), lanes_(seed) {
    SetLogLevel(LogLevel::kError);  // thousands of restarts
    options_ = SmallOptions();
  }
  // One of several machines (small_cluster.h). The transport is its own, and outlives it.
  SmallMember(FileSystem& fs, Scheduler& scheduler, Transport& transport)
      : fs_(fs), transport_(&transport), lanes_(scheduler) {
    SetLogLevel(LogLevel::kError);
    options_ = SmallOptions();
  }

  // Its files are below `root` and its backend is LMDB's, for which the file system must be the
  // machine's own. Before Start.
  void UseLmdb(const std::string& root) {
    root_ = root;
    options_.wal_dir = root + "/member/wal";
    options_.snap_dir = root + "/member/snap";
    options_.database_note = root + "/member/quarantined";
    open_backend_ = [](const std::string& path) {
      return mvcc::OpenLmdbBackend({.path = path, .map_size_bytes = std::uint64_t{1} << 30});
    };
  }
  // Called for each in-memory backend that is opened, so that a test can change one under its
  // member. Before Start.
  void OnBackend(std::function<void(mvcc::Backend&)> told) { on_backend_ = std::move(told); }

  // Called with the member between its Open and its Start. Before Start.
  void OnOpen(std::function<void(LocalMember&)> told) { on_open_ = std::move(told); }

  // Read by Start.
  LocalMemberOptions& options() { return options_; }

  // Opens and starts; the error if the member refuses.
  Result<void> Start() {
    KV_TRY(directory_, datadir::OpenDataDirectory(fs_, root_, ""));
    KV_TRY(local_member_,
           LocalMember::Open(fs_, open_backend_,
                             {.raft = lanes_.raft(),
                              .wal = lanes_.wal(),
                              .apply = lanes_.apply(),
                              .backend = lanes_.backend(),
                              .copier = lanes_.copier()},
                             options_, [this](const Error& error) { fatal_ = error; }));
    on_open_(*local_member_);
    local_member_->Start(*transport_);
    return {};
  }

  // Proposes a request in somebody's name; `done` gets the outcome.
  void Propose(RequestKind kind, const std::string& body,
               std::move_only_function<void(Result<ApplyResult::Value>)> done,
               const auth::Identity& as = {}, raft::Term only_in_term = 0) {
    struct CallbackWaiter final : Waiter {
      std::move_only_function<void(Result<ApplyResult::Value>)> done;
      void Applied(ApplyResult result) override { done(std::move(result.value)); }
      void Failed(const Error& error) override { done(std::unexpected(error)); }
    };
    auto waiter = std::make_unique<CallbackWaiter>();
    waiter->done = std::move(done);
    const std::uint64_t id = local_member_->ids().Next();
    std::vector<Proposal> proposals;
    proposals.push_back({.id = id,
                         .data = EncodeInternalRequest({.id = id,
                                                        .kind = kind,
                                                        .body = body,
                                                        .user = as.username,
                                                        .auth_revision = as.revision}),
                         .deadline = lanes_.clock().Now() + std::chrono::seconds(7),
                         .waiter = std::move(waiter),
                         .only_in_term = only_in_term,
                         .is_key_write = IsKeyWrite(kind)});
    local_member_->replica().Propose(std::move(proposals));
  }

  // Waits until a linearizable read would see everything that was ever acknowledged; false if the
  // member ends instead, or takes too long.
  bool CatchUp() {
    bool confirmed = false;
    local_member_->replica().ReadIndex(
        [&](const Result<void>& result) { confirmed = result.has_value(); });
    return lanes_.RunUntil([&] { return confirmed || fatal_.has_value(); }) && confirmed;
  }

  Lanes& lanes() { return lanes_; }
  bool is_started() const { return local_member_ != nullptr; }
  LocalMember& local_member() { return *local_member_; }
  mvcc::Store& store() { return local_member_->store(); }
  const std::optional<Error>& fatal() const { return fatal_; }

  // The value of a key at a revision (0: newest); nullopt if it has none there.
  Result<std::optional<std::string>> Get(const std::string& key, std::int64_t revision) {
    KV_TRY(auto view, store().Read());
    KV_TRY(const auto result, view.Range({.key = key, .range_end = {}, .revision = revision}));
    if (result.rows.empty()) return std::nullopt;
    KV_TRY(const auto kv, mvcc::DecodeKeyValue(result.rows[0]));
    return std::string(kv.value);
  }

 private:
  static LocalMemberOptions SmallOptions() {
    LocalMemberOptions options;
    options.name = "default";
    options.initial_cluster = "default=http://localhost:2380";
    options.initial_cluster_token = "etcd-cluster";
    options.wal_dir = kWalDir;
    options.snap_dir = kSnapDir;
    options.database_note = kQuarantineFile;
    options.seed = 1;
    options.raft.catch_up_entries = 5;
    options.replica.snapshot_count = 12;
    options.log.max_wals = 1;
    options.log.max_snapshots = 1;
    options.wal.segment_size_bytes = 4096;
    options.wal.reserve_size_bytes = 0;
    options.wal.zero_segments = false;
    options.store.restore_threads = 1;
    options.store.commit.batch_operations = 8;
    options.store.compaction.batch_limit = 4;
    return options;
  }

  FileSystem& fs_;
  std::string root_ = "/data";
  std::function<void(mvcc::Backend&)> on_backend_ = [](mvcc::Backend&) {};
  std::function<void(LocalMember&)> on_open_ = [](LocalMember&) {};
  mvcc::BackendOpener open_backend_ = [this](const std::string& path) {
    auto backend = mvcc::OpenMemoryBackend(fs_, path);
    if (backend.has_value()) on_backend_(**backend);
    return backend;
  };
  LocalMemberOptions options_;
  datadir::DataDirectory directory_;
  std::optional<Error> fatal_;
  NoTransport alone_;
  Transport* transport_ = &alone_;
  std::unique_ptr<LocalMember> local_member_;
  Lanes lanes_;  // destroyed first: its tasks refer to the member
};

}  // namespace kvorum::server
