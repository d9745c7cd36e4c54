#include "mvcc/index/index_file_writer.h"

#include <array>
#include <memory>

#include "base/failpoint/failpoint.h"
#include "mvcc/index/index_node.h"
#include "mvcc/index/key_entry.h"
#include "proto/wire.h"

namespace kvorum::mvcc {
namespace {

using index::Entry;
using index::EntryRevision;

// A key may have so many revisions that no start should read them as one block.
constexpr std::size_t kMostBlockBytes = std::size_t{1} << 30;

void AppendVarint(std::string& out, std::uint64_t value) {
  std::array<char, wire::kMaxVarintBytes> bytes;  // uninitialised behind the end
  const char* end = wire::WriteVarint(bytes.data(), value);
  out.append(bytes.data(), static_cast<std::size_t>(end - bytes.data()));
}

void AppendRevision(std::string& out, const EntryRevision& at, std::int64_t main_before) {
  AppendVarint(out, static_cast<std::uint64_t>(at.revision.main - main_before) << 1 |
                        (at.tombstone ? 1U : 0U));
  AppendVarint(out, static_cast<std::uint64_t>(at.revision.sub));
}

void AppendKey(std::string& out, std::string_view key_before, const Entry& entry,
               std::int64_t lease) {
  const std::size_t shared = index::CommonPrefix(key_before, entry.key());
  const std::string_view other = entry.key().substr(shared);
  AppendVarint(out, shared);
  AppendVarint(out, other.size());
  out.append(other);
  const std::uint32_t count = index::RevisionCount(entry);
  const EntryRevision first = index::RevisionAt(entry, 0);
  Entry::Origin origin{.created = first.revision.main, .version = 1};
  if (!first.tombstone) origin = index::OriginOf(entry, 0);
  const bool is_continued = origin.created != first.revision.main || origin.version != 1;
  AppendVarint(out, std::uint64_t{count} << 2 | (lease != 0 ? 2U : 0U) | (is_continued ? 1U : 0U));
  if (is_continued) {
    AppendVarint(out, static_cast<std::uint64_t>(origin.created));
    AppendVarint(out, static_cast<std::uint64_t>(origin.version));
  }
  std::int64_t main_before = 0;
  for (std::uint32_t number = 0; number < count; ++number) {
    const EntryRevision at = index::RevisionAt(entry, number);
    AppendRevision(out, at, main_before);
    main_before = at.revision.main;
  }
  if (lease != 0) AppendVarint(out, static_cast<std::uint64_t>(lease));
}

class Writer {
 public:
  Writer(File& file, const IndexFileContent& content, const std::function<bool()>& go_on)
      : file_(file), content_(content), go_on_(go_on) {}

  Result<void> WriteBlocks() {
    Result<void> written;
    const bool visited_all = content_.index.VisitEntries([&](const Entry& entry) {
      Add(entry);
      if (block_.size() >= index_file::kBlockBytes) written = CloseBlock();
      return written.has_value();
    });
    if (!visited_all) return written;
    return block_.empty() ? Result<void>() : CloseBlock();
  }

  Result<IndexFileSize> WriteHeader() {
    const std::string header = index_file::EncodeHeader({.length_bytes = offset_,
                                                         .keys = keys_,
                                                         .revisions = revisions_,
                                                         .binding = content_.binding});
    const std::array<std::string_view, 1> parts = {header};
    KV_RETURN_IF_ERROR(file_.WriteAt(0, parts));
    return IndexFileSize{.bytes = offset_, .keys = keys_};
  }

 private:
  void Add(const Entry& entry) {
    const bool may_be_attached = content_.lease_of && !entry.tombstone();
    AppendKey(block_, key_before_, entry, may_be_attached ? content_.lease_of(entry.key()) : 0);
    key_before_ = entry.key();
    ++keys_;
    revisions_ += index::RevisionCount(entry);
  }

  Result<void> CloseBlock() {
    if (block_.size() > kMostBlockBytes)
      return Fail(Code::kResourceExhausted, "a key has too many revisions");
    if (!go_on_()) return Fail(Code::kCanceled, "it takes too long");
    const std::string header = index_file::EncodeBlockHeader(offset_, block_);
    const std::array<std::string_view, 2> parts = {header, block_};
    KV_RETURN_IF_ERROR(file_.WriteAt(offset_, parts));
    offset_ += header.size() + block_.size();
    block_.clear();
    key_before_ = {};
    return {};
  }

  File& file_;
  const IndexFileContent& content_;
  const std::function<bool()>& go_on_;
  std::string block_;
  std::string_view key_before_;  // in the block
  std::uint64_t offset_ = index_file::kHeaderBytes;
  std::uint64_t keys_ = 0;
  std::uint64_t revisions_ = 0;
};

}  // namespace

Result<IndexFileSize> WriteIndexFile(FileSystem& files, const std::string& database_path,
                                     const IndexFileContent& content,
                                     const std::function<bool()>& go_on) {
  const std::string unfinished = UnfinishedIndexFilePath(database_path);
  KV_RETURN_IF_ERROR(RemoveIndexFile(files, database_path));
  KV_TRY(const auto file, files.Open(unfinished, FileSystem::OpenMode::kCreate));
  Writer writer(*file, content, go_on);
  KV_RETURN_IF_ERROR(writer.WriteBlocks());
  KV_FAILPOINT("saveIndexBeforeHeader");
  KV_TRY(const IndexFileSize size, writer.WriteHeader());
  KV_FAILPOINT("saveIndexBeforeSync");
  KV_RETURN_IF_ERROR(file->Sync());
  KV_FAILPOINT("saveIndexBeforeRename");
  KV_RETURN_IF_ERROR(files.Rename(unfinished, IndexFilePath(database_path)));
  KV_FAILPOINT("saveIndexBeforeDirectorySync");
  KV_RETURN_IF_ERROR(files.SyncDirectory(ParentDirectory(database_path)));
  KV_FAILPOINT("saveIndexAfterDirectorySync");
  return size;
}

}  // namespace kvorum::mvcc
