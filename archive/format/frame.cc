#include "archive/format/frame.h"

#include <array>
#include <span>

#include "archive/format/records.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/digest/sha256.h"
#include "base/text/gzip.h"

namespace kvorum::archive {
namespace {

constexpr std::string_view kMagic = "KVARCH1\n";
constexpr std::size_t kNumberBytes = 4;
// The content of one object, unpacked; a packed megabyte may claim to be a gigabyte.
constexpr std::uint64_t kMaxRawBytes = kMaxFrameBytes;

void AppendNumber(std::string& out, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(number >> shift & 0xffU);
}

std::uint32_t ReadNumber(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = kNumberBytes; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  return number;
}

std::unexpected<Error> FailFrame(std::string_view reason) {
  return Fail(Code::kDataLoss, "a damaged object of the archive: " + std::string(reason));
}

}  // namespace

std::string Frame(std::string_view header, std::string_view content) {
  KV_CHECK(header.size() <= kMaxHeaderBytes, "a header of the archive is too large");
  std::string out(kMagic);
  AppendNumber(out, static_cast<std::uint32_t>(header.size()));
  out += header;
  AppendNumber(out, Crc32c(0, header));
  GzipWriter writer;
  const std::string packed = writer.Finish(content);
  AppendNumber(out, Crc32c(0, packed));
  return out + packed;
}

Result<Framed> ReadFrame(std::string_view bytes) {
  const std::size_t front = kMagic.size() + kNumberBytes;
  if (bytes.size() < front) return Fail(Code::kOutOfRange, "an object of the archive ends early");
  if (!bytes.starts_with(kMagic)) return FailFrame("it does not begin as one");
  const std::size_t size = ReadNumber(bytes.substr(kMagic.size()));
  if (size > kMaxHeaderBytes) return FailFrame("the size of its header");
  if (bytes.size() < front + size + 2 * kNumberBytes)
    return Fail(Code::kOutOfRange, "an object of the archive ends early");
  const std::string_view header = bytes.substr(front, size);
  if (ReadNumber(bytes.substr(front + size)) != Crc32c(0, header))
    return FailFrame("the checksum of its header");
  return Framed{.header = header,
                .packed_crc = ReadNumber(bytes.substr(front + size + kNumberBytes)),
                .packed = bytes.substr(front + size + 2 * kNumberBytes)};
}

Result<std::string> Unpack(const Framed& framed, std::uint64_t raw_bytes, std::string_view sha256) {
  std::string_view packed = framed.packed;
  if (Crc32c(0, packed) != framed.packed_crc) return FailFrame("the checksum of its content");
  if (raw_bytes > kMaxRawBytes) return FailFrame("the size of its content");
  std::string content(raw_bytes, '\0');
  GzipReader reader;
  std::size_t used = 0;
  // One byte more than there should be, so that a longer content is found.
  std::array<char, 1> beyond{};
  while (!reader.ended()) {
    const bool is_full = used == content.size();
    const std::span<char> room =
        is_full ? std::span<char>(beyond) : std::span<char>(content).subspan(used);
    const std::size_t left = packed.size();
    const auto got = reader.Read(packed, room);
    if (!got.has_value()) return FailFrame("its content cannot be unpacked");
    if (is_full && *got > 0) return FailFrame("its content is longer than its header says");
    used += *got;
    if (*got == 0 && packed.size() == left && !reader.ended())
      return FailFrame("its content ends early");
  }
  if (used != content.size() || !packed.empty()) return FailFrame("the size of its content");
  if (Sha256Hex(content) != sha256) return FailFrame("its content has another SHA-256");
  return content;
}

}  // namespace kvorum::archive
