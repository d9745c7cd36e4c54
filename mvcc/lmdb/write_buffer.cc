#include "mvcc/lmdb/write_buffer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"

namespace kvorum::mvcc {
namespace {

constexpr std::size_t kSegmentRecords = 4096;
constexpr std::size_t kSegmentBytes = std::size_t{4} << 20;
constexpr std::size_t kFirstBlockBytes = std::size_t{16} << 10;
constexpr std::size_t kLargestBlockBytes = std::size_t{256} << 10;
// The overhead of a bucket change beside its bytes: a node of the map and two strings.
constexpr std::size_t kChangeOverheadBytes = 128;

}  // namespace

// Records and the memory of their values; only grows. The apply executor writes after the records
// that any View shows, so it shares only finished records with readers.
class WriteBuffer::Segment {
 public:
  explicit Segment(std::uint64_t first_sequence)
      : first_sequence_(first_sequence),
        records_(static_cast<RevisionRecord*>(
            ::operator new(kSegmentRecords * sizeof(RevisionRecord)))) {}
  ~Segment() { ::operator delete(records_); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  bool HasRoom(std::size_t value_size_bytes) const {
    return size_ == 0 ||
           (size_ < kSegmentRecords && used_bytes_ + value_size_bytes <= kSegmentBytes);
  }

  char* Append(Revision revision, bool tombstone, std::size_t size_bytes) {
    char* value = Reserve(size_bytes);
    new (records_ + size_) RevisionRecord{revision, {value, size_bytes}, tombstone};
    ++size_;
    return value;
  }

  std::uint64_t first_sequence() const { return first_sequence_; }
  Revision first_revision() const { return records_->revision; }
  // The first `count` records, which the caller knows to be finished.
  std::span<const RevisionRecord> Records(std::size_t count) const { return {records_, count}; }

 private:
  char* Reserve(std::size_t size_bytes) {
    if (size_bytes > block_room_) {
      block_size_ = std::clamp(block_size_ * 2, kFirstBlockBytes, kLargestBlockBytes);
      const std::size_t size = std::max(block_size_, size_bytes);
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
      block_next_ = blocks_.back().get();
      block_room_ = size;
    }
    char* result = block_next_;
    block_next_ += size_bytes;
    block_room_ -= size_bytes;
    used_bytes_ += size_bytes;
    return result;
  }

  const std::uint64_t first_sequence_;
  RevisionRecord* const records_;
  std::size_t size_ = 0;
  std::size_t used_bytes_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* block_next_ = nullptr;
  std::size_t block_room_ = 0;
  std::size_t block_size_ = 0;
};

namespace {

// The finished records of segment i when `end` is the sequence number after the last one.
template <class Segments>
std::span<const RevisionRecord> RecordsOf(const Segments& segments, std::size_t i,
                                          std::uint64_t end) {
  const std::uint64_t first = segments[i]->first_sequence();
  const std::uint64_t next = i + 1 < segments.size() ? segments[i + 1]->first_sequence() : end;
  return segments[i]->Records(std::min(next, end) - first);
}

// The segment that would hold the revision.
template <class Segments>
std::size_t SegmentOf(const Segments& segments, Revision revision) {
  const auto after = std::ranges::upper_bound(
      segments, revision, {}, [](const auto& segment) { return segment->first_revision(); });
  return after == segments.begin() ? 0 : static_cast<std::size_t>(after - segments.begin()) - 1;
}

// Main revisions have no gap and at least one record each. So the position of a record is at least
// the difference of its main revision to the first one; with one record each it is equal.
const RevisionRecord* LowerBound(std::span<const RevisionRecord> records, Revision revision) {
  std::size_t low = 0;
  std::size_t high = records.size();
  if (!records.empty() && revision.main > records[0].revision.main) {
    const auto guess = static_cast<std::size_t>(revision.main - records[0].revision.main);
    if (guess < high && records[guess].revision <= revision) low = guess;
  }
  for (std::size_t step = 1; low + step < high; step *= 2) {
    if (records[low + step].revision > revision) {
      high = low + step;
      break;
    }
    low += step;
  }
  return std::lower_bound(
      records.data() + low, records.data() + high, revision,
      [](const RevisionRecord& record, Revision r) { return record.revision < r; });
}

template <class Segments>
const RevisionRecord* FindIn(const Segments& segments, std::uint64_t end, Revision revision) {
  if (segments.empty()) return nullptr;
  const auto records = RecordsOf(segments, SegmentOf(segments, revision), end);
  const RevisionRecord* found = LowerBound(records, revision);
  const bool hit = found != records.data() + records.size() && found->revision == revision;
  return hit ? found : nullptr;
}

}  // namespace

const RevisionRecord* WriteBuffer::View::Find(Revision revision) const {
  return segments_ == nullptr ? nullptr : FindIn(*segments_, end_, revision);
}

void WriteBuffer::View::Scan(Revision from,
                             const std::function<bool(const RevisionRecord&)>& visit) const {
  if (segments_ == nullptr || segments_->empty()) return;
  for (std::size_t i = SegmentOf(*segments_, from); i < segments_->size(); ++i) {
    const auto records = RecordsOf(*segments_, i, end_);
    const RevisionRecord* const end = records.data() + records.size();
    for (const RevisionRecord* record = LowerBound(records, from); record != end; ++record) {
      if (!visit(*record)) return;
    }
  }
}

const RevisionRecord* WriteBuffer::View::First() const {
  if (segments_ == nullptr || segments_->empty()) return nullptr;
  const auto records = RecordsOf(*segments_, 0, end_);
  return records.empty() ? nullptr : records.data();
}

WriteBuffer::WriteBuffer(const Options& options)
    : limit_bytes_(options.limit_bytes), segments_(std::make_shared<SegmentList>()) {}

WriteBuffer::~WriteBuffer() = default;

void WriteBuffer::OpenSegment() {
  writing_.push_back(std::make_shared<Segment>(next_sequence_));
  ++new_segments_;
}

char* WriteBuffer::Append(Revision revision, bool tombstone, std::size_t size_bytes) {
  KV_CHECK(revision > last_revision_, "revisions are appended in ascending order");
  last_revision_ = revision;
  const bool rotate = rotate_.load(std::memory_order_relaxed);
  if (rotate || writing_.empty() || !writing_.back()->HasRoom(size_bytes)) {
    if (rotate) rotate_.store(false, std::memory_order_relaxed);
    OpenSegment();
  }
  ++next_sequence_;
  staged_bytes_ += size_bytes + sizeof(RevisionRecord);
  return writing_.back()->Append(revision, tombstone, size_bytes);
}

const RevisionRecord* WriteBuffer::FindStaged(Revision revision) const {
  return FindIn(writing_, next_sequence_, revision);
}

WriteBuffer::View WriteBuffer::StagedView() const {
  return {std::make_shared<const SegmentList>(writing_.begin(), writing_.end()), next_sequence_};
}

WriteBuffer::Waiting WriteBuffer::Publish(std::uint64_t consistent_index) {
  for (const auto& [key, value] : staged_changes_.map()) {
    staged_bytes_ += key.key.size() + (value ? value->size() : 0) + kChangeOverheadBytes;
  }
  Waiting waiting;
  {
    std::lock_guard lock(mutex_);
    if (new_segments_ != 0) {
      auto list = std::make_shared<SegmentList>(*segments_);
      list->insert(list->end(), writing_.end() - static_cast<std::ptrdiff_t>(new_segments_),
                   writing_.end());
      segments_ = std::move(list);
    }
    published_end_ = next_sequence_;
    published_index_ = consistent_index;
    published_changes_.Merge(std::move(staged_changes_));
    untaken_bytes_ += staged_bytes_;
    // Inside the lock: Release subtracts under it, and may do so right after.
    pending_bytes_.fetch_add(staged_bytes_, std::memory_order_relaxed);
    waiting = {.operations = published_end_ - untaken_begin_ + published_changes_.size(),
               .bytes = untaken_bytes_};
  }
  if (writing_.size() > 1) writing_.erase(writing_.begin(), writing_.end() - 1);
  new_segments_ = 0;
  staged_bytes_ = 0;
  return waiting;
}

WriteBuffer::View WriteBuffer::CurrentView() const {
  std::lock_guard lock(mutex_);
  return {segments_, published_end_};
}

void WriteBuffer::WhenRoom(std::move_only_function<void()> resume) {
  {
    std::lock_guard lock(mutex_);
    if (PendingBytes() > limit_bytes_ / 2) {
      KV_CHECK(!resume_, "two waiters for room in the buffer");
      resume_ = std::move(resume);
      return;
    }
  }
  resume();
}

WriteBuffer::Taken WriteBuffer::Take() {
  Taken taken;
  std::shared_ptr<const SegmentList> segments;
  std::uint64_t begin = 0;
  {
    std::lock_guard lock(mutex_);
    segments = segments_;
    begin = std::exchange(untaken_begin_, published_end_);
    taken.end = published_end_;
    taken.batch.changes = std::exchange(published_changes_, {});
    taken.consistent_index = std::exchange(published_index_, std::nullopt);
    taken.bytes = std::exchange(untaken_bytes_, 0);
  }
  taken.operations = taken.end - begin + taken.batch.changes.size();
  if (begin == taken.end) return taken;
  rotate_.store(true, std::memory_order_relaxed);
  for (std::size_t i = 0; i < segments->size(); ++i) {
    const std::uint64_t first = (*segments)[i]->first_sequence();
    auto records = RecordsOf(*segments, i, taken.end);
    records = records.subspan(begin > first ? std::min(begin - first, records.size()) : 0);
    if (!records.empty()) taken.batch.appends.push_back(records);
  }
  return taken;
}

void WriteBuffer::Release(const Taken& taken) {
  std::shared_ptr<const SegmentList> dropped;  // freed after the lock
  std::move_only_function<void()> resume;
  {
    std::lock_guard lock(mutex_);
    std::size_t durable = 0;
    while (durable + 1 < segments_->size() &&
           (*segments_)[durable + 1]->first_sequence() <= taken.end) {
      ++durable;
    }
    if (durable != 0) {
      dropped = std::move(segments_);
      segments_ = std::make_shared<SegmentList>(
          dropped->begin() + static_cast<std::ptrdiff_t>(durable), dropped->end());
    }
    const std::uint64_t pending =
        pending_bytes_.fetch_sub(taken.bytes, std::memory_order_relaxed) - taken.bytes;
    if (pending <= limit_bytes_ / 2) resume = std::exchange(resume_, nullptr);
  }
  if (resume) resume();
}

}  // namespace kvorum::mvcc
