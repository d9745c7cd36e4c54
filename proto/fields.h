// Messages by table: a message is a plain struct, and one constexpr table says which member is
// which field. Size, bytes and reading follow from it, and so do the gateway's JSON, by the field's
// name, and what a line of the log shows of it. A field's number and name stand once.
//
//   struct LeaseGrantRequest {
//     std::int64_t ttl_s = 0;
//     std::int64_t id = 0;
//   };
//   constexpr auto kGrant =
//       wire::Describe<LeaseGrantRequest, wire::Field<1, &LeaseGrantRequest::ttl_s, "TTL">,
//                      wire::Field<2, &LeaseGrantRequest::id, "ID", wire::kShown>>(
//           "etcdserverpb.LeaseGrantRequest");
//   std::string bytes = wire::Encode(kGrant, request);
//   wire::Decoded outcome = wire::Decode(kGrant, bytes, request);
//
// A member is an integer, a StrongNumber, an enum, a bool, a string, a string_view (into the
// decoded bytes), a SharedBytes (a slice of the decoded block) or another described struct, Nested.
// A std::vector of these is a repeated field. A std::optional is written if it is set; any other
// member unless it is zero or empty, but a struct is always written.
//
// Threading: constants and functions. Errors: decoding ends at the first field that is malformed,
// by the rules of wire::Reader, and leaves the message half filled. Unknown fields are skipped; a
// nested message that comes in parts is merged. Tables hold no cycle, so nesting is bounded by the
// tables. Cost: encoding is one allocation of the exact size; a field is a few indirect calls. What
// every request passes through is unrolled (inline_fields.h) or by hand (docs/decisions/0020); a
// message that is read and written by hand has a table without access (ByHand), from which its code
// takes the numbers.
//
// A struct's initial values are the wire's zeros. Include this in the .cc file that has the table.
// tests/proto/message_tables_test.cc compares every table with the .proto files and fails for one
// that is not in its list.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "base/strong_number.h"

