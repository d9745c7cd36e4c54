// The key index compared with its model under random operations. A history that fails, by an answer
// or by an abort, is shrunk before it is shown. Built for the production fan-out and, so that small
// histories make high trees, for a fan-out of 4.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "mvcc/index/key_index.h"
#include "mvcc/records/look_ahead.h"
#include "tests/mvcc/key_index_model.h"
#include "tests/shrink.h"

namespace kvorum::mvcc {
namespace {

struct IndexOperation {
  enum Kind {
    kPut,
    kTombstone,
    kNextRevision,  // the next changes belong to another transaction
    kPublish,
    kTakeSnapshot,
    kDropSnapshot,
    kReadSnapshot,
    kReadWorking,
    kCompact,  // makes `a` back from the newest the compacted revision
    kCompactStep,
    kReclaim,
    kCheckKept,
  };
  Kind kind;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};
using IndexOperations = std::vector<IndexOperation>;

// Keys of all shapes: common prefixes of any length, prefixes of each other, zero and 0xff bytes,
// now and then one that is larger than the arena's slabs take, and some around the size up to which
// an entry is narrow.
std::string ShapedKeyOf(std::uint64_t number) {
  switch (number % 8) {
    case 0:
    case 1:
    case 2:
      return "/registry/pods/" + std::to_string(number);
    case 3:
      return std::string(number % 61, '\0');
    case 4:
      return std::string(1 + number % 13, '\xff') + static_cast<char>(number % 256);
    case 5:
      return std::to_string(number);
    case 6:
      return std::string(1 + number % 7, static_cast<char>('a' + number % 26));
    default: {
      std::size_t size = number % 24;
      if (number % 50 == 7) size = 5000;
      if (number % 50 == 23) size = 2029 + number % 3;
      return "/registry/pods/" + std::string(size, 'p') + std::to_string(number);
    }
  }
}

// Revisions begin here, sub revisions in each transaction anew: entries are narrow up to a main
// revision and up to a sub revision, which a history may cross.
struct Start {
  std::int64_t main = 2;
  std::int64_t sub = 0;
};

class IndexReplay {
 public:
  explicit IndexReplay(const Start& start) : start_(start) {}

  // The failure, or nothing.
  std::optional<std::string> Run(const IndexOperations& operations) {
    for (const IndexOperation& operation : operations) {
      if (auto wrong = Do(operation)) return wrong;
      index_.CheckInvariants();
    }
    while (!snapshots_.empty()) {
      if (auto wrong = ReadSnapshot(0, 1)) return wrong;
      snapshots_.pop_front();
    }
    return Drain();
  }

 private:
  struct Held {
    IndexSnapshot snapshot;
    std::int64_t floor;  // the compacted revision when it was published
  };

  std::optional<std::string> Do(const IndexOperation& operation) {
    switch (operation.kind) {
      case IndexOperation::kPut:
        return Put(ShapedKeyOf(operation.a));
      case IndexOperation::kTombstone:
        return Tombstone(ShapedKeyOf(operation.a));
      case IndexOperation::kNextRevision:
        if (sub_ > start_.sub) NextRevision();
        return std::nullopt;
      case IndexOperation::kPublish:
        Publish();
        return std::nullopt;
      case IndexOperation::kTakeSnapshot:
        if (snapshots_.size() < 12) snapshots_.push_back({index_.Snapshot(), published_floor_});
        return std::nullopt;
      case IndexOperation::kDropSnapshot:
        if (!snapshots_.empty()) {
          snapshots_.erase(snapshots_.begin() +
                           static_cast<std::ptrdiff_t>(operation.a % snapshots_.size()));
        }
        return std::nullopt;
      case IndexOperation::kReadSnapshot:
        return snapshots_.empty() ? std::nullopt : ReadSnapshot(operation.a, operation.b);
      case IndexOperation::kReadWorking:
        return Read(index_.working(), Floor(floor_), main_, operation.a, operation.b);
      case IndexOperation::kCompact:
        Compact(main_ - static_cast<std::int64_t>(operation.a));
        return std::nullopt;
      case IndexOperation::kCompactStep:
        return CompactStep(operation.a);
      case IndexOperation::kReclaim:
        index_.Reclaim(operation.a);
        return std::nullopt;
      case IndexOperation::kCheckKept:
        return CheckKept(ShapedKeyOf(operation.a), operation.b);
    }
    return "an operation of unknown kind";
  }

  std::optional<std::string> Put(const std::string& key) {
    const std::optional<Revision> lived =
        model_.Get(key, main_).transform([](const auto& change) { return change.revision; });
    const auto expected = model_.Put(key, {main_, sub_});
    const auto result = index_.Put(key, {main_, sub_++});
    if (result.created != expected.created || result.version != expected.version ||
        result.previous != lived) {
      return "Put says otherwise what the key is";
    }
    return std::nullopt;
  }

