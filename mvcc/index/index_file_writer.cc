#include "mvcc/index/index_file_writer.h"

#include <array>
#include <utility>

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

}  // namespace

IndexFileWriter::IndexFileWriter(FileSystem& files, std::string unfinished,
                                 std::unique_ptr<File> file, IndexFileContent content)
    : files_(&files),
      unfinished_(std::move(unfinished)),
      file_(std::move(file)),
      content_(std::move(content)),
      walk_(content_.view) {}

Result<IndexFileWriter> IndexFileWriter::Open(FileSystem& files, const std::string& unfinished,
                                              IndexFileContent content) {
  KV_TRY(const bool there, files.Exists(unfinished));
  if (there) KV_RETURN_IF_ERROR(files.Remove(unfinished));
  KV_TRY(auto file, files.Open(unfinished, FileSystem::OpenMode::kCreate));
  return IndexFileWriter(files, unfinished, std::move(file), std::move(content));
}

void IndexFileWriter::Add(const Entry& entry) {
  const bool may_be_attached = content_.lease_of && !entry.tombstone();
  AppendKey(block_, key_before_, entry, may_be_attached ? content_.lease_of(entry.key()) : 0);
  key_before_ = entry.key();
  ++size_.keys;
  size_.revisions += index::RevisionCount(entry);
}

Result<bool> IndexFileWriter::WriteBlock(std::size_t least_bytes) {
  while (block_.size() < least_bytes) {
    const Entry* entry = walk_.Next();
    if (entry == nullptr) break;
    Add(*entry);
  }
  if (block_.empty()) return false;
  if (block_.size() > kMostBlockBytes)
    return Fail(Code::kResourceExhausted, "a key has too many revisions");
  const std::string header = index_file::EncodeBlockHeader(size_.bytes, block_);
  const std::array<std::string_view, 2> parts = {header, block_};
  KV_RETURN_IF_ERROR(file_->WriteAt(size_.bytes, parts));
  size_.bytes += header.size() + block_.size();
  block_.clear();
  key_before_ = {};
  return true;
}

Result<IndexFileSize> IndexFileWriter::Finish(const std::string& database_path) {
  KV_FAILPOINT("saveIndexBeforeHeader");
  const std::string header = index_file::EncodeHeader({.length_bytes = size_.bytes,
                                                       .keys = size_.keys,
                                                       .revisions = size_.revisions,
                                                       .binding = content_.binding});
  const std::array<std::string_view, 1> parts = {header};
  KV_RETURN_IF_ERROR(file_->WriteAt(0, parts));
  KV_FAILPOINT("saveIndexBeforeSync");
  KV_RETURN_IF_ERROR(file_->Sync());
  KV_FAILPOINT("saveIndexBeforeRename");
  KV_RETURN_IF_ERROR(files_->Rename(unfinished_, IndexFilePath(database_path)));
  KV_FAILPOINT("saveIndexBeforeDirectorySync");
  KV_RETURN_IF_ERROR(files_->SyncDirectory(ParentDirectory(database_path)));
  KV_FAILPOINT("saveIndexAfterDirectorySync");
  return size_;
}

Result<IndexFileSize> WriteIndexFile(FileSystem& files, const std::string& database_path,
                                     IndexFileContent content, const std::function<bool()>& go_on) {
  KV_TRY(IndexFileWriter writer,
         IndexFileWriter::Open(files, UnfinishedIndexFilePath(database_path), std::move(content)));
  Result<bool> is_more = true;
  while (is_more.has_value() && *is_more) {
    if (!go_on()) return Fail(Code::kCanceled, "it takes too long");
    is_more = writer.WriteBlock();
  }
  if (!is_more.has_value()) return Fail(is_more.error());
  return writer.Finish(database_path);
}

}  // namespace kvorum::mvcc
