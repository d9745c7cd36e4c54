#include "mvcc/index/index_file_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "mvcc/index/key_index_builder.h"
#include "mvcc/index/sorted_index_builder.h"

namespace kvorum::mvcc {
namespace {

std::unexpected<Error> DamagedIndex(std::string_view what) {
  return Fail(Code::kDataLoss, std::string(what));
}

// Takes numbers and bytes off a block's payload. Once something is missing, everything is.
class Payload {
 public:
  explicit Payload(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }

  std::uint64_t Varint() {
    if (at_ != end_ && static_cast<signed char>(*at_) >= 0) [[likely]]
      return static_cast<unsigned char>(*at_++);
    return LongVarint();
  }
  std::string_view Bytes(std::uint64_t size) {
    if (size > static_cast<std::uint64_t>(end_ - at_)) {
      Fail();
      return {};
    }
    const std::string_view bytes(at_, static_cast<std::size_t>(size));
    at_ += size;
    return bytes;
  }
  void Fail() {
    ok_ = false;
    at_ = end_;
  }

 private:
  std::uint64_t LongVarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

// Decodes the keys of one block after another into the builder, each with its later records.
class Decoder {
 public:
  Decoder(const IndexBinding& file, const IndexedState& state, SortedRecords later)
      : newest_revision_(file.revision),
        compact_revision_(state.compact_revision),
        later_(std::move(later)),
        newest_(later_.newest()) {}

  Result<void> AddBlock(std::string_view bytes) {
    Payload payload(bytes);
    is_first_in_block_ = true;
    if (payload.AtEnd()) return DamagedIndex("a block of it is empty");
    while (!payload.AtEnd()) KV_RETURN_IF_ERROR(AddKey(payload));
    return {};
  }
  // Behind the last block.
  Result<void> AddRest() {
    while (later_.front() != nullptr) KV_RETURN_IF_ERROR(AddNewKey());
    return {};
  }

  std::uint64_t keys() const { return keys_; }
  std::uint64_t revisions() const { return revisions_; }

  LoadedIndex Build(const IndexedState& state) {
    LoadedIndex loaded;
    loaded.index = builder_.Finish(newest_);
    KeyIndex::CompactProgress compacted;
    while (!compacted.done && state.compact_revision >= 0)
      loaded.index->CompactStep(state.compact_revision, kEntriesPerStep, compacted);
    loaded.index->Publish(
        {.current_revision = state.revision, .compact_revision = state.compact_revision});
    loaded.attachments = std::move(attachments_);
    loaded.revisions = added_ - compacted.revisions_dropped;
    loaded.later_records = later_records_;
    return loaded;
  }

 private:
  static constexpr std::size_t kEntriesPerStep = 1'000'000;

  Result<void> AddKey(Payload& payload) {
    if (!TakeKey(payload)) return DamagedIndex("a key of it is damaged, or its keys do not ascend");
    const index::RestoredRecord* later = later_.front();
    int order = 1;
    for (; later != nullptr && (order = later->key.compare(key_)) < 0; later = later_.front())
      KV_RETURN_IF_ERROR(AddNewKey());
    const bool has_later = later != nullptr && order == 0;
    // A compaction leaves one record of a key up to its revision, and drops all before it: those of
    // the file, and others that came between.
    const bool is_replaced = has_later && later->revision.main <= compact_revision_;
    bool is_dead = false;
    KV_RETURN_IF_ERROR(AddRevisions(payload, is_replaced, has_later, is_dead));
    if (is_replaced) return AddNewKey();
    return has_later ? AddLater(is_dead) : Result<void>();
  }

  Result<void> AddRevisions(Payload& payload, bool is_replaced, bool has_later, bool& is_dead) {
    const std::uint64_t head = payload.Varint();
    index::Entry::Origin origin;
    const bool is_continued = (head & 1) != 0;
    if (is_continued) {
      origin.created = static_cast<std::int64_t>(payload.Varint());
      origin.version = static_cast<std::int64_t>(payload.Varint());
    }
    const std::uint64_t count = head >> 2;
    if (count == 0) return DamagedIndex("a key of it has no revision");
    Revision before{.main = 0, .sub = -1};
    bool was_tombstone = false;
    for (std::uint64_t i = 0; i < count; ++i) {
      index::RestoredRecord record{
          .key = key_, .revision = {}, .origin = origin, .tombstone = false};
      if (!TakeRevision(payload, before, record))
        return DamagedIndex("a revision of it is impossible");
      if (i == 0 && !is_continued) record.origin = {.created = record.revision.main, .version = 1};
      if (i == 0) {
        KV_RETURN_IF_ERROR(CheckFirst(record, is_continued));
        if (!is_replaced) builder_.AddKey(record);
      } else {
        if (was_tombstone && record.tombstone) return DamagedIndex("it deletes a key twice");
        if (!is_replaced) builder_.AddToKey(record);
      }
      before = record.revision;
      was_tombstone = record.tombstone;
    }
    newest_ = std::max(newest_, before);
    ++keys_;
    revisions_ += count;
    if (!is_replaced) added_ += count;
    is_dead = was_tombstone;
    return (head & 2) != 0 ? AddAttachment(payload, was_tombstone, has_later) : Result<void>();
  }