  std::optional<std::string> Tombstone(const std::string& key) {
    const auto expected = model_.Tombstone(key, {main_, sub_});
    if (index_.Tombstone(key, {main_, sub_++}) != expected) return "Tombstone says otherwise";
    return std::nullopt;
  }

  // The store publishes between transactions, too.
  void Publish() {
    index_.Publish({.current_revision = main_, .compact_revision = floor_});
    published_floor_ = floor_;
    NextRevision();
  }

  void NextRevision() {
    ++main_;
    sub_ = start_.sub;
  }

  // Revisions below hold nothing, unless it was compacted.
  std::int64_t Floor(std::int64_t compacted) const { return std::max(compacted, start_.main - 2); }

  void Compact(std::int64_t revision) {
    if (compacting_ || revision <= floor_ || revision < 1) return;
    // Nothing may be added to the compacted revision any more.
    if (revision == main_) NextRevision();
    floor_ = revision;
    compacting_ = true;
    progress_.next_key.clear();
    progress_.done = false;
  }

  std::optional<std::string> CompactStep(std::uint64_t max_entries) {
    if (!compacting_) return std::nullopt;
    index_.CompactStep(floor_, max_entries, progress_);
    if (!progress_.done) return std::nullopt;
    compacting_ = false;
    std::uint64_t all = 0;
    for (const auto& [key, changes] : model_.keys()) all += changes.size();
    const std::uint64_t left = model_.RevisionsAfterCompaction(floor_);
    if (progress_.revisions_dropped != all - left) return "a compaction drops more or less";
    return std::nullopt;
  }

  std::optional<std::string> ReadSnapshot(std::uint64_t a, std::uint64_t b) {
    const Held& held = snapshots_[a % snapshots_.size()];
    const std::int64_t newest = held.snapshot.mark().current_revision;
    if (held.snapshot.mark().compact_revision != held.floor) return "a mark has changed";
    return Read(held.snapshot.view(), Floor(held.floor), newest, a, b);
  }

  std::optional<std::string> Read(const IndexView& view, std::int64_t floor, std::int64_t newest,
                                  std::uint64_t a, std::uint64_t b) {
    if (floor > newest) return std::nullopt;
    const auto revision =
        b % 3 == 0
            ? std::int64_t{0}
            : floor + static_cast<std::int64_t>(b % static_cast<std::uint64_t>(newest - floor + 1));
    const std::string begin = a % 4 == 0 ? "" : ShapedKeyOf(a);
    const std::string end =
        b % 4 == 0 ? std::string(1, '\0') : (b % 17 == 1 ? "" : ShapedKeyOf(b / 4));
    const auto wrong = Difference(view, model_, KeyRange(begin, end), revision, newest);
    if (wrong.has_value()) {
      return *wrong + " at revision " + std::to_string(revision) + " of " + std::to_string(newest);
    }
    return LookAhead(view, a, b);
  }

  // Several at once find what each by itself does.
  static std::optional<std::string> LookAhead(const IndexView& view, std::uint64_t a,
                                              std::uint64_t b) {
    std::vector<std::string> keys;
    std::vector<Revision> expected;
    for (std::uint64_t i = 0; i < b % (kMostAhead + 1); ++i) {
      keys.push_back(i % 5 == 4 ? "" : ShapedKeyOf(a + i * (b % 97)));
      if (const auto item = view.Get(keys.back(), 0)) expected.push_back(item->modified);
    }
    const std::vector<std::string_view> asked(keys.begin(), keys.end());
    std::array<Revision, kMostAhead> newest;
    const std::size_t count = view.LookAhead(asked, newest);
    if (!std::ranges::equal(std::span(newest).first(count), expected))
      return "a look ahead finds other revisions";
    return std::nullopt;
  }

  std::optional<std::string> CheckKept(const std::string& key, std::uint64_t b) {
    const auto found = model_.keys().find(key);
    const std::int64_t floor = Floor(floor_);
    const std::int64_t at =
        floor + static_cast<std::int64_t>(
                    b % static_cast<std::uint64_t>(std::max<std::int64_t>(main_ - floor, 0) + 1));
    if (found == model_.keys().end()) return std::nullopt;
    for (const auto& change : found->second) {
      for (const KeepRule rule : {KeepRule::kCompaction, KeepRule::kHash}) {
        if (index_.working().IsKept(key, change.revision, at, rule) !=
            model_.IsKept(key, change.revision, at, rule)) {
          return "IsKept says otherwise";
        }
      }
    }
    return std::nullopt;
  }