namespace kvorum::wire {

// The type that the .proto file declares; numbers come first.
enum class FieldType : std::uint8_t {
  kInt64,
  kUint64,
  kUint32,
  kBool,
  kEnum,
  kString,
  kBytes,
  kMessage,
};

// The functions that read and set a value of one C++ type: as a number or as bytes. A nested
// message has neither.
struct Access {
  std::uint64_t (*number)(const void* value) = nullptr;
  void (*set_number)(void* value, std::uint64_t number) = nullptr;
  std::string_view (*bytes)(const void* value) = nullptr;
  void (*set_bytes)(void* value, std::string_view bytes, const SharedBytes* block) = nullptr;
};

struct Table;

// A log line's part of a field, with its name: nothing, its value, or the size of its bytes alone.
// Nothing unless a row says otherwise: that is how values, passwords and tokens stay out of lines.
enum class Log : std::uint8_t { kHidden, kShown, kSizeShown };
using enum Log;

struct Row {
  std::uint32_t number = 0;
  std::string_view name = {};  // as in the .proto file; empty for what neither JSON nor a log shows
  FieldType type = FieldType::kInt64;
  Log log = kHidden;
  std::string_view oneof = {};                    // the oneof's name, of its fields
  std::span<const std::string_view> values = {};  // the names of an enum's values, from 0
  Access access = {};                             // neither of a message that has a struct
  bool repeated = false;
  bool packed = false;       // how a repeated number is written; both spellings are read
  bool writes_zero = false;  // present even if it is zero or empty
  bool is_checked_text = false;
  std::uint64_t last = UINT64_MAX;  // of an enum whose other numbers are malformed
  // A message's. It is handed through as bytes if there is access to them, and may be null then.
  const Table* nested = nullptr;
  // The i-th value of this field; null where there is none.
  const void* (*get)(const void* message, std::size_t i) = nullptr;
  // The value to decode into: a new one of a repeated field.
  void* (*place)(void* message) = nullptr;
};

// A known field of another wire type than the table's.
enum class OtherTypes : std::uint8_t { kAreUnknown, kAreMalformed };

struct Table {
  std::string_view names;     // full names of the messages that it describes, separated by spaces
  std::span<const Row> rows;  // in ascending order
  OtherTypes other_types = OtherTypes::kAreUnknown;
  std::shared_ptr<void> (*make)() = nullptr;  // a new message, for callers that have only the table
};

template <class T>
struct Message : Table {};

// The part of `block` that `part` views.
SharedBytes SliceOf(const SharedBytes& block, std::string_view part);

enum class Decoded : std::uint8_t { kOk, kMalformed, kInvalidUtf8 };

// --- tables ------------------------------------------------------------------------------------

namespace fields {

template <class Value>
constexpr bool kIsBytes =
    std::is_same_v<Value, std::string> || std::is_same_v<Value, std::string_view> ||
    std::is_same_v<Value, SharedBytes>;

// The access to the values of a member: one, an optional one, or many.
template <class Member>
struct Held {
  using Value = Member;
  static constexpr bool kRepeated = false;
  static constexpr bool kWritesZero =
      std::is_class_v<Value> && !kIsBytes<Value> && !kIsStrongNumber<Value>;
  static const Value* Get(const Value& value, std::size_t i) { return i == 0 ? &value : nullptr; }
  static Value* Place(Value& value) { return &value; }
};
template <class V>
struct Held<std::optional<V>> {
  using Value = V;
  static constexpr bool kRepeated = false;
  static constexpr bool kWritesZero = true;
  static const V* Get(const std::optional<V>& value, std::size_t i) {
    return i == 0 && value.has_value() ? &*value : nullptr;
  }
  static V* Place(std::optional<V>& value) {
    return value.has_value() ? &*value : &value.emplace();
  }
};
template <class V>
struct Held<std::vector<V>> {
  using Value = V;
  static constexpr bool kRepeated = true;
  static constexpr bool kWritesZero = true;
  static const V* Get(const std::vector<V>& values, std::size_t i) {
    return i < values.size() ? &values[i] : nullptr;
  }
  static V* Place(std::vector<V>& values) { return &values.emplace_back(); }
};

template <auto member>
struct At;
template <class Struct, class Member, Member Struct::* member>
struct At<member> {
  using Owner = Struct;
  using Holder = Held<Member>;
  static const void* Get(const void* message, std::size_t i) {
    return Holder::Get(static_cast<const Struct*>(message)->*member, i);
  }
  static void* Place(void* message) {
    return Holder::Place(static_cast<Struct*>(message)->*member);
  }
};
template <auto member, class Kind>
struct AtKind;
template <class Struct, class Member, Member Struct::* member, class Kind>
struct AtKind<member, Kind> {
  using Owner = Struct;
  static const void* Get(const void* message, std::size_t i) {
    return i == 0 ? std::get_if<Kind>(&(static_cast<const Struct*>(message)->*member)) : nullptr;
  }
  static void* Place(void* message) {
    Member& kinds = static_cast<Struct*>(message)->*member;
    Kind* same = std::get_if<Kind>(&kinds);
    return same != nullptr ? same : &kinds.template emplace<Kind>();
  }
};

template <class Value>
consteval Access AccessOf() {
  if constexpr (std::is_same_v<Value, SharedBytes>) {
    return {
        .bytes = [](const void* value) { return static_cast<const SharedBytes*>(value)->view(); },
        .set_bytes =
            [](void* value, std::string_view bytes, const SharedBytes* block) {
              *static_cast<SharedBytes*>(value) =
                  block != nullptr ? SliceOf(*block, bytes) : SharedBytes::Copy(bytes);
            }};
  } else if constexpr (kIsBytes<Value>) {
    return {.bytes = [](const void* value) -> std::string_view {
              return *static_cast<const Value*>(value);
            },
            .set_bytes = [](void* value, std::string_view bytes,
                            const SharedBytes*) { *static_cast<Value*>(value) = bytes; }};
  } else if constexpr (kIsStrongNumber<Value>) {
    return {
        .number = [](const void* value) { return static_cast<const Value*>(value)->value(); },
        .set_number = [](void* value,
                         std::uint64_t number) { *static_cast<Value*>(value) = Value{number}; }};
  } else if constexpr (std::is_class_v<Value>) {
    return {};
  } else {  // a number that does not fit is cut, and a negative one takes ten bytes, as in protobuf
    return {.number =
                [](const void* value) {
                  return static_cast<std::uint64_t>(*static_cast<const Value*>(value));
                },
            .set_number =
                [](void* value, std::uint64_t number) {
                  *static_cast<Value*>(value) = static_cast<Value>(number);
                }};
  }
}

template <class Value>
consteval FieldType TypeOf() {
  if (kIsBytes<Value>) return FieldType::kBytes;
  if (kIsStrongNumber<Value>) return FieldType::kUint64;
  if (std::is_class_v<Value>) return FieldType::kMessage;
  if (std::is_enum_v<Value>) return FieldType::kEnum;
  if (std::is_same_v<Value, bool>) return FieldType::kBool;
  if (std::is_same_v<Value, std::uint32_t>) return FieldType::kUint32;
  return std::is_signed_v<Value> ? FieldType::kInt64 : FieldType::kUint64;
}

template <std::uint32_t number, auto member, std::uint64_t last = UINT64_MAX>
consteval Row RowOf(std::string_view name = {}, Log log = kHidden) {
  using Place = At<member>;
  using Value = Place::Holder::Value;
  static_assert(!std::is_enum_v<Value> || sizeof(Value) > 1 || last <= UINT8_MAX,
                "an open enum takes 32 bits, or the numbers that it does not know would be cut");
  return {.number = number,
          .name = name,
          .type = TypeOf<Value>(),
          .log = log,
          .access = AccessOf<Value>(),
          .repeated = Place::Holder::kRepeated,
          .writes_zero = Place::Holder::kWritesZero,
          .last = last,
          .get = Place::Get,
          .place = Place::Place};
}

consteval Row Changed(Row row, auto&& change) {
  change(row);
  return row;
}

template <class T>
std::shared_ptr<void> Make() {
  return std::make_shared<T>();
}

template <class... Fields>
inline constexpr std::array<Row, sizeof...(Fields)> kRows = {Fields::kRow...};

consteval bool IsAscending(std::span<const Row> rows) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i - 1].number >= rows[i].number) return false;
  return true;
}

}  // namespace fields

