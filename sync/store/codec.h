// A codec reads the values of a prefix: it is a type with a Value and a Decode. Those of JSON and
// protobuf are in codec_json.h and codec_protobuf.h.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::sync {

template <class C>
concept Codec = requires(std::string_view bytes) {
  typename C::Value;
  { C::Decode(bytes) } -> std::same_as<Result<typename C::Value>>;
};

// Values as they are.
struct BytesCodec {
  using Value = std::string;
  static Result<std::string> Decode(std::string_view bytes) { return std::string(bytes); }
};

}  // namespace kvorum::sync
