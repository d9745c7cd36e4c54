// A cluster's committed log, and members of it as an archive sees them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "archive/ship/archived_member.h"
#include "base/clock.h"
#include "wal/marker.h"

namespace kvorum::archive {

// The truth: what was committed, and when the first member had it.
struct CommittedLog {
  std::vector<raft::Entry> entries;  // from index 1 on
  std::vector<std::int64_t> revisions;
  std::vector<UnixMillis> times_ms;  // 0: no member has applied it yet

  raft::Index last() const { return raft::Index{entries.size()}; }
  const raft::Entry& At(raft::Index index) const { return entries.at(index.value() - 1); }
  std::int64_t RevisionAt(raft::Index index) const {
    return index == 0 ? 1 : revisions.at(index.value() - 1);
  }
  void Add(std::uint64_t count, std::uint64_t term, std::size_t size_bytes = 20) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const raft::Index index = last() + 1;
      std::string data = "entry " + std::to_string(index.value()) + " of term " +
                         std::to_string(term) + " ";
      if (data.size() < size_bytes) data.append(size_bytes - data.size(), 'x');
      const std::int64_t before = RevisionAt(index - 1);
      entries.push_back(
          {.term = raft::Term{term}, .index = index, .data = SharedBytes::Own(std::move(data))});
      revisions.push_back(before + (index.value() % 3 == 0 ? 0 : 1));
      times_ms.push_back(0);
    }
  }
};

inline std::string ImageBytes(raft::Index index, std::int64_t revision, std::size_t size_bytes) {
  std::string bytes;
  while (bytes.size() < size_bytes)
    bytes += "index " + std::to_string(index.value()) + " revision " + std::to_string(revision) +
             " at " + std::to_string(bytes.size()) + "\n";
  return bytes;
}

// Thread-safe once it is set up, as the real one is.
class FakeMember final : public ArchivedMember {
 public:
  FakeMember(CommittedLog& log, const Clock& clock, std::uint64_t cluster_id = 9,
             std::uint64_t member_id = 1)
      : log_(log),
        clock_(clock),
        identity_{.cluster_id = cluster_id,
                  .member_id = member_id,
                  .wal_metadata =
                      wal::Encode(wal::Metadata{.node_id = raft::MemberId{member_id},
                                                .cluster_id = cluster_id}),
                  .departure = std::nullopt} {
    marks_.push_back({.index = 0, .time_ms = Now(), .revision = 1});
  }

  void Lead(bool leads = true) { leads_ = leads; }
  void Depart(Departure departure) { identity_.departure = std::move(departure); }
  // Up to there, or all that is committed, with one mark at the end.
  void Apply(raft::Index to = 0) {
    const std::lock_guard lock(mutex_);
    if (to == 0) to = log_.last();
    if (to <= marks_.back().index) return;
    for (raft::Index index = marks_.back().index + 1; index <= to; ++index) {
      UnixMillis& time_ms = log_.times_ms.at(index.value() - 1);
      if (time_ms == 0) time_ms = Now();
    }
    marks_.push_back({.index = to, .time_ms = Now(), .revision = log_.RevisionAt(to)});
  }
  // Only the last mark is known then.
  void Restart() {
    const std::lock_guard lock(mutex_);
    marks_.erase(marks_.begin(), marks_.end() - 1);
    marks_.back().time_ms = Now();
    leads_ = false;
  }
  void TrimBefore(raft::Index first) {
    const std::lock_guard lock(mutex_);
    first_ = std::max(first_, first);
  }
  raft::Index applied() {
    const std::lock_guard lock(mutex_);
    return marks_.back().index;
  }
  raft::Index kept_behind() const { return kept_behind_.load(); }
  std::size_t image_size_bytes = 1'000;
  std::atomic<int> images_that_fail = 0;  // of so many, the reader's place is needed
  std::atomic<int> looks = 0;

  const Identity& identity() const override { return identity_; }
  bool IsLeader() const override { return leads_; }
  std::vector<TimeMark> MarksBehind(raft::Index index, std::size_t limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<TimeMark> behind;
    for (const TimeMark& mark : marks_) {
      if (mark.index > index && behind.size() < limit) behind.push_back(mark);
    }
    return behind;
  }
  TimeMark NewestMark() override {
    const std::lock_guard lock(mutex_);
    return marks_.back();
  }
  Result<std::vector<raft::Entry>> Read(raft::Index from, raft::Index to,
                                        std::size_t max_size_bytes) override {
    const std::lock_guard lock(mutex_);
    EXPECT_LE(to, marks_.back().index) << "an entry that is not applied";
    if (from < first_) return Fail(Code::kNotFound, "the log begins later");
    std::vector<raft::Entry> entries;
    std::size_t size_bytes = 0;
    for (; from <= to && size_bytes < max_size_bytes; ++from) {
      entries.push_back(log_.At(from));
      size_bytes += entries.back().data.size();
    }
    return entries;
  }
  Result<raft::Index> FirstIndex() override {
    const std::lock_guard lock(mutex_);
    return first_;
  }
  Result<std::unique_ptr<ImageSource>> OpenImage() override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<Image>(*this, marks_.back());
  }
  void KeepBehind(raft::Index index) override { kept_behind_ = index; }

 private:
  class Image final : public ImageSource {
   public:
    Image(FakeMember& member, const TimeMark& mark)
        : member_(member),
          mark_(mark),
          term_(mark.index == 0 ? raft::Term{0} : member.log_.At(mark.index).term),
          bytes_(ImageBytes(mark.index, mark.revision, member.image_size_bytes)) {}

    raft::Index index() const override { return mark_.index; }
    raft::Term term() const override { return term_; }
    std::int64_t revision() const override { return mark_.revision; }
    Result<SharedBytes> Next() override {
      if (at_ >= bytes_.size() / 2 && member_.images_that_fail > 0) {
        --member_.images_that_fail;
        return Fail(Code::kUnavailable, "the reader's place was needed");
      }
      const std::size_t size = std::min(bytes_.size() - at_, std::size_t{900});
      const SharedBytes piece = SharedBytes::Copy(std::string_view(bytes_).substr(at_, size));
      at_ += size;
      return piece;
    }
    Result<void> Look() override {
      ++member_.looks;
      return {};
    }

   private:
    FakeMember& member_;
    const TimeMark mark_;
    const raft::Term term_;
    const std::string bytes_;
    std::size_t at_ = 0;
  };

  UnixMillis Now() const { return clock_.WallNanos() / 1'000'000; }

  CommittedLog& log_;
  const Clock& clock_;
  Identity identity_;
  std::mutex mutex_;
  std::vector<TimeMark> marks_;
  raft::Index first_ = 1;
  std::atomic<bool> leads_ = false;
  std::atomic<raft::Index> kept_behind_ = raft::Index{0};
};

}  // namespace kvorum::archive
