// Reads one value of JsonValues token by token. The grammar holds already; strings are checked
// here: they must be UTF-8, and their escapes must name characters.
//
// Used by one thread; borrows the text. Errors and their texts are those of Go's protojson.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::server::gateway {

struct JsonToken {
  enum class Kind : std::uint8_t {
    kEnd,
    kOpenObject,
    kCloseObject,
    kOpenArray,
    kCloseArray,
    kString,  // also an object's names
    kNumber,
    kBool,
    kNull,
  };

  Kind kind = Kind::kEnd;
  std::size_t position = 0;
  std::string_view raw;   // as it stands in the text
  std::string_view text;  // of a string: what it says; valid until the next token is read
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view value) : value_(value) {}

  Result<JsonToken> Next();
  // The kind of the next token, without taking it.
  JsonToken::Kind Peek();
  // Skips the next value, of any kind.
  Result<void> Skip();

  // An error about what stands there, kInvalidArgument.
  Error Fault(std::size_t position, std::string_view text) const;
  Error SyntaxFault(std::size_t position, std::string_view text) const;
  Error Unexpected(const JsonToken& token) const;

 private:
  std::string PlaceOf(std::size_t position) const;
  void SkipToToken();
  Result<JsonToken> ReadString();
  Result<void> ReadEscape(std::size_t start, std::string_view& rest);

  const std::string_view value_;
  std::size_t position_ = 0;
  std::string unescaped_;
};

// An error text as protojson begins it. The space does not break: clients can't rely on it.
Error JsonError(std::string_view text);

// The integer that a number's text stands for: "1.50e2" is 150. nullopt if it is not an integer, or
// if its digits do not fit.
std::optional<std::int64_t> IntegerOf(std::string_view number);
std::optional<std::uint64_t> UnsignedOf(std::string_view number);
// The number at the start of a string's text, which must not end at a letter or digit; empty if
// there is no number.
std::string_view NumberIn(std::string_view text);

}  // namespace kvorum::server::gateway