  // All later records of a key of which the file has nothing, or nothing of use.
  Result<void> AddNewKey() {
    const index::RestoredRecord& first = *later_.front();
    const bool is_compacted = first.revision.main <= compact_revision_;
    const bool begins_later = !first.tombstone && first.origin.version == 1 &&
                              first.origin.created == first.revision.main;
    if (!is_compacted && !begins_later) return OfAnotherHistory();
    builder_.AddKey(first);
    ++added_;
    const bool is_dead = first.tombstone;
    PopLater();
    return AddLater(is_dead);
  }

  // The records of the builder's last key that come next.
  Result<void> AddLater(bool is_dead) {
    for (const index::RestoredRecord* record = later_.front();
         record != nullptr && record->key == builder_.last()->key(); record = later_.front()) {
      if (record->tombstone && is_dead) {
        // A compaction keeps each deletion at its very revision, and not the puts between.
        if (record->revision.main > compact_revision_) return OfAnotherHistory();
      } else {
        builder_.AddToKey(*record);
        ++added_;
        const index::Entry& entry = *builder_.last();
        const bool is_as_stored =
            entry.created() == record->origin.created && entry.version() == record->origin.version;
        if (!record->tombstone && !is_as_stored) return OfAnotherHistory();
      }
      is_dead = record->tombstone;
      PopLater();
    }
    return {};
  }

  void PopLater() {
    later_.PopFront();
    ++later_records_;
  }

  static std::unexpected<Error> OfAnotherHistory() {
    return DamagedIndex("the database's later records do not follow from it");
  }

  // Leaves the key in key_.
  bool TakeKey(Payload& payload) {
    const std::uint64_t shared = payload.Varint();
    const std::string_view other = payload.Bytes(payload.Varint());
    if (!payload.ok() || shared + other.size() > index::Entry::kMaxKeyBytes) return false;
    if (is_first_in_block_) {
      is_first_in_block_ = false;
      if (shared != 0 || (keys_ > 0 && other <= key_)) return false;
      key_ = other;
      return true;
    }
    if (shared > key_.size() || other.empty()) return false;
    if (shared < key_.size() &&
        static_cast<unsigned char>(other[0]) <= static_cast<unsigned char>(key_[shared]))
      return false;
    key_.resize(static_cast<std::size_t>(shared));
    key_ += other;
    return true;
  }

  bool TakeRevision(Payload& payload, Revision before, index::RestoredRecord& record) const {
    const std::uint64_t main = payload.Varint();
    const std::uint64_t sub = payload.Varint();
    if (!payload.ok() || (main >> 1) > static_cast<std::uint64_t>(newest_revision_ - before.main) ||
        sub > std::numeric_limits<std::uint32_t>::max())
      return false;
    record.revision = {.main = before.main + static_cast<std::int64_t>(main >> 1),
                       .sub = static_cast<std::int64_t>(sub)};
    record.tombstone = (main & 1) != 0;
    return record.revision.main > 0 && record.revision > before;
  }

  static Result<void> CheckFirst(const index::RestoredRecord& record, bool is_continued) {
    if (is_continued && record.tombstone)
      return DamagedIndex("a deletion of it continues something");
    if (record.origin.version > kMostVersion) return DamagedIndex("a version of it is impossible");
    return KeyIndexBuilder::Check({.key = record.key,
                                   .revision = record.revision,
                                   .create_revision = record.origin.created,
                                   .version = record.origin.version,
                                   .tombstone = record.tombstone});
  }

  Result<void> AddAttachment(Payload& payload, bool is_dead, bool has_later) {
    const auto lease = static_cast<std::int64_t>(payload.Varint());
    if (!payload.ok() || lease == 0 || is_dead) return DamagedIndex("a lease of it is impossible");
    if (!has_later) attachments_.push_back({.key = key_, .lease = lease});
    return {};
  }

  // Each further put adds one.
  static constexpr std::int64_t kMostVersion = std::numeric_limits<std::int64_t>::max() / 2;

