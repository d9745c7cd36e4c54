// The protobuf wire format by hand, for the records that are encoded and decoded on every write:
// WAL records, Raft entries and messages, stored key-values, client requests.
//
// Threading: plain values and functions; use them anywhere. Ownership: a Reader borrows its bytes.
// Errors: a Reader never reads outside of its bytes; the first malformed field stops it for good,
// Next() then returns false and ok() tells the two ends apart. Cost: no allocation in the reader,
// except for skipped groups; the writers append to a string that the caller may reserve by the size
// functions.
//
// The writers leave zero and empty fields out (as in proto3, which proto2 readers accept too); the
// Write functions below them write every value that they are given.
//
//   wire::Reader reader(bytes);
//   while (reader.Next()) {
//     switch (reader.tag()) {
//       case wire::VarintTag(1): term = reader.Varint(); break;
//       case wire::BytesTag(4): data = reader.Bytes(); break;
//       default: reader.Skip();
//     }
//   }
//   if (!reader.ok()) return Fail(...);
//
// Switching on the tag makes a field of another wire type an unknown one, as in protobuf. Requests
// are read this way, and so is the log, which members of etcd read too. Our own records and raft's
// messages are read by the number alone, and such a field makes them malformed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kvorum::wire {

enum class Type : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,  // read only, to skip it
  kEndGroup = 4,
  kFixed32 = 5,
};

inline constexpr std::size_t kMaxVarintBytes = 10;
// The nesting depth of groups that Skip accepts, the same as Go's protobuf.
inline constexpr std::size_t kMaxGroupDepth = 10'001;

// --- sizes -------------------------------------------------------------------------------------

constexpr std::size_t VarintSize(std::uint64_t value) {
  // One byte per started group of seven bits.
  return (static_cast<std::size_t>(std::bit_width(value | 1)) * 9 + 64) / 64;
}
constexpr std::uint32_t MakeTag(std::uint32_t field, Type type) {
  return (field << 3) | static_cast<std::uint32_t>(type);
}
// The value of Reader::tag() for a number, and for bytes, a string or a message.
constexpr std::uint32_t VarintTag(std::uint32_t field) { return MakeTag(field, Type::kVarint); }
constexpr std::uint32_t BytesTag(std::uint32_t field) {
  return MakeTag(field, Type::kLengthDelimited);
}
constexpr std::size_t TagSize(std::uint32_t field) { return VarintSize(field << 3); }
// A field that AppendUint leaves out has size 0.
constexpr std::size_t UintFieldSize(std::uint32_t field, std::uint64_t value) {
  return value == 0 ? 0 : TagSize(field) + VarintSize(value);
}
constexpr std::size_t IntFieldSize(std::uint32_t field, std::int64_t value) {
  return UintFieldSize(field, static_cast<std::uint64_t>(value));
}
// A length-delimited field that is written even if it is empty (elements of a repeated field,
// sub-messages).
constexpr std::size_t LengthDelimitedSize(std::uint32_t field, std::size_t size_bytes) {
  return TagSize(field) + VarintSize(size_bytes) + size_bytes;
}
// A field that AppendBytes leaves out if empty.
constexpr std::size_t BytesFieldSize(std::uint32_t field, std::size_t size_bytes) {
  return size_bytes == 0 ? 0 : LengthDelimitedSize(field, size_bytes);
}

// --- writing -----------------------------------------------------------------------------------

