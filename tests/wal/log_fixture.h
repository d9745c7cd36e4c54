// A log on a simulated disk, with verbs that make short tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/disk/sim_file_system.h"
#include "wal/wal.h"

namespace kvorum::wal {

inline constexpr const char* kDir = "/data/member/wal";
inline constexpr Metadata kMetadata = {.node_id = raft::MemberId{0x8e9e05c52164694d},
                                       .cluster_id = 0xcdf818194e3a8c32};

// Small segments, so that a few entries fill one; no zeroing, no reserve: they add operations to
// crash at, not behaviour.
inline Options SmallOptions(std::uint64_t segment_size_bytes = 4096) {
  return {.segment_size_bytes = segment_size_bytes,
          .reserve_size_bytes = 0,
          .zero_segments = false,
          .durable_index = {},
          .background = nullptr};
}

inline raft::Entry MakeEntry(raft::Index index, raft::Term term, std::string data) {
  return {.term = term,
          .index = index,
          .type = raft::EntryType::kNormal,
          .data = SharedBytes::Own(std::move(data))};
}

inline std::vector<raft::Entry> MakeEntries(raft::Index first, std::size_t count, raft::Term term,
                                            std::size_t data_bytes = 20) {
  std::vector<raft::Entry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const raft::Index index = first + i;
    std::string data =
        "entry " + std::to_string(index.value()) + " of term " + std::to_string(term.value()) + " ";
    data.resize(std::max(data.size(), data_bytes), static_cast<char>('a' + index.value() % 26));
    entries.push_back(MakeEntry(index, term, std::move(data)));
  }
  return entries;
}

inline SnapshotMarker MakeMarker(raft::Index index, raft::Term term) {
  raft::ConfState conf;
  conf.voters = {1, 2, 3};
  return {.index = index, .term = term, .conf_state = std::move(conf)};
}

#define ASSERT_OK(expression)                                        \
  do {                                                               \
    const auto& assert_ok = (expression);                            \
    ASSERT_TRUE(assert_ok.has_value()) << assert_ok.error().message; \
  } while (false)
#define EXPECT_OK(expression)                                        \
  do {                                                               \
    const auto& expect_ok = (expression);                            \
    EXPECT_TRUE(expect_ok.has_value()) << expect_ok.error().message; \
  } while (false)

// Durable, as the member that owns it has made it.
inline Result<void> MakeDataDirectory(FileSystem& fs) {
  KV_RETURN_IF_ERROR(fs.MakeDirectories("/data/member"));
  KV_RETURN_IF_ERROR(fs.SyncDirectory("/"));
  return fs.SyncDirectory("/data");
}

class LogFixture : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(MakeDataDirectory(fs_)); }

  void Create(Options options = SmallOptions()) {
    options_ = options;
    auto created = wal::Create(fs_, kDir, kMetadata, options_);
    ASSERT_OK(created);
    writer_ = std::move(*created);
  }
  void Append(const std::vector<raft::Entry>& entries) {
    ASSERT_OK(writer_->Append(entries, nullptr));
  }
  void Append(const std::vector<raft::Entry>& entries, const raft::HardState& state) {
    ASSERT_OK(writer_->Append(entries, &state));
  }
  void AppendAndSync(const std::vector<raft::Entry>& entries) {
    Append(entries);
    ASSERT_OK(writer_->Sync());
  }
  void AppendAndSync(const std::vector<raft::Entry>& entries, const raft::HardState& state) {
    Append(entries, state);
    ASSERT_OK(writer_->Sync());
  }
  Result<Opened> TryOpen(const SnapshotMarker& from = {}, const Needs& needs = {}) {
    writer_.reset();
    return wal::Open(fs_, kDir, from, options_, needs);
  }
  void Reopen(const SnapshotMarker& from = {}, const Needs& needs = {}) {
    auto opened = TryOpen(from, needs);
    ASSERT_OK(opened);
    writer_ = std::move(opened->writer);
    contents_ = std::move(opened->contents);
    torn_ = std::move(opened->torn);
  }

  std::vector<std::string> SegmentFiles() {
    std::vector<std::string> files;
    const auto segments = ListSegments(fs_, kDir).value();
    for (const SegmentName& name : segments) files.push_back(name.FileName());
    return files;
  }
  std::string Path(const std::string& file) { return std::string(kDir) + "/" + file; }
  std::string Bytes(const std::string& file) {
    return ReadWholeFile(fs_, Path(file), 1 << 30).value();
  }
  void Overwrite(const std::string& file, std::uint64_t offset, std::string_view bytes) {
    auto opened = fs_.Open(Path(file), FileSystem::OpenMode::kReadWrite);
    ASSERT_OK(opened);
    const std::string_view parts[] = {bytes};
    ASSERT_OK((*opened)->WriteAt(offset, parts));
    ASSERT_OK((*opened)->Sync());
  }
  void Truncate(const std::string& file, std::uint64_t size_bytes) {
    auto opened = fs_.Open(Path(file), FileSystem::OpenMode::kReadWrite);
    ASSERT_OK(opened);
    ASSERT_OK((*opened)->Truncate(size_bytes));
    ASSERT_OK((*opened)->Sync());
  }

  SimFileSystem fs_;
  Options options_;
  std::unique_ptr<Writer> writer_;
  Contents contents_;
  std::optional<TornTail> torn_;
};

}  // namespace kvorum::wal
