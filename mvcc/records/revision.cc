#include "mvcc/records/revision.h"

namespace kvorum::mvcc {
namespace {

void PutBigEndian(char* out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (int i = 0; i < 8; ++i) out[i] = static_cast<char>(bits >> (56 - 8 * i));
}

std::int64_t GetBigEndian(const char* in) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = (bits << 8) | static_cast<unsigned char>(in[i]);
  return static_cast<std::int64_t>(bits);
}

}  // namespace

RevisionKey::RevisionKey(Revision revision, bool tombstone)
    : bytes_{}, size_(tombstone ? kTombstoneSizeBytes : kSizeBytes) {
  PutBigEndian(bytes_.data(), revision.main);
  bytes_[8] = '_';
  PutBigEndian(bytes_.data() + 9, revision.sub);
  bytes_[17] = 't';
}

Result<RevisionKey::Decoded> RevisionKey::Decode(std::string_view bytes) {
  const bool sized = bytes.size() == kSizeBytes || bytes.size() == kTombstoneSizeBytes;
  if (!sized || bytes[8] != '_' || (bytes.size() == kTombstoneSizeBytes && bytes[17] != 't')) {
    return Fail(Code::kDataLoss, "mvcc: not a revision key");
  }
  return Decoded{.revision = {GetBigEndian(bytes.data()), GetBigEndian(bytes.data() + 9)},
                 .tombstone = bytes.size() == kTombstoneSizeBytes};
}

}  // namespace kvorum::mvcc
