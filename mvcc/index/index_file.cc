#include "mvcc/index/index_file.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"

namespace kvorum::mvcc {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
void AppendNumber(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Takes a number off the front of bytes that are long enough.
template <class T>
T TakeNumber(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return value;
}

}  // namespace

Result<void> RemoveIndexFile(FileSystem& files, const std::string& database_path) {
  bool removed = false;
  for (const std::string& path :
       {IndexFilePath(database_path), UnfinishedIndexFilePath(database_path),
        NextIndexFilePath(database_path)}) {
    KV_TRY(const bool there, files.Exists(path));
    if (!there) continue;
    KV_RETURN_IF_ERROR(files.Remove(path));
    removed = true;
  }
  return removed ? files.SyncDirectory(ParentDirectory(database_path)) : Result<void>();
}

std::string AddIndexMark(std::string_view mark, std::string_view marks) {
  return std::string(mark).append(
      marks.substr(0, (IndexBinding::kMostMarks - 1) * IndexBinding::kMarkBytes));
}

std::string DropIndexMark(std::string_view mark, std::string_view marks) {
  std::string others;
  for (; marks.size() >= mark.size() && !mark.empty(); marks.remove_prefix(mark.size()))
    if (!marks.starts_with(mark)) others += marks.substr(0, mark.size());
  return others;
}

bool HasIndexMark(std::string_view marks, std::string_view mark) {
  if (mark.size() != IndexBinding::kMarkBytes) return false;
  for (; marks.size() >= mark.size(); marks.remove_prefix(mark.size()))
    if (marks.starts_with(mark)) return true;
  return false;
}

namespace index_file {

std::string EncodeHeader(const Header& header) {
  const IndexBinding& binding = header.binding;
  KV_CHECK(binding.mark.size() == IndexBinding::kMarkBytes, "a mark of another size");
  std::string out(kMagic);
  AppendNumber(out, header.length_bytes);
  AppendNumber(out, header.keys);
  AppendNumber(out, header.revisions);
  out += binding.mark;
  AppendNumber(out, binding.revision);
  AppendNumber(out, binding.compact_revision);
  AppendNumber(out, Crc32c(0, out));
  KV_CHECK(out.size() == kHeaderBytes, "a header of another size");
  return out;
}

Result<Header> DecodeHeader(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return Fail(Code::kDataLoss, "it ends within its header");
  if (!bytes.starts_with(kMagic)) return Fail(Code::kDataLoss, "it is of another kind or version");
  const std::string_view summed = bytes.substr(0, kHeaderBytes - sizeof(std::uint32_t));
  std::string_view rest = bytes.substr(summed.size());
  if (TakeNumber<std::uint32_t>(rest) != Crc32c(0, summed))
    return Fail(Code::kDataLoss, "its header is damaged");
  rest = summed.substr(kMagic.size());
  Header header;
  header.length_bytes = TakeNumber<std::uint64_t>(rest);
  header.keys = TakeNumber<std::uint64_t>(rest);
  header.revisions = TakeNumber<std::uint64_t>(rest);
  header.binding.mark = rest.substr(0, IndexBinding::kMarkBytes);
  rest.remove_prefix(IndexBinding::kMarkBytes);
  header.binding.revision = TakeNumber<std::int64_t>(rest);
  header.binding.compact_revision = TakeNumber<std::int64_t>(rest);
  return header;
}

namespace {

std::uint32_t BlockCrc(std::uint64_t offset, std::string_view payload) {
  std::string place;
  AppendNumber(place, offset);
  AppendNumber(place, static_cast<std::uint32_t>(payload.size()));
  return Crc32c(Crc32c(0, place), payload);
}

}  // namespace

std::string EncodeBlockHeader(std::uint64_t offset, std::string_view payload) {
  std::string out;
  AppendNumber(out, static_cast<std::uint32_t>(payload.size()));
  AppendNumber(out, BlockCrc(offset, payload));
  return out;
}

std::uint32_t BlockSize(std::string_view block_header) {
  return TakeNumber<std::uint32_t>(block_header);
}

bool IsSound(std::uint64_t offset, std::string_view block_header, std::string_view payload) {
  block_header.remove_prefix(sizeof(std::uint32_t));
  return TakeNumber<std::uint32_t>(block_header) == BlockCrc(offset, payload);
}

}  // namespace index_file
}  // namespace kvorum::mvcc