  const std::int64_t newest_revision_;   // the file's
  const std::int64_t compact_revision_;  // the backend's
  SortedRecords later_;
  SortedIndexBuilder builder_;
  std::vector<LoadedIndex::Attachment> attachments_;
  std::string key_;
  bool is_first_in_block_ = true;
  Revision newest_;
  std::uint64_t keys_ = 0;       // of the file
  std::uint64_t revisions_ = 0;  // of the file
  std::uint64_t added_ = 0;      // revisions, of both
  std::uint64_t later_records_ = 0;
};

// Checks the file's header and length, then returns block after block.
class BlockReader {
 public:
  static Result<BlockReader> Open(FileSystem& files, const std::string& path) {
    KV_TRY(auto file, files.Open(path, FileSystem::OpenMode::kRead));
    std::string bytes(index_file::kHeaderBytes, '\0');
    KV_TRY(const std::size_t got, file->ReadAt(0, bytes.data(), bytes.size()));
    bytes.resize(got);
    KV_TRY(index_file::Header header, index_file::DecodeHeader(bytes));
    KV_TRY(const std::uint64_t size_bytes, file->Size());
    if (size_bytes != header.length_bytes)
      return DamagedIndex("it is truncated, or longer than it says");
    return BlockReader(std::move(file), std::move(header));
  }

  const index_file::Header& header() const { return header_; }

  // nullopt at the end of the file. Valid until the next call.
  Result<std::optional<std::string_view>> Next() {
    if (offset_ == header_.length_bytes) return std::nullopt;
    std::array<char, index_file::kBlockHeaderBytes> head{};
    const std::string_view block_header(head.data(), head.size());
    KV_RETURN_IF_ERROR(Read(offset_, head.data(), head.size()));
    const std::size_t size = index_file::BlockSize(block_header);
    const std::uint64_t begin = offset_ + head.size();
    if (size > header_.length_bytes - begin) return DamagedIndex("a block of it is damaged");
    if (buffer_.size() < size) buffer_.resize(size);
    KV_RETURN_IF_ERROR(Read(begin, buffer_.data(), size));
    const std::string_view payload(buffer_.data(), size);
    if (!index_file::IsSound(offset_, block_header, payload))
      return DamagedIndex("a block of it is damaged");
    offset_ = begin + size;
    return payload;
  }

 private:
  BlockReader(std::unique_ptr<File> file, index_file::Header header)
      : file_(std::move(file)), header_(std::move(header)) {}

  Result<void> Read(std::uint64_t offset, char* out, std::size_t size) {
    if (size > header_.length_bytes - offset) return DamagedIndex("it ends within a block");
    KV_TRY(const std::size_t got, file_->ReadAt(offset, out, size));
    if (got != size) return DamagedIndex("it ends within a block");
    return {};
  }

  std::unique_ptr<File> file_;
  index_file::Header header_;
  std::uint64_t offset_ = index_file::kHeaderBytes;
  std::string buffer_;
};

}  // namespace

Result<LoadedIndex> ReadIndexFile(FileSystem& files, const std::string& database_path,
                                  const IndexedState& state, const ReadLaterRecords& read_later) {
  KV_TRY(BlockReader reader, BlockReader::Open(files, IndexFilePath(database_path)));
  const index_file::Header& header = reader.header();
  const IndexBinding& binding = header.binding;
  if (!HasIndexMark(state.marks, binding.mark) || binding.revision > state.revision ||
      binding.compact_revision > state.compact_revision)
    return DamagedIndex("it belongs to another state of the database");
  if (binding.revision <= 0 || state.revision >= index::kNever - 1)
    return DamagedIndex("its revision is impossible");
  KV_TRY(SortedRecords later, read_later(binding.revision));
  Decoder decoder(binding, state, std::move(later));
  while (true) {
    KV_TRY(const auto block, reader.Next());
    if (!block.has_value()) break;
    KV_RETURN_IF_ERROR(decoder.AddBlock(*block));
  }
  if (decoder.keys() != header.keys || decoder.revisions() != header.revisions)
    return DamagedIndex("it holds another number of keys than it says");
  KV_RETURN_IF_ERROR(decoder.AddRest());
  LoadedIndex loaded = decoder.Build(state);
  loaded.binding = binding;
  return loaded;
}

Result<IndexBinding> CheckIndexFile(FileSystem& files, const std::string& database_path) {
  KV_TRY(BlockReader reader, BlockReader::Open(files, IndexFilePath(database_path)));
  while (true) {
    KV_TRY(const auto block, reader.Next());
    if (!block.has_value()) return reader.header().binding;
  }
}

}  // namespace kvorum::mvcc
