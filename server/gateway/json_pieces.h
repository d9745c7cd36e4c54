// The JSON values of a body that comes in pieces, one after another, each as soon as its last byte
// is there. Pure; used by one thread.
//
// A value's end is found by its brackets and strings alone; JsonValues judges it then. A number
// ends with what follows it. Each byte is looked at twice, however small the pieces are. The memory
// is that of what was not taken, up to twice as much.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::server::gateway {

class JsonPieces {
 public:
  explicit JsonPieces(std::size_t max_value_bytes) : max_value_bytes_(max_value_bytes) {}

  void Put(std::string_view piece);
  void End() { ended_ = true; }

  // True if Next has an answer: a value is complete, the body has ended, or is_too_large.
  bool HasNext();
  // The bytes that were put and not taken.
  std::size_t held_bytes() const { return text_.size() - begin_; }
  // The bytes of a value that is not complete are more than the bound.
  bool is_too_large() const { return text_.size() - begin_ > max_value_bytes_ && !complete_; }
  // The next value; nullopt at the end; a fault's text. After a fault nothing follows.
  std::expected<std::optional<std::string>, std::string> Next();

 private:
  // Looks on for the end of the value at begin_.
  void Scan();
  bool EndsWith(char c);
  // Gives back the memory of what was taken, once that is at least half.
  void Compact();

  const std::size_t max_value_bytes_;
  std::string text_;
  std::size_t begin_ = 0;    // of what was not taken
  std::size_t scanned_ = 0;  // the end of what was looked at
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool complete_ = false;  // the value at begin_ ends at scanned_
  bool ended_ = false;
};

}  // namespace kvorum::server::gateway
