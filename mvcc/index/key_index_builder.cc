#include "mvcc/index/key_index_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/sort_head.h"
#include "mvcc/index/index_tree.h"
#include "mvcc/index/sorted_index_builder.h"
#include "mvcc/records/mapped_memory.h"

namespace kvorum::mvcc {
namespace {

// A record as chunks keep it, followed by the key.
struct Packed {
  std::int64_t main;
  std::int64_t created;
  std::int64_t version;
  std::uint32_t sub;
  std::uint32_t bits;  // key size, tombstone

  static constexpr std::uint32_t kTombstoneBit = 1U << 31;

  bool tombstone() const { return (bits & kTombstoneBit) != 0; }
  std::string_view key() const {
    return {reinterpret_cast<const char*>(this + 1), bits & ~kTombstoneBit};
  }
  std::size_t size_bytes() const { return SizeBytes(bits & ~kTombstoneBit); }
  static std::size_t SizeBytes(std::size_t key_bytes) {
    return (sizeof(Packed) + key_bytes + 7) / 8 * 8;
  }
};

// Packed records one after another, in mapped blocks that are returned to the system one by one.
class PackedList {
 public:
  // Room for a record of the size, at the end.
  Packed* Append(std::size_t size_bytes) {
    constexpr std::size_t kBlockBytes = 1024 * 1024;
    constexpr std::size_t kPageBytes = 4096;
    if (blocks_.empty() || blocks_.back().used + size_bytes > blocks_.back().memory.size()) {
      const std::size_t pages = (size_bytes + kPageBytes - 1) / kPageBytes;
      blocks_.push_back({MappedMemory(std::max(kBlockBytes, pages * kPageBytes))});
    }
    Block& block = blocks_.back();
    auto* record = reinterpret_cast<Packed*>(block.memory.data() + block.used);
    block.used += size_bytes;
    return record;
  }

  // The record at the front, or none.
  const Packed* front() const {
    if (first_ == blocks_.size()) return nullptr;
    return reinterpret_cast<const Packed*>(blocks_[first_].memory.data() + offset_);
  }
  void PopFront() {
    offset_ += front()->size_bytes();
    if (offset_ < blocks_[first_].used) return;
    blocks_[first_].memory = MappedMemory();
    ++first_;
    offset_ = 0;
  }

 private:
  struct Block {
    MappedMemory memory;
    std::size_t used = 0;
  };
  std::vector<Block> blocks_;
  std::size_t first_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace

struct KeyIndexBuilder::Chunk::Impl {
  struct Slot {
    std::uint64_t head;
    const Packed* record;
  };

  void Sort();

