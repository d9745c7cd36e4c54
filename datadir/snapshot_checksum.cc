#include "datadir/snapshot_checksum.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/check.h"

namespace kvorum::datadir {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// Prints bytes as Go does.
std::string NumbersOf(std::string_view bytes) {
  std::string text = "[";
  for (const char byte : bytes) {
    if (text.size() > 1) text += ' ';
    text += std::to_string(static_cast<unsigned char>(byte));
  }
  return text + "]";
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  KV_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1,
           "SHA-256 is not available");
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::Add(std::string_view bytes) {
  KV_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1, "SHA-256 fails");
}

std::string Sha256::Finish() {
  std::string digest(kSnapshotHashBytes, '\0');
  unsigned size_bytes = 0;
  KV_CHECK(EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(digest.data()),
                              &size_bytes) == 1 &&
               size_bytes == digest.size(),
           "SHA-256 fails");
  return digest;
}

Error HashMismatch(std::string_view expected, std::string_view got) {
  return {Code::kDataLoss, "expected sha256 " + NumbersOf(expected) + ", got " + NumbersOf(got)};
}

Result<void> CheckSnapshotHash(FileSystem& fs, const std::string& path) {
  KV_TRY(const auto file, fs.Open(path, FileSystem::OpenMode::kRead));
  KV_TRY(const std::uint64_t size_bytes, file->Size());
  if (size_bytes < kSnapshotHashBytes)
    return Fail(Code::kDataLoss, "seek " + path + ": invalid argument");
  if (!HasSnapshotHash(size_bytes))
    return Fail(Code::kDataLoss, "snapshot missing hash but --skip-hash-check=false");
  const std::uint64_t end = size_bytes - kSnapshotHashBytes;
  Sha256 hash;
  std::string buffer(kReadBytes, '\0');
  for (std::uint64_t at = 0; at < end;) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), end - at);
    KV_TRY(const std::size_t got, file->ReadAt(at, buffer.data(), wanted));
    if (got == 0) return Fail(Code::kDataLoss, path + " became shorter");
    hash.Add(std::string_view(buffer).substr(0, got));
    at += got;
  }
  std::string expected(kSnapshotHashBytes, '\0');
  KV_TRY(const std::size_t got, file->ReadAt(end, expected.data(), expected.size()));
  if (got != expected.size()) return Fail(Code::kDataLoss, path + " became shorter");
  if (const std::string actual = hash.Finish(); actual != expected)
    return std::unexpected(HashMismatch(expected, actual));
  return {};
}

}  // namespace kvorum::datadir
