// A stopped etcd member's directory on a simulated disk, as etcd itself would leave it: a bbolt
// file, a snapshot file, a log that goes on behind both.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/entries/conf_state_json.h"
#include "api/member.h"
#include "base/rng.h"
#include "bbolt/reader.h"
#include "datadir/layout.h"
#include "datadir/snapshot_files.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/key_value.h"
#include "mvcc/records/revision.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "tests/bbolt/image.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/wal/log_fixture.h"

namespace kvorum::datadir {

inline constexpr raft::Index kMarked = 5;
inline constexpr raft::Index kApplied = 9;
inline constexpr raft::Index kLast = 12;

inline std::string BigEndian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value);
  return bytes;
}

inline raft::ConfState Voters() {
  raft::ConfState state;
  state.voters = {wal::kMetadata.node_id};
  return state;
}

// Three keys, a lease, an alarm, a member, roles; `applied` is the consistent index.
inline bbolt::Content EtcdContent(raft::Index applied = kApplied) {
  bbolt::Content content;
  for (const std::string_view name : mvcc::kBucketNames) content[std::string(name)];
  for (std::int64_t revision = 2; revision < 5; ++revision) {
    const std::string key = "key " + std::to_string(revision);
    content["key"].emplace(mvcc::RevisionKey({revision, 0}).view(),
                           mvcc::Encode({.key = key,
                                         .create_revision = revision,
                                         .mod_revision = revision,
                                         .version = 1,
                                         .value = "value"}));
  }
  content["meta"] = {{"consistent_index", BigEndian(applied.value())},
                     {"term", BigEndian(2)},
                     {"confState", server::EncodeConfStateJson(Voters())},
                     {"storageVersion", "3.7.0"}};
  content["lease"] = {{BigEndian(7), "\x08\x07\x10\x3c"}};
  content["cluster"] = {{"clusterVersion", "3.7.0"}};
  content["members"] = {
      {"8e9e05c52164694d", server::EncodeMemberJson({.id = wal::kMetadata.node_id,
                                                     .peer_urls = {"http://127.0.0.1:2380"},
                                                     .name = "m1",
                                                     .client_urls = {"http://127.0.0.1:2379"}})}};
  content["members_removed"] = {{"1", "removed"}};
  content["auth"] = {{"authEnabled", std::string(1, '\0')}, {"authRevision", BigEndian(1)}};
  return content;
}

class EtcdDirectory : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(fs_.MakeDirectories(layout_.snap));
    ASSERT_OK(fs_.SyncDirectory("/"));
    ASSERT_OK(fs_.SyncDirectory(layout_.root));
    ASSERT_OK(fs_.SyncDirectory(layout_.member));
    WriteLog();
    WriteDatabase(EtcdContent());
  }

  void WriteLog() {
    auto log = wal::Create(fs_, layout_.wal, wal::kMetadata, wal::SmallOptions());
    ASSERT_OK(log);
    const raft::HardState first{.term = 2, .vote = wal::kMetadata.node_id, .commit = kMarked};
    ASSERT_OK((*log)->Append(Entries(1, kMarked.value()), &first));
    ASSERT_OK(
        SaveSnapshotFile(fs_, layout_.snap, {.conf_state = Voters(), .index = kMarked, .term = 2}));
    ASSERT_OK((*log)->SaveSnapshot({.index = kMarked, .term = 2, .conf_state = Voters()}));
    const raft::HardState last{.term = 2, .vote = wal::kMetadata.node_id, .commit = kLast};
    ASSERT_OK((*log)->Append(Entries(kMarked.value() + 1, kLast.value()), &last));
    ASSERT_OK((*log)->Close());
    log->reset();
    ASSERT_OK(fs_.Remove(layout_.wal + "/lock"));
  }

  // Puts of a key, as a client has sent them.
  static std::vector<raft::Entry> Entries(std::uint64_t from, std::uint64_t to) {
    std::vector<raft::Entry> entries;
    for (std::uint64_t index = from; index <= to; ++index) {
      // InternalRaftRequest {put = 4 {key = 1}, header = 100 {ID = 1}}
      entries.push_back(wal::MakeEntry(
          raft::Index{index}, 2,
          std::string("\x22\x03\x0a\x01k", 5) + std::string("\xa2\x06\x02\x08\x01", 5)));
    }
    return entries;
  }

  void WriteDatabase(const bbolt::Content& content) {
    const auto image = bbolt::ImageOf(content);
    ASSERT_OK(image);
    WriteFile(layout_.database, *image);
  }
  void WriteFile(const std::string& path, std::string_view bytes) {
    if (*fs_.Exists(path)) ASSERT_OK(fs_.Remove(path));
    auto file = fs_.Open(path, FileSystem::OpenMode::kCreate);
    ASSERT_OK(file);
    const std::array<std::string_view, 1> part = {bytes};
    ASSERT_OK((*file)->WriteAt(0, part));
    ASSERT_OK((*file)->Sync());
    ASSERT_OK(fs_.SyncDirectory(ParentDirectory(path)));
  }

  static mvcc::BackendOpener Opener(FileSystem& fs,
                                    mvcc::CommitSync sync = mvcc::CommitSync::kEachCommit) {
    return [&fs, sync](const std::string& path) { return mvcc::OpenMemoryBackend(fs, path, sync); };
  }

  // Every record of etcd's file, or the error's text.
  static Result<bbolt::Content> ReadEtcds(FileSystem& fs, const std::string& path) {
    KV_TRY(const auto reader, bbolt::Reader::Open(fs, path));
    KV_RETURN_IF_ERROR(reader->Check());
    return bbolt::ContentOf(*reader);
  }
  // Every record of our backend, in the same form.
  static Result<bbolt::Content> ReadOurs(FileSystem& fs, const std::string& path) {
    KV_TRY(const auto backend, mvcc::OpenMemoryBackend(fs, path));
    KV_TRY(const mvcc::Reader reader, backend->NewReader());
    bbolt::Content content;
    for (std::size_t i = 0; i < mvcc::kBucketNames.size(); ++i) {
      bbolt::Records& records = content[std::string(mvcc::kBucketNames[i])];
      KV_RETURN_IF_ERROR(reader->Scan(static_cast<mvcc::Bucket>(i), {}, {},
                                      [&](std::string_view key, std::string_view value) {
                                        records.emplace(key, value);
                                        return true;
                                      }));
    }
    return content;
  }

  SimFileSystem fs_;
  const Layout layout_{"/data", ""};
};

// Cuts the power at each write operation in turn. The next call repairs every state that is left.
template <class Prepare, class Run, class Check>
void CutAtEachOperation(const Prepare& prepare, const Run& run, const Check& check) {
  for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
    bool finished = false;
    for (std::uint64_t cut = 1; !finished; ++cut) {
      SCOPED_TRACE("cut " + std::to_string(cut));
      Rng rng(cut);
      const std::unique_ptr<SimFileSystem> disk = prepare(rng);
      disk->PowerOffAt(cut);
      finished = run(*disk);
      ASSERT_EQ(finished, disk->counters().power_cuts == 0);
      if (finished) break;
      disk->Crash(keep, rng);
      ASSERT_TRUE(run(*disk));
      check(*disk);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace kvorum::datadir