  PackedList records;
  std::vector<Slot> order;  // until it is sorted
  std::size_t size = 0;
  std::string first_key;
  std::size_t prefix = 0;  // bytes of first_key that all keys have
  Revision first;
  Revision last;
};

KeyIndexBuilder::Chunk::Chunk() : impl_(std::make_unique<Impl>()) {}
KeyIndexBuilder::Chunk::~Chunk() = default;

std::size_t KeyIndexBuilder::Chunk::size() const { return impl_->size; }

namespace {

// etcdutl's restore with --bump-revision leaves a record without content at the new revision. It
// has an entry like a key that cannot be read, so that compaction keeps the record, as etcd's does.
bool IsBump(const KeyIndexBuilder::Record& record) {
  return record.key.empty() && record.create_revision == 0 && record.version == 0 &&
         !record.tombstone;
}

}  // namespace

Result<void> KeyIndexBuilder::Check(const Record& record) {
  const Revision revision = record.revision;
  if (revision.main <= 0 || revision.main >= index::kNever - 1 || revision.sub < 0 ||
      revision.sub > std::numeric_limits<std::uint32_t>::max()) {
    return Fail(Code::kDataLoss, "the backend holds a revision that no store writes");
  }
  if (record.key.size() > index::Entry::kMaxKeyBytes) {
    return Fail(Code::kDataLoss, "the backend holds a key larger than any request");
  }
  if (IsBump(record)) return {};
  if (!record.tombstone && (record.create_revision <= 0 || record.create_revision > revision.main ||
                            record.version <= 0)) {
    return Fail(Code::kDataLoss, "the backend holds a record with impossible revisions");
  }
  return {};
}

Result<void> KeyIndexBuilder::Chunk::Add(const Record& record) {
  Impl& impl = *impl_;
  const Revision revision = record.revision;
  KV_RETURN_IF_ERROR(Check(record));
  if (impl.size > 0 && revision <= impl.last)
    return Fail(Code::kDataLoss, "the backend's revisions do not ascend");
  if (impl.size == 0) {
    impl.first = revision;
    impl.first_key = record.key;
    impl.prefix = record.key.size();
  } else {
    impl.prefix =
        index::CommonPrefix(std::string_view(impl.first_key).substr(0, impl.prefix), record.key);
  }
  impl.last = revision;
  ++impl.size;
  Packed* packed = impl.records.Append(Packed::SizeBytes(record.key.size()));
  *packed = {.main = revision.main,
             .created = IsBump(record) ? revision.main : record.create_revision,
             .version = IsBump(record) ? 1 : record.version,
             .sub = static_cast<std::uint32_t>(revision.sub),
             .bits = static_cast<std::uint32_t>(record.key.size()) |
                     (record.tombstone ? Packed::kTombstoneBit : 0U)};
  if (!record.key.empty())
    std::memcpy(reinterpret_cast<char*>(packed + 1), record.key.data(), record.key.size());
  impl.order.push_back({.head = 0, .record = packed});
  return {};
}

void KeyIndexBuilder::Chunk::Finish() { impl_->Sort(); }

void KeyIndexBuilder::Chunk::Impl::Sort() {
  for (Slot& slot : order) slot.head = SortHead(slot.record->key(), prefix);
  const auto before = [](const Slot& a, const Slot& b) {
    if (a.head != b.head) return a.head < b.head;
    if (const int keys = a.record->key().compare(b.record->key()); keys != 0) return keys < 0;
    return Revision{a.record->main, a.record->sub} < Revision{b.record->main, b.record->sub};
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::sort(order.begin(), order.end(), before);
    // Rewritten in that order: the merge then reads each chunk from front to back.
    PackedList sorted;
    for (const Slot& slot : order) {
      const std::size_t size_bytes = slot.record->size_bytes();
      std::memcpy(static_cast<void*>(sorted.Append(size_bytes)), slot.record, size_bytes);
    }
    records = std::move(sorted);
  }
  std::vector<Slot>().swap(order);
}

namespace {

// Merges the chunks' lists into one, in the order of keys and, for each key, of revisions.
class Merger {
 public:
  explicit Merger(std::size_t prefix) : prefix_(prefix) {}

  // In the order of revisions.
  void AddList(PackedList& list) {
    const Packed* front = list.front();
    if (front == nullptr) return;
    sources_.push_back({.head = SortHead(front->key(), prefix_),
                        .front = front,
                        .list = &list,
                        .number = sources_.size()});
  }
  void Start() {
    for (std::size_t i = sources_.size(); i-- > 0;) SiftDown(i);
  }
  const Packed* front() const { return sources_.empty() ? nullptr : sources_.front().front; }
  void PopFront() {
    Source& source = sources_.front();
    source.list->PopFront();
    source.front = source.list->front();
    if (source.front != nullptr) {
      source.head = SortHead(source.front->key(), prefix_);
    } else {
      source = sources_.back();
      sources_.pop_back();
    }
    if (!sources_.empty()) SiftDown(0);
  }

 private:
  struct Source {
    std::uint64_t head;
    const Packed* front;
    PackedList* list;
    std::size_t number;
  };