// Raw writers into memory that the caller has sized; each returns the position after its output.
inline char* WriteVarint(char* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
inline char* WriteTag(char* out, std::uint32_t field, Type type) {
  return WriteVarint(out, MakeTag(field, type));
}
inline char* WriteUint(char* out, std::uint32_t field, std::uint64_t value) {
  return WriteVarint(WriteTag(out, field, Type::kVarint), value);
}
inline char* WriteBytes(char* out, std::uint32_t field, std::string_view bytes) {
  out = WriteVarint(WriteTag(out, field, Type::kLengthDelimited), bytes.size());
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

inline void AppendVarint(std::string& out, std::uint64_t value) {
  char buffer[kMaxVarintBytes];
  out.append(buffer, static_cast<std::size_t>(WriteVarint(buffer, value) - buffer));
}
// For an element of a repeated field or a proto2 field that is set: written even if zero.
inline void AppendUintAlways(std::string& out, std::uint32_t field, std::uint64_t value) {
  char buffer[2 * kMaxVarintBytes];
  out.append(buffer, static_cast<std::size_t>(WriteUint(buffer, field, value) - buffer));
}
inline void AppendUint(std::string& out, std::uint32_t field, std::uint64_t value) {
  if (value != 0) AppendUintAlways(out, field, value);
}
inline void AppendInt(std::string& out, std::uint32_t field, std::int64_t value) {
  AppendUint(out, field, static_cast<std::uint64_t>(value));
}
inline void AppendBool(std::string& out, std::uint32_t field, bool value) {
  AppendUint(out, field, value ? 1 : 0);
}
// Tag and length of a length-delimited field whose size_bytes bytes the caller appends next.
inline void AppendLengthDelimitedHeader(std::string& out, std::uint32_t field,
                                        std::size_t size_bytes) {
  char buffer[2 * kMaxVarintBytes];
  char* end = WriteVarint(WriteTag(buffer, field, Type::kLengthDelimited), size_bytes);
  out.append(buffer, static_cast<std::size_t>(end - buffer));
}
// For an element of a repeated field or a sub-message: written even if empty.
inline void AppendBytesAlways(std::string& out, std::uint32_t field, std::string_view bytes) {
  AppendLengthDelimitedHeader(out, field, bytes.size());
  out.append(bytes);
}
inline void AppendBytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  if (!bytes.empty()) AppendBytesAlways(out, field, bytes);
}

// --- reading -----------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(std::string_view bytes)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Goes to the next field. Returns false at the end of the bytes and on malformed bytes. After
  // true, take the value by exactly one of the calls below.
  bool Next() {
    if (position_ == end_ || failed_) return false;
    const std::uint64_t tag = ReadVarint();
    const std::uint64_t type = tag & 7;
    if (failed_ || tag > UINT32_MAX || tag < 8 || type > 5) return Stop();
    field_ = static_cast<std::uint32_t>(tag >> 3);
    type_ = static_cast<Type>(type);
    return true;
  }
  // False once a field was malformed: truncated, over-long, of another wire type than requested.
  bool ok() const { return !failed_; }
  std::uint32_t field() const { return field_; }
  Type type() const { return type_; }
  std::uint32_t tag() const { return MakeTag(field_, type_); }

  std::uint64_t Varint() {
    if (type_ != Type::kVarint) [[unlikely]]
      return Stop();
    return ReadVarint();
  }
  std::int64_t Int() { return static_cast<std::int64_t>(Varint()); }
  bool Bool() { return Varint() != 0; }
  // The bytes of a string, bytes or message field, within the Reader's own bytes.
  std::string_view Bytes() {
    if (type_ != Type::kLengthDelimited) [[unlikely]] {
      Stop();
      return {};
    }
    return ReadLengthDelimited();
  }
  // Skips the value of a field that this reader does not know.
  void Skip();
  // Elements of a repeated integer field in either encoding, one by one or packed.
  template <class Consume>
  void RepeatedVarint(Consume&& consume) {
    if (type_ != Type::kLengthDelimited) {
      consume(Varint());
      return;
    }
    Reader packed(ReadLengthDelimited());
    while (packed.position_ != packed.end_ && !packed.failed_) {
      const std::uint64_t value = packed.ReadVarint();
      if (!packed.failed_) consume(value);
    }
    if (packed.failed_) Stop();
  }
  // Marks the bytes as malformed: for callers that find a value out of range.
  bool Stop() {
    failed_ = true;
    position_ = end_;
    return false;
  }

 private:
  std::uint64_t ReadVarint() {
    if (position_ != end_ && static_cast<signed char>(*position_) >= 0) [[likely]]
      return static_cast<std::uint8_t>(*position_++);
    return ReadLongVarint();
  }
  std::uint64_t ReadLongVarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && position_ != end_; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*position_++);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if (shift == 63 && byte > 1) break;  // more than 64 bits
      return value;
    }
    return Stop();
  }
  std::string_view ReadLengthDelimited() {
    const std::uint64_t size_bytes = ReadVarint();
    if (size_bytes > static_cast<std::uint64_t>(end_ - position_)) [[unlikely]] {
      Stop();
      return {};
    }
    const std::string_view bytes(position_, static_cast<std::size_t>(size_bytes));
    position_ += size_bytes;
    return bytes;
  }
  template <class Word>
  Word ReadFixed() {
    static_assert(std::endian::native == std::endian::little);
    if (end_ - position_ < static_cast<std::ptrdiff_t>(sizeof(Word))) return Stop();
    Word word;
    std::memcpy(&word, position_, sizeof(Word));
    position_ += sizeof(Word);
    return word;
  }
  void SkipGroup();

  const char* position_;
  const char* end_;
  std::uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  bool failed_ = false;
};

}  // namespace kvorum::wire
