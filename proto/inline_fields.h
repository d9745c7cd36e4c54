// Decoding of the messages that every request passes through, from the same rows as their tables
// (fields.h), but unrolled at compile time: as fast as a hand-written switch, for more code.
//
//   using PutFields = wire::Fields<wire::Field<1, &PutRequest::key>, ...>;
//   constexpr auto kPut = wire::DescribeFields<PutRequest>(PutFields(), "etcdserverpb.PutRequest");
//   bool is_well_formed = wire::ReadInline(PutFields(), bytes, request);
//
// Members are integers, bools, open enums and string_views. A known field of another wire type is
// skipped.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "proto/fields.h"
#include "proto/wire.h"

namespace kvorum::wire {

template <class T, class... F>
consteval Message<T> DescribeFields(Fields<F...>, std::string_view names) {
  return Describe<T, F...>(names);
}

template <class F>
inline constexpr std::uint32_t kTagOf =
    F::kRow.type < FieldType::kString ? VarintTag(F::kRow.number) : BytesTag(F::kRow.number);

// A value type without a specialisation of ReadMember does not compile.
template <class V>
void ReadMember(Reader& reader, V& value) {
  if constexpr (std::is_same_v<V, std::string_view>) {
    value = reader.Bytes();
  } else if constexpr (std::is_enum_v<V>) {
    value = static_cast<V>(static_cast<std::int32_t>(reader.Varint()));
  } else if constexpr (std::is_same_v<V, bool>) {
    value = reader.Bool();
  } else {
    static_assert(std::is_integral_v<V>);
    value = static_cast<V>(reader.Varint());
  }
}

// Returns false for malformed bytes.
template <class T, class... F>
[[gnu::always_inline]] inline bool ReadInline(Fields<F...>, std::string_view bytes, T& message) {
  Reader reader(bytes);
  while (reader.Next()) {
    const bool is_known =
        ((reader.tag() == kTagOf<F> && (ReadMember(reader, message.*F::kMember), true)) || ...);
    if (!is_known) reader.Skip();
  }
  return reader.ok();
}

}  // namespace kvorum::wire