// A name as an argument of a template.
template <std::size_t size>
struct FieldName {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is given
  consteval FieldName(const char (&literal)[size]) { std::ranges::copy(literal, text); }
  constexpr std::string_view view() const { return {text, size - 1}; }
  char text[size];
};

// A number, or bytes.
template <std::uint32_t number, auto member, FieldName name = "", Log log = kHidden>
struct Field {
  using Owner = fields::At<member>::Owner;
  static constexpr auto kMember = member;
  static constexpr Row kRow = fields::RowOf<number, member>(name.view(), log);
};
// A string, which is refused if it is no UTF-8.
template <std::uint32_t number, auto member, FieldName name = "", Log log = kHidden>
struct Text : Field<number, member, name, log> {
  static constexpr Row kRow =
      fields::Changed(fields::RowOf<number, member>(name.view(), log), [](Row& row) {
        row.type = FieldType::kString;
        row.is_checked_text = true;
      });
};
// A string that is read as it is: in what members and logs hold, not in what clients ask.
template <std::uint32_t number, auto member, FieldName name = "", Log log = kHidden>
struct UncheckedText : Field<number, member, name, log> {
  static constexpr Row kRow = fields::Changed(fields::RowOf<number, member>(name.view(), log),
                                              [](Row& row) { row.type = FieldType::kString; });
};
// An enum with the names of its values; other numbers are read too.
template <std::uint32_t number, auto member, const auto& values, FieldName name, Log log = kHidden>
struct Enum : Field<number, member, name, log> {
  static constexpr Row kRow = fields::Changed(fields::RowOf<number, member>(name.view(), log),
                                              [](Row& row) { row.values = values; });
};
// An enum whose numbers past the last one are malformed.
template <std::uint32_t number, auto member, auto last>
struct ClosedEnum : Field<number, member> {
  static constexpr Row kRow = fields::RowOf<number, member, static_cast<std::uint64_t>(last)>();
};
// A message that has a table.
template <std::uint32_t number, auto member, const auto& table, FieldName name = "",
          Log log = kHidden>
struct Nested : Field<number, member, name, log> {
  static constexpr Row kRow =
      fields::Changed(fields::RowOf<number, member>(name.view(), log), [](Row& row) {
        row.type = FieldType::kMessage;
        row.access = {};
        row.writes_zero = true;
        row.nested = &table;
      });
};
// The only field of a message that has no separate struct and is this field's value.
template <std::uint32_t number, class Value, FieldName name = "", Log log = kHidden>
struct Only {
  using Owner = Value;
  static constexpr Row kRow = {
      .number = number,
      .name = name.view(),
      .type = fields::TypeOf<Value>(),
      .log = log,
      .access = fields::AccessOf<Value>(),
      .get = [](const void* message, std::size_t i) { return i == 0 ? message : nullptr; },
      .place = [](void* message) { return message; }};
};
// A message that is passed through as bytes, without being decoded here; its table is for those who
// show it.
inline constexpr Table kUnknownMessage;
template <std::uint32_t number, auto member, const auto& table = kUnknownMessage,
          FieldName name = "">
