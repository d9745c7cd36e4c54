// Any bytes as a saved key index, or, with a valid header and checksums around them, as its blocks.
// Reading must end in a sound index or an error; an index that is read and written again comes back
// the same.
//
// The first byte of the input: bit 0, the rest are blocks (a length of two bytes, then that many
// bytes of its payload), else the file itself. The second and third: the keys and revisions that
// the header tells.
#include "mvcc/index/index_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/log/logging.h"
#include "mvcc/index/entry_walk.h"
#include "mvcc/index/index_file_reader.h"
#include "mvcc/index/index_file_writer.h"
#include "mvcc/index/key_entry.h"
#include "tests/disk/sim_file_system.h"

namespace {

using namespace kvorum;
using namespace kvorum::mvcc;

const std::string kDatabase = "/db";

void Require(bool condition) {
  if (!condition) std::abort();
}

IndexBinding Binding() {
  return {.mark = std::string(IndexBinding::kMarkBytes, 'm'),
          .revision = std::int64_t{1} << 40,
          .compact_revision = -1};
}

Result<LoadedIndex> Read(FileSystem& files) {
  return ReadIndexFile(files, kDatabase, {.marks = Binding().mark, .revision = Binding().revision},
                       [](std::int64_t) -> Result<SortedRecords> { return SortedRecords(); });
}

std::string FileOf(std::string_view blocks, std::uint64_t keys, std::uint64_t revisions) {
  std::string file(index_file::kHeaderBytes, '\0');
  while (blocks.size() >= 2) {
    const std::size_t told = static_cast<std::size_t>(static_cast<unsigned char>(blocks[0])) << 8 |
                             static_cast<unsigned char>(blocks[1]);
    const std::string_view payload = blocks.substr(2, std::min(told, blocks.size() - 2));
    blocks.remove_prefix(2 + payload.size());
    file += index_file::EncodeBlockHeader(file.size(), payload);
    file += payload;
  }
  const std::string header = index_file::EncodeHeader(
      {.length_bytes = file.size(), .keys = keys, .revisions = revisions, .binding = Binding()});
  return file.replace(0, header.size(), header);
}

void Write(FileSystem& files, std::string_view bytes) {
  auto file = files.Open(IndexFilePath(kDatabase), FileSystem::OpenMode::kCreate);
  const std::array<std::string_view, 1> parts = {bytes};
  Require(file.has_value() && (*file)->WriteAt(0, parts).has_value());
}

bool AreEqual(const KeyIndex& a, const KeyIndex& b) {
  std::string of_a;
  std::string of_b;
  const auto show = [](std::string& out, const KeyIndex& of) {
    index::EntryWalk walk(of.working());
    while (const index::Entry* found = walk.Next()) {
      const index::Entry& entry = *found;
      out.append(entry.key()).push_back('\0');
      for (std::uint32_t i = 0; i < index::RevisionCount(entry); ++i) {
        const index::EntryRevision at = index::RevisionAt(entry, i);
        out.append(std::to_string(at.revision.main)).append(".");
        out.append(std::to_string(at.revision.sub)).append(at.tombstone ? "t" : "p");
        if (at.tombstone) continue;
        const index::Entry::Origin origin = index::OriginOf(entry, i);
        out.append(std::to_string(origin.created)).append("v");
        out.append(std::to_string(origin.version));
      }
    }
  };
  show(of_a, a);
  show(of_b, b);
  return of_a == of_b;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  SimFileSystem files;
  Write(files, (data[0] & 1) != 0 ? FileOf(rest, data[1], data[2]) : std::string(rest));
  const auto whole = CheckIndexFile(files, kDatabase);
  const auto loaded = Read(files);
  if (!loaded.has_value()) return 0;
  Require(whole.has_value() && *whole == Binding());
  loaded->index->CheckInvariants();
  const auto& attachments = loaded->attachments;
  std::size_t next = 0;
  const auto lease_of = [&](std::string_view key) -> std::int64_t {
    const bool is_attached = next < attachments.size() && attachments[next].key == key;
    return is_attached ? attachments[next++].lease : 0;
  };
  Require(
      WriteIndexFile(files, kDatabase,
                     {.view = loaded->index->working(), .binding = Binding(), .lease_of = lease_of},
                     [] { return true; })
          .has_value());
  Require(next == attachments.size());
  const auto again = Read(files);
  Require(again.has_value() && AreEqual(*loaded->index, *again->index));
  Require(again->attachments.size() == attachments.size());
  return 0;
}