  // With all snapshots gone nothing that was retired remains.
  std::optional<std::string> Drain() {
    Publish();
    while (index_.Reclaim(1000)) {
    }
    const auto stats = index_.stats();
    if (stats.retired_objects != 0 || stats.snapshots_seen != 1) return "something is never freed";
    return std::nullopt;
  }

  const Start start_;
  KeyIndex index_;
  KeyIndexModel model_;
  std::int64_t main_ = start_.main;
  std::int64_t sub_ = start_.sub;
  std::int64_t floor_ = -1;
  std::int64_t published_floor_ = -1;
  bool compacting_ = false;
  KeyIndex::CompactProgress progress_;
  std::deque<Held> snapshots_;  // dropped before the index
};

IndexOperations RandomIndexOperations(std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  // Small pools make long histories, large ones high trees.
  const std::uint64_t keys = std::uint64_t{1} << (2 + rng.Below(10));
  const std::uint64_t writes = 40 + rng.Below(50);
  IndexOperations operations;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t dice = rng.Below(100);
    IndexOperation operation{.kind = IndexOperation::kPut, .a = rng.Below(keys), .b = rng()};
    if (dice >= writes) {
      static constexpr IndexOperation::Kind kOthers[] = {
          IndexOperation::kPublish,      IndexOperation::kTakeSnapshot,
          IndexOperation::kDropSnapshot, IndexOperation::kReadSnapshot,
          IndexOperation::kReadWorking,  IndexOperation::kCompact,
          IndexOperation::kCompactStep,  IndexOperation::kReclaim,
          IndexOperation::kCheckKept,    IndexOperation::kCompactStep,
          IndexOperation::kReadSnapshot};
      operation.kind = kOthers[rng.Below(std::size(kOthers))];
      if (operation.kind == IndexOperation::kCompact) operation.a = rng.Below(1 + rng.Below(200));
      if (operation.kind == IndexOperation::kCompactStep)
        operation.a = rng.Below(1 + rng.Below(400));
      if (operation.kind == IndexOperation::kReclaim) operation.a = rng.Below(20);
    } else if (rng.OneIn(3)) {
      operation.kind = IndexOperation::kTombstone;
    } else if (rng.OneIn(3)) {
      operation.kind = IndexOperation::kNextRevision;
    }
    operations.push_back(operation);
  }
  return operations;
}

// In a child process: an invariant that does not hold aborts.
bool IndexGoesWell(const Start& start, const IndexOperations& operations, bool quiet) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (quiet) std::freopen("/dev/null", "w", stderr);
    const auto wrong = IndexReplay(start).Run(operations);
    if (wrong.has_value()) std::fprintf(stderr, "%s\n", wrong->c_str());
    std::fflush(nullptr);
    ::_exit(wrong.has_value() ? 1 : 0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string PrintIndexOperations(const IndexOperations& operations) {
  static constexpr const char* kNames[] = {
      "Put",          "Tombstone",   "NextRevision", "Publish",     "TakeSnapshot", "DropSnapshot",
      "ReadSnapshot", "ReadWorking", "Compact",      "CompactStep", "Reclaim",      "CheckKept"};
  std::ostringstream out;
  for (const IndexOperation& operation : operations) {
    out << "  " << kNames[operation.kind] << " " << operation.a << " " << operation.b << "\n";
  }
  return out.str();
}

class KeyIndexProperty : public ::testing::TestWithParam<int> {};

TEST_P(KeyIndexProperty, AnswersLikeTheModelUnderRandomOperations) {
  // Other histories: KVORUM_SEED=n.
  const char* seed_text = std::getenv("KVORUM_SEED");
  const std::uint64_t base = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 1;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const std::uint64_t seed = base * 1'000'000 + static_cast<std::uint64_t>(GetParam()) * 1000 + i;
    const IndexOperations operations = RandomIndexOperations(seed, 900);
    const Start start{.main = i % 2 == 0 ? 2 : (std::int64_t{1} << 42) - 60,
                      .sub = i % 3 == 0 ? 124 : 0};
    if (IndexGoesWell(start, operations, /*quiet=*/true)) continue;
    const IndexOperations shrunk = Shrink(operations, [&](const IndexOperations& fewer) {
      return IndexGoesWell(start, fewer, /*quiet=*/true);
    });
    IndexGoesWell(start, shrunk, /*quiet=*/false);
    FAIL() << "seed " << seed << ", from revision " << start.main << "/" << start.sub
           << " on, goes wrong; what is left of it after shrinking:\n"
           << PrintIndexOperations(shrunk);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeyIndexProperty, ::testing::Range(0, 6));

}  // namespace
}  // namespace kvorum::mvcc