struct Encoded : Field<number, member, name> {
  static constexpr Row kRow =
      fields::Changed(fields::RowOf<number, member>(name.view()), [](Row& row) {
        row.type = FieldType::kMessage;
        if (&table != &kUnknownMessage) row.nested = &table;
      });
};
// A message that is one kind of a oneof, which a std::variant holds; the last kind that comes wins.
template <std::uint32_t number, auto member, class Kind, const auto& table, FieldName name = "",
          FieldName oneof = "">
struct OneOf {
  using Place = fields::AtKind<member, Kind>;
  using Owner = Place::Owner;
  static constexpr Row kRow = {.number = number,
                               .name = name.view(),
                               .type = FieldType::kMessage,
                               .oneof = oneof.view(),
                               .writes_zero = true,
                               .nested = &table,
                               .get = Place::Get,
                               .place = Place::Place};
};
// The field is written even if it is zero or empty.
template <class Of>
struct Always : Of {
  static constexpr Row kRow = fields::Changed(Of::kRow, [](Row& row) { row.writes_zero = true; });
};
// A repeated number, written as proto3 does.
template <class Of>
struct Packed : Of {
  static constexpr Row kRow = fields::Changed(Of::kRow, [](Row& row) { row.packed = true; });
};

// The fields of a message, for those that inline_fields.h reads.
template <class... F>
struct Fields {};

template <class T, class... Fields>
consteval Message<T> Describe(std::string_view names,
                              OtherTypes other_types = OtherTypes::kAreUnknown) {
  static_assert((std::is_same_v<T, typename Fields::Owner> && ...), "a member of another struct");
  static_assert(fields::IsAscending(fields::kRows<Fields...>), "fields out of order");
  return {{names, fields::kRows<Fields...>, other_types, fields::Make<T>}};
}

// --- messages that are read and written by hand -------------------------------------------------

// A row without access.
consteval Row Bare(std::uint32_t number, std::string_view name, FieldType type, Log log = kHidden) {
  return {.number = number, .name = name, .type = type, .log = log};
}
consteval Row BareEnum(std::uint32_t number, std::string_view name,
                       std::span<const std::string_view> values, Log log = kHidden) {
  return {.number = number, .name = name, .type = FieldType::kEnum, .log = log, .values = values};
}
consteval Row Part(std::uint32_t number, std::string_view name, const Table& message) {
  return {.number = number, .name = name, .type = FieldType::kMessage, .nested = &message};
}
consteval Row Many(Row row) {
  row.repeated = true;
  return row;
}
consteval Row Either(std::string_view oneof, Row row) {
  row.oneof = oneof;
  return row;
}
consteval Table ByHand(std::string_view names, std::span<const Row> rows) {
  return {.names = names, .rows = rows};
}

// The number of a field, for the code by hand. A name that is not in the table does not compile.
consteval std::uint32_t NumberOf(std::span<const Row> rows, std::string_view name) {
  for (const Row& row : rows)
    if (row.name == name) return row.number;
  throw "no field has this name";
}

// --- bytes -------------------------------------------------------------------------------------

std::size_t EncodedSize(const Table& table, const void* message);
// Into memory of EncodedSize bytes; returns the place behind them.
char* WriteTo(char* out, const Table& table, const void* message);
void AppendTo(std::string& out, const Table& table, const void* message);
SharedBytes EncodeShared(const Table& table, const void* message);
// Decides whether text that is checked (Text) may be any bytes.
enum class Texts : std::uint8_t { kAreUtf8, kAreAnyBytes };
// The bytes lie in `block` if it is not null; slices are copies of their own else.
Decoded DecodeInto(void* message, const Table& table, std::string_view bytes,
                   const SharedBytes* block = nullptr, Texts texts = Texts::kAreUtf8);

template <class T>
std::string Encode(const Message<T>& table, const T& message) {
  std::string out;
  AppendTo(out, table, &message);
  return out;
}
template <class T>
SharedBytes EncodeShared(const Message<T>& table, const T& message) {
  return EncodeShared(static_cast<const Table&>(table), &message);
}
template <class T>
Decoded Decode(const Message<T>& table, std::string_view bytes, T& message) {
  return DecodeInto(&message, table, bytes);
}

// A client's request: the error is the one that the client gets.
std::unexpected<Error> RefuseRequest(Decoded outcome);
template <class T>
Result<T> DecodeRequest(const Message<T>& table, std::string_view bytes,
                        Texts texts = Texts::kAreUtf8) {
  T request{};
  const Decoded outcome = DecodeInto(&request, table, bytes, nullptr, texts);
  if (outcome != Decoded::kOk) [[unlikely]]
    return RefuseRequest(outcome);
  return request;
}

}  // namespace kvorum::wire
