// A history of random entries with its archive: each entry is applied to a database, and
// the store has bases of that database and log objects of those entries. The hash of the keys, and
// the revision, are known after each entry.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/alarm.h"
#include "api/auth_messages.h"
#include "api/entries/internal_request.h"
#include "api/lease_messages.h"
#include "api/maintenance_encode.h"
#include "api/member.h"
#include "archive/format/frame.h"
#include "archive/format/log_object.h"
#include "archive/format/records.h"
#include "archive/store/object_store.h"
#include "base/digest/sha256.h"
#include "base/log/logging.h"
#include "base/rng.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/store/store.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "server/replay/replay.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {

inline Result<std::unique_ptr<mvcc::Backend>> OpenTestBackend(const std::string& path) {
  return mvcc::OpenLmdbBackend(
      {.path = path, .map_size_bytes = std::uint64_t{1} << 28, .sync = mvcc::CommitSync::kByHand});
}

// A folder that goes with the object.
class TestFolder {
 public:
  TestFolder() {
    std::string path = testing::TempDir() + "kvorum-archived-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class ArchivedSource {
 public:
  static constexpr archive::HistoryId kHistory = 0xab;
  static constexpr std::uint64_t kClusterId = 0xc1;
  static constexpr raft::MemberId kMember = 5;
  static constexpr std::size_t kPartBytes = 16'384;

  // The revision and the hash of the keys.
  struct State {
    std::int64_t revision = 1;
    std::uint32_t hash = 0;
    archive::UnixMillis time_ms = 0;
  };

  ArchivedSource(archive::ObjectStore& store, std::uint64_t seed) : store_(store), rng_(seed) {
    SetLogLevel(LogLevel::kError);
    auto opened =
        Replay::Open(PosixFileSystem(), {.folder = folder_.path(), .open = OpenTestBackend});
    EXPECT_TRUE(opened.has_value()) << (opened.has_value() ? "" : opened.error().message);
    database_ = std::move(opened).value();
    Put({.history = kHistory, .name = archive::HistoryFileName{}},
        ToJson(archive::HistoryRecord{.id = kHistory,
                                      .cluster_id = kClusterId,
                                      .reason = "new",
                                      .began_ms = 1'000,
                                      .first = 1}));
    AddConfChange({.id = kMember,
                   .peer_urls = {"http://localhost:2380"},
                   .is_learner = false,
                   .name = {},
                   .client_urls = {}});
    Add(RequestKind::kMemberAttributesSet,
        EncodeMemberAttributes(
            {.member = kMember, .name = "default", .client_urls = {"http://localhost:2379"}}));
    Add(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0"));
  }

  // Any entry that clients may cause, and a new term now and then.
  void AddRandom(int count) {
    for (int i = 0; i < count; ++i) AddOne();
  }
  void Add(RequestKind kind, const std::string& body) {
    Apply({.term = term_,
           .index = last() + 1,
           .type = raft::EntryType::kNormal,
           .data = EncodeInternalRequest(last().value() + 1, kind, body)});
  }
  void Raise(AlarmType type) {
    Add(RequestKind::kAlarm, EncodeAlarmRequest({.action = AlarmAction::kActivate,
                                                 .alarm = {.member = kMember, .type = type}}));
  }

  // Archives what was added since the last object; the last entry's time is its index in seconds.
  void Ship() {
    const std::vector<raft::Entry> entries(
        entries_.begin() + static_cast<std::ptrdiff_t>(end_.last.value()), entries_.end());
    if (entries.empty()) return;
    std::vector<archive::TimeMark> times;
    for (const raft::Entry& entry : entries) {
      if (&entry != &entries.back() && !rng_.OneIn(3)) continue;
      const State& state = states_.at(entry.index);
      times.push_back({.index = entry.index, .time_ms = state.time_ms, .revision = state.revision});
    }
    const archive::LogObject object =
        archive::MakeLogObject(kHistory, end_, entries, times, "metadata");
    Put(object.key, object.bytes);
    end_ = object.end;
    logs_.push_back(archive::KeyText(object.key));
    marks_.insert(marks_.end(), times.begin(), times.end());
  }

  void TakeBase(bool with_manifest = true) {
    std::promise<void> durable;
    database_->store().Flush([&] { durable.set_value(); });
    durable.get_future().get();
    const std::string image = Image();
    const State& state = states_.at(last());
    const archive::BaseName base = {
        .index = last(), .revision = state.revision, .time_ms = state.time_ms};
    archive::Manifest manifest = {
        .history = kHistory,
        .base = base,
        .end = {.size_bytes = image.size(), .sha256 = Sha256Hex(image), .term = term_},
        .parts = {}};
    for (std::size_t offset = 0; offset < image.size(); offset += kPartBytes) {
      const std::string content = image.substr(offset, kPartBytes);
      const auto number = static_cast<std::uint32_t>(manifest.parts.size());
      archive::PartHeader header = {.history = kHistory,
                                    .name = {.base = base, .number = number},
                                    .offset = offset,
                                    .raw_bytes = content.size(),
                                    .sha256 = Sha256Hex(content),
                                    .end = {}};
      if (offset + kPartBytes >= image.size()) header.end = manifest.end;
      manifest.parts.push_back({.raw_bytes = content.size(), .sha256 = header.sha256});
      Put({.history = kHistory, .name = header.name}, archive::Frame(ToJson(header), content));
    }
    if (with_manifest)
      Put({.history = kHistory, .name = archive::ManifestName{base}}, ToJson(manifest));
    bases_.push_back(base);
    marks_.push_back({.index = base.index, .time_ms = base.time_ms, .revision = base.revision});
  }

  raft::Index last() const { return raft::Index{entries_.size()}; }
  const State& StateAt(raft::Index index) const { return states_.at(index); }
  // The first entry with which the store had the revision.
  raft::Index FirstWith(std::int64_t revision) const {
    for (const auto& [index, state] : states_) {
      if (state.revision == revision) return index;
    }
    return 0;
  }
  // The last entry whose time the archive knows to be at or before this.
  raft::Index LastMarkAt(archive::UnixMillis time_ms) const {
    raft::Index last = 0;
    for (const archive::TimeMark& mark : marks_) {
      if (mark.time_ms <= time_ms) last = std::max(last, mark.index);
    }
    return last;
  }
  const std::vector<archive::BaseName>& bases() const { return bases_; }
  // Keys of the log objects, in order.
  const std::vector<std::string>& logs() const { return logs_; }
  const std::vector<raft::Entry>& entries() const { return entries_; }
  mvcc::Store& store() { return database_->store(); }
  Rng& rng() { return rng_; }

 private:
  void Put(const archive::ObjectKey& key, std::string_view bytes) {
    const auto put = store_.Put(archive::KeyText(key), bytes, {.if_absent = true});
    EXPECT_TRUE(put.has_value()) << (put.has_value() ? "" : put.error().text);
  }

  std::string Image() {
    auto opened = database_->store().OpenSnapshot();
    EXPECT_TRUE(opened.has_value());
    EXPECT_TRUE(opened->source->Use(mvcc::SnapshotFormat::kEtcd).has_value());
    std::string image;
    while (true) {
      const auto chunk = opened->source->Next();
      EXPECT_TRUE(chunk.has_value()) << (chunk.has_value() ? "" : chunk.error().message);
      if (!chunk.has_value() || chunk->view().empty()) return image;
      image += chunk->view();
    }
  }

  void Apply(raft::Entry entry) {
    const auto applied = database_->Apply({&entry, 1});
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    const auto hash = database_->store().HashKv(0);
    ASSERT_TRUE(hash.has_value()) << hash.error().message;
    states_[entry.index] = {
        .revision = database_->revision(),
        .hash = hash->hash,
        .time_ms = 1'000 * static_cast<archive::UnixMillis>(entry.index.value())};
    entries_.push_back(std::move(entry));
  }

  void AddConfChange(const Member& member) {
    const raft::ConfChange change{.id = 1,
                                  .type = raft::ConfChangeType::kAddNode,
                                  .node_id = member.id,
                                  .context = SharedBytes::Own(EncodeMemberJson(member))};
    Apply({.term = term_,
           .index = last() + 1,
           .type = raft::EntryType::kConfChange,
           .data = SharedBytes::Own(raft::Encode(change))});
  }

  std::string Key() { return "key" + std::to_string(rng_.Below(40)); }
  std::string Value() {
    std::string value(rng_.Below(200), '\0');
    for (char& c : value) c = static_cast<char>(rng_.Below(256));
    return value;
  }
  std::int64_t Lease() { return static_cast<std::int64_t>(1 + rng_.Below(6)); }

  void AddOne() {
    switch (rng_.Below(16)) {
      case 0: {
        term_ = term_ + 1;
        return Apply(
            {.term = term_, .index = last() + 1, .type = raft::EntryType::kNormal, .data = {}});
      }
      case 1:
        return Add(RequestKind::kDeleteRange, DeleteBody("key1", "key2"));
      case 2:
        return Add(RequestKind::kDeleteRange, DeleteBody(Key()));
      case 3:
        return Add(RequestKind::kTxn, PutTxnBody({Key() + "a", Key() + "b"}, Value()));
      case 4:
        return Add(RequestKind::kLeaseGrant, EncodeLeaseGrant({.ttl_s = 600, .id = Lease()}));
      case 5:
        return Add(RequestKind::kLeaseRevoke, EncodeLeaseId(Lease()));
      case 6: {
        const LeaseCheckpoint checkpoint{.id = Lease(), .remaining_s = 77};
        return Add(RequestKind::kLeaseCheckpoint, EncodeLeaseCheckpoints({&checkpoint, 1}));
      }
      case 7: {
        std::string body = PutBody(Key(), Value());
        wire::AppendInt(body, 3, Lease());
        return Add(RequestKind::kPut, body);
      }
      case 8:
        return Add(RequestKind::kRoleAdd,
                   logged::EncodeName("role" + std::to_string(last().value())));
      case 9: {
        if (!rng_.OneIn(3)) return Add(RequestKind::kPut, PutBody(Key(), Value()));
        const auto revision = static_cast<std::uint64_t>(database_->revision());
        return Add(RequestKind::kCompaction,
                   CompactBody(static_cast<std::int64_t>(1 + rng_.Below(revision))));
      }
      default:
        return Add(RequestKind::kPut, PutBody(Key(), Value()));
    }
  }

  archive::ObjectStore& store_;
  Rng rng_;
  TestFolder folder_;
  std::unique_ptr<Replay> database_;
  raft::Term term_ = 2;
  std::vector<raft::Entry> entries_;  // from index 1 on
  std::map<raft::Index, State> states_;
  archive::LogEnd end_;
  std::vector<archive::BaseName> bases_;
  std::vector<std::string> logs_;
  std::vector<archive::TimeMark> marks_;
};

}  // namespace kvorum::server
