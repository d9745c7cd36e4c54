// Cuts a request's body into JSON values, which need nothing between them, by the grammar alone.
// Strings are not looked into: json_reader.h does that.
//
// The error texts are Go's (package encoding/json), and so is the bound of nested arrays and
// objects. Cost: one pass, a byte for each level. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::server::gateway {

// The characters that may stand between tokens.
constexpr bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class JsonValues {
 public:
  static constexpr std::size_t kMaxDepth = 10'000;

  explicit JsonValues(std::string_view text) : text_(text) {}

  // The next value, without the space around it; nullopt at the end of the text. After an error,
  // which is its text, the same again.
  std::expected<std::optional<std::string_view>, std::string> Next();

 private:
  enum class Expects : std::uint8_t {
    kValue,
    kValueOrEnd,  // after '['
    kName,        // after ',' in an object
    kNameOrEnd,   // after '{'
    kColon,
    kCommaOrEnd,
  };
  enum class Level : std::uint8_t { kObject, kArray };

  // Each takes what stands at position_; nullopt if the text ends within it. After Fault,
  // has_failed() is true.
  bool TakeString();
  bool TakeNumber();
  bool TakeDigits(std::string_view where);
  bool TakeWord(std::string_view word);
  bool TakeScalar();
  bool Open(Level level);
  bool TakeStructure();
  bool Fault(std::string_view where);
  bool SkipSpace();
  char Here() const { return text_[position_]; }
  bool at_end() const { return position_ == text_.size(); }

  const std::string_view text_;
  std::size_t position_ = 0;
  Expects expects_ = Expects::kValue;
  std::vector<Level> levels_;
  std::string fault_;  // empty: none
};

}  // namespace kvorum::server::gateway
