#include "proto/fields.h"

#include "base/api_errors.h"
#include "base/utf8.h"
#include "proto/wire.h"

namespace kvorum::wire {
namespace {

bool IsNumber(const Row& row) { return row.type < FieldType::kString; }
bool IsNested(const Row& row) { return row.access.bytes == nullptr; }  // of a row without a number

// --- writing -----------------------------------------------------------------------------------

// Without tag and length; 0 for a field that is not written.
std::size_t PackedSize(const Row& row, const void* message) {
  std::size_t size_bytes = 0;
  for (std::size_t i = 0; const void* value = row.get(message, i); ++i)
    size_bytes += VarintSize(row.access.number(value));
  return size_bytes;
}

std::size_t ValueSize(const Row& row, const void* value) {
  if (IsNumber(row)) {
    const std::uint64_t number = row.access.number(value);
    return number == 0 && !row.writes_zero ? 0 : TagSize(row.number) + VarintSize(number);
  }
  if (IsNested(row)) return LengthDelimitedSize(row.number, EncodedSize(*row.nested, value));
  const std::size_t size_bytes = row.access.bytes(value).size();
  return row.writes_zero ? LengthDelimitedSize(row.number, size_bytes)
                         : BytesFieldSize(row.number, size_bytes);
}

char* WriteLength(char* out, const Row& row, std::size_t size_bytes) {
  return WriteVarint(WriteTag(out, row.number, Type::kLengthDelimited), size_bytes);
}

char* WritePacked(char* out, const Row& row, const void* message) {
  const std::size_t size_bytes = PackedSize(row, message);
  if (size_bytes == 0) return out;
  out = WriteLength(out, row, size_bytes);
  for (std::size_t i = 0; const void* value = row.get(message, i); ++i)
    out = WriteVarint(out, row.access.number(value));
  return out;
}

char* WriteValue(char* out, const Row& row, const void* value) {
  if (IsNumber(row)) {
    const std::uint64_t number = row.access.number(value);
    return number == 0 && !row.writes_zero ? out : WriteUint(out, row.number, number);
  }
  if (IsNested(row)) {
    out = WriteLength(out, row, EncodedSize(*row.nested, value));
    return WriteTo(out, *row.nested, value);
  }
  const std::string_view bytes = row.access.bytes(value);
  return bytes.empty() && !row.writes_zero ? out : WriteBytes(out, row.number, bytes);
}

// --- reading -----------------------------------------------------------------------------------

class Decoder {
 public:
  Decoder(const SharedBytes* block, Texts texts) : block_(block), texts_(texts) {}

  Decoded Decode(const Table& table, void* message, std::string_view bytes) {
    if (Read(table, message, bytes)) return Decoded::kOk;
    return has_bad_text_ ? Decoded::kInvalidUtf8 : Decoded::kMalformed;
  }

 private:
  bool Read(const Table& table, void* message, std::string_view bytes) {
    Reader reader(bytes);
    const Row* at = table.rows.data();
    while (reader.Next()) {
      if (!Find(table, reader, at)) {
        reader.Skip();
      } else if (!ReadField(reader, *at, message)) {
        return false;
      }
    }
    return reader.ok();
  }

  // False for a field that is to be skipped. Most messages have their fields in order, so the
  // search goes on where the last one ended.
  static bool Find(const Table& table, const Reader& reader, const Row*& at) {
    const Row* const end = table.rows.data() + table.rows.size();
    if (at == end || reader.field() < at->number) at = table.rows.data();
    while (at != end && at->number < reader.field()) ++at;
    if (at == end || at->number != reader.field()) return false;
    return reader.type() == (IsNumber(*at) ? Type::kVarint : Type::kLengthDelimited) ||
           (at->repeated && reader.type() == Type::kLengthDelimited) ||
           table.other_types == OtherTypes::kAreMalformed;
  }

  bool ReadField(Reader& reader, const Row& row, void* message) {
    if (row.repeated && IsNumber(row)) {
      bool in_range = true;
      reader.RepeatedVarint([&](std::uint64_t number) {
        in_range &= number <= row.last;
        row.access.set_number(row.place(message), number);
      });
      return reader.ok() && in_range;
    }
    if (IsNumber(row)) {
      const std::uint64_t number = reader.Varint();
      if (!reader.ok() || number > row.last) return false;
      row.access.set_number(row.place(message), number);
      return true;
    }
    const std::string_view bytes = reader.Bytes();
    if (!reader.ok()) return false;
    if (IsNested(row)) return Read(*row.nested, row.place(message), bytes);
    if (row.is_checked_text && texts_ == Texts::kAreUtf8 && !IsValidUtf8(bytes)) {
      has_bad_text_ = true;
      return false;
    }
    row.access.set_bytes(row.place(message), bytes, block_);
    return true;
  }

  const SharedBytes* block_;
  const Texts texts_;
  bool has_bad_text_ = false;
};

}  // namespace

std::size_t EncodedSize(const Table& table, const void* message) {
  std::size_t size_bytes = 0;
  for (const Row& row : table.rows) {
    if (row.packed) {
      size_bytes += BytesFieldSize(row.number, PackedSize(row, message));
      continue;
    }
    for (std::size_t i = 0; const void* value = row.get(message, i); ++i)
      size_bytes += ValueSize(row, value);
  }
  return size_bytes;
}

char* WriteTo(char* out, const Table& table, const void* message) {
  for (const Row& row : table.rows) {
    if (row.packed) {
      out = WritePacked(out, row, message);
      continue;
    }
    for (std::size_t i = 0; const void* value = row.get(message, i); ++i)
      out = WriteValue(out, row, value);
  }
  return out;
}

SharedBytes SliceOf(const SharedBytes& block, std::string_view part) {
  if (part.empty()) return {};
  return block.Slice(static_cast<std::size_t>(part.data() - block.data()), part.size());
}

void AppendTo(std::string& out, const Table& table, const void* message) {
  const std::size_t at = out.size();
  out.resize(at + EncodedSize(table, message));
  WriteTo(out.data() + at, table, message);
}

SharedBytes EncodeShared(const Table& table, const void* message) {
  char* out = nullptr;
  SharedBytes bytes = SharedBytes::Allocate(EncodedSize(table, message), &out);
  WriteTo(out, table, message);
  return bytes;
}

Decoded DecodeInto(void* message, const Table& table, std::string_view bytes,
                   const SharedBytes* block, Texts texts) {
  return Decoder(block, texts).Decode(table, message, bytes);
}

std::unexpected<Error> RefuseRequest(Decoded outcome) {
  return outcome == Decoded::kInvalidUtf8 ? kErrInvalidUtf8Request.Fail()
                                          : kErrMalformedRequest.Fail();
}

}  // namespace kvorum::wire
