#include "watch/event_batch.h"

#include <algorithm>
#include <cstring>

#include "api/event_fields.h"
#include "base/check.h"
#include "mvcc/records/key_value.h"
#include "proto/wire.h"

namespace kvorum::watch {
namespace {

using event_fields::kEvents;
using event_fields::kKv;
using event_fields::kPrevKv;
using event_fields::kType;
using event_fields::kTypeDelete;

// A slice keeps its whole chunk in memory, so chunks are small.
constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

mvcc::KeyValue DeletedKv(const Event& event) {
  mvcc::KeyValue kv;
  kv.key = event.key;
  kv.mod_revision = event.revision.main;
  return kv;
}

std::size_t KvSize(const Event& event) {
  return event.is_delete ? mvcc::EncodedSize(DeletedKv(event)) : event.record.size();
}

// The size of the Event message without tag and length.
std::size_t InnerSize(const Event& event, std::size_t previous_size) {
  return wire::UintFieldSize(kType, event.is_delete ? kTypeDelete : 0) +
         wire::LengthDelimitedSize(kKv, KvSize(event)) +
         wire::BytesFieldSize(kPrevKv, previous_size);
}

std::size_t EncodedSize(const Event& event, std::size_t previous_size) {
  return wire::LengthDelimitedSize(kEvents, InnerSize(event, previous_size));
}

char* Encode(const Event& event, std::string_view previous, char* out) {
  out = wire::WriteTag(out, kEvents, wire::Type::kLengthDelimited);
  out = wire::WriteVarint(out, InnerSize(event, previous.size()));
  if (event.is_delete) out = wire::WriteUint(out, kType, kTypeDelete);
  if (event.is_delete) {
    out = wire::WriteTag(out, kKv, wire::Type::kLengthDelimited);
    out = wire::WriteVarint(out, KvSize(event));
    out = mvcc::EncodeTo(DeletedKv(event), out);
  } else {
    out = wire::WriteBytes(out, kKv, event.record);
  }
  if (!previous.empty()) out = wire::WriteBytes(out, kPrevKv, previous);
  return out;
}

// The store has checked its own records already.
mvcc::KeyValue Decode(std::string_view record) {
  const auto kv = mvcc::DecodeKeyValue(record);
  KV_CHECK(kv.has_value(), "a record of the store is not a key-value pair");
  return *kv;
}

}  // namespace

EventBatch::EventBatch(const mvcc::PublishListener::Published& published,
                       PreviousBudget* previous_budget)
    : previous_budget_(previous_budget),
      first_revision_(published.first),
      last_revision_(published.last) {
  KV_CHECK(published.records.has_value(), "a batch is made of records");
  records_ = *published.records;
  records_.Scan({.main = published.first, .sub = 0}, [&](const mvcc::RevisionRecord& record) {
    if (record.revision.main > published.last) return false;
    Append(record.revision, record.tombstone, Decode(record.value).key, record.value);
    return true;
  });
}

EventBatch::EventBatch(std::int64_t first, PreviousBudget* previous_budget)
    : previous_budget_(previous_budget), first_revision_(first), last_revision_(first - 1) {}

EventBatch::~EventBatch() {
  if (previous_budget_ != nullptr) previous_budget_->GiveBack(previous_bytes_);
}

std::shared_ptr<const EventBatch> EventBatch::Copy(const EventBatch& of) {
  auto copy = std::make_shared<EventBatch>(of.first_revision_, of.previous_budget_);
  if (of.record_bytes_ > 0) copy->AddBlock(of.record_bytes_);
  copy->events_.reserve(of.size());
  copy->places_.reserve(of.size());
  for (const Event& event : of.events_) {
    copy->Add({.revision = event.revision, .value = event.record, .tombstone = event.is_delete});
  }
  copy->last_revision_ = of.last_revision_;
  return copy;
}

void EventBatch::AddBlock(std::size_t bytes) {
  block_room_bytes_ = bytes;
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
  block_next_ = blocks_.back().get();
}

std::uint32_t EventBatch::Add(const mvcc::RevisionRecord& record) {
  const std::size_t size = record.value.size();
  if (size > block_room_bytes_) AddBlock(std::max(size, kBlockBytes));
  if (size != 0) std::memcpy(block_next_, record.value.data(), size);
  const std::string_view copy(block_next_, size);
  block_next_ += size;
  block_room_bytes_ -= size;
  last_revision_ = record.revision.main;
  Append(record.revision, record.tombstone, Decode(copy).key, copy);
  return static_cast<std::uint32_t>(events_.size() - 1);
}

void EventBatch::Append(mvcc::Revision revision, bool is_delete, std::string_view key,
                        std::string_view record) {
  const Event& event = events_.emplace_back(
      Event{.revision = revision, .is_delete = is_delete, .key = key, .record = record});
  record_bytes_ += record.size();
  const std::size_t size = EncodedSize(event, 0);
  if (chunks_.empty() || chunks_.back().size_bytes + size > kChunkBytes)
    chunks_.push_back({.first_event = events_.size() - 1, .size_bytes = 0});
  const std::size_t begin = chunks_.back().size_bytes;
  chunks_.back().size_bytes += size;
  places_.push_back({.chunk = chunks_.size() - 1, .begin = begin, .end = begin + size});
}

EventBatch::Encoded EventBatch::Find(std::size_t i) const { return places_[i]; }

SharedBytes EventBatch::Chunk(std::size_t chunk) const {
  std::lock_guard lock(mutex_);
  encoded_.resize(chunks_.size());
  SharedBytes& bytes = encoded_[chunk];
  if (bytes.empty()) {
    const std::size_t end = chunk + 1 < chunks_.size() ? chunks_[chunk + 1].first_event : size();
    char* out = nullptr;
    bytes = SharedBytes::Allocate(chunks_[chunk].size_bytes, &out);
    for (std::size_t i = chunks_[chunk].first_event; i < end; ++i)
      out = Encode(events_[i], {}, out);
    KV_CHECK(out == bytes.data() + bytes.size(), "an event's encoded size is wrong");
  }
  return bytes;
}

SharedBytes EventBatch::WithPrevious(std::size_t i, PreviousValues& previous) const {
  {
    std::lock_guard lock(mutex_);
    if (i < with_previous_.size() && !with_previous_[i].empty()) return with_previous_[i];
  }
  const Event& event = events_[i];
  std::string_view value;
  const bool creates =
      !event.is_delete && Decode(event.record).create_revision == event.revision.main;
  if (!creates) value = previous.Find(event.key, event.revision.main - 1);
  const std::size_t size_bytes = EncodedSize(event, value.size());
  if (previous_budget_ != nullptr && !previous_budget_->Take(size_bytes)) return {};
  char* out = nullptr;
  SharedBytes bytes = SharedBytes::Allocate(size_bytes, &out);
  Encode(event, value, out);
  std::lock_guard lock(mutex_);
  with_previous_.resize(size());
  if (with_previous_[i].empty()) {
    with_previous_[i] = std::move(bytes);
    previous_bytes_ += size_bytes;
  } else if (previous_budget_ != nullptr) {  // another thread was faster
    previous_budget_->GiveBack(size_bytes);
  }
  return with_previous_[i];
}

void EventBatch::DropPrevious() const {
  std::lock_guard lock(mutex_);
  with_previous_.clear();
  if (previous_budget_ != nullptr) previous_budget_->GiveBack(previous_bytes_);
  previous_bytes_ = 0;
}

}  // namespace kvorum::watch