  static bool Before(const Source& a, const Source& b) {
    if (a.head != b.head) return a.head < b.head;
    if (const int keys = a.front->key().compare(b.front->key()); keys != 0) return keys < 0;
    return a.number < b.number;
  }
  void SiftDown(std::size_t at) {
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= sources_.size()) return;
      if (child + 1 < sources_.size() && Before(sources_[child + 1], sources_[child])) ++child;
      if (!Before(sources_[child], sources_[at])) return;
      std::swap(sources_[child], sources_[at]);
      at = child;
    }
  }

  std::size_t prefix_;
  std::vector<Source> sources_;  // a heap, the least first
};

}  // namespace

struct SortedRecords::Impl {
  Impl(std::vector<std::unique_ptr<KeyIndexBuilder::Chunk>> owned, std::size_t prefix,
       Revision newest_of_all)
      : chunks(std::move(owned)), merger(prefix), newest(newest_of_all) {}

  void Show() {
    packed = merger.front();
    if (packed == nullptr) return;
    record = {.key = packed->key(),
              .revision = {packed->main, packed->sub},
              .origin = {.created = packed->created, .version = packed->version},
              .tombstone = packed->tombstone()};
  }

  std::vector<std::unique_ptr<KeyIndexBuilder::Chunk>> chunks;
  Merger merger;
  const Revision newest;
  const Packed* packed = nullptr;
  index::RestoredRecord record{.key = {}, .revision = {}, .origin = {}, .tombstone = false};
};

SortedRecords::SortedRecords() = default;
SortedRecords::SortedRecords(SortedRecords&& other) noexcept = default;
SortedRecords& SortedRecords::operator=(SortedRecords&& other) noexcept = default;
SortedRecords::~SortedRecords() = default;

const index::RestoredRecord* SortedRecords::front() const {
  return impl_ == nullptr || impl_->packed == nullptr ? nullptr : &impl_->record;
}

void SortedRecords::PopFront() {
  impl_->merger.PopFront();
  impl_->Show();
}

Revision SortedRecords::newest() const {
  return impl_ == nullptr ? Revision{.main = 0, .sub = -1} : impl_->newest;
}

KeyIndexBuilder::KeyIndexBuilder() = default;
KeyIndexBuilder::~KeyIndexBuilder() = default;

KeyIndexBuilder::Chunk& KeyIndexBuilder::AddChunk() {
  return *chunks_.emplace_back(std::make_unique<Chunk>());
}

Result<SortedRecords> KeyIndexBuilder::Sort() {
  Revision newest{.main = 0, .sub = -1};
  std::string_view first_key;
  std::size_t prefix = 0;
  for (const auto& chunk : chunks_) {
    const Chunk::Impl& impl = *chunk->impl_;
    if (impl.size == 0) continue;
    if (impl.first <= newest) {
      return Fail(Code::kDataLoss, "the backend's revisions do not ascend");
    }
    if (newest.main == 0) {
      first_key = impl.first_key;
      prefix = impl.prefix;
    } else {
      prefix = index::CommonPrefix(first_key.substr(0, prefix),
                                   std::string_view(impl.first_key).substr(0, impl.prefix));
    }
    newest = impl.last;
  }
  SortedRecords sorted;
  sorted.impl_ = std::make_unique<SortedRecords::Impl>(std::move(chunks_), prefix, newest);
  chunks_.clear();
  for (const auto& chunk : sorted.impl_->chunks) {
    if (!chunk->impl_->order.empty()) chunk->Finish();
    sorted.impl_->merger.AddList(chunk->impl_->records);
  }
  sorted.impl_->merger.Start();
  sorted.impl_->Show();
  return sorted;
}

Result<std::unique_ptr<KeyIndex>> KeyIndexBuilder::Build(IndexMark mark) {
  KV_TRY(SortedRecords sorted, Sort());
  SortedIndexBuilder builder;
  for (; sorted.front() != nullptr; sorted.PopFront()) builder.Add(*sorted.front());
  return builder.Build(sorted.newest(), mark);
}

}  // namespace kvorum::mvcc
