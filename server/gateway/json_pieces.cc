#include "server/gateway/json_pieces.h"

#include "server/gateway/json_values.h"

namespace kvorum::server::gateway {
namespace {

constexpr bool IsNumberByte(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}
// The word that begins with this letter; empty if there is none.
constexpr std::string_view WordWith(char first) {
  if (first == 't') return "true";
  if (first == 'f') return "false";
  return first == 'n' ? "null" : "";
}

}  // namespace

void JsonPieces::Put(std::string_view piece) {
  if (ended_) return;
  text_.append(piece);
}

void JsonPieces::Compact() {
  if (begin_ < text_.size() - begin_) return;
  // A copy, since a string that shrinks keeps its memory.
  text_ = std::string(text_, begin_);
  scanned_ -= begin_;
  begin_ = 0;
}

bool JsonPieces::HasNext() {
  Scan();
  return complete_ || ended_ || is_too_large();
}

void JsonPieces::Scan() {
  if (scanned_ == begin_) {
    while (begin_ < text_.size() && IsSpace(text_[begin_])) ++begin_;
    scanned_ = begin_;
    Compact();
  }
  while (!complete_ && scanned_ < text_.size()) {
    const char c = text_[scanned_];
    if (depth_ == 0 && !in_string_ && scanned_ > begin_) {
      const std::string_view word = WordWith(text_[begin_]);
      const std::size_t place = scanned_ - begin_;
      if (word.empty()) {
        complete_ = !IsNumberByte(c);  // the next byte is not part of the number
      } else {
        complete_ = c != word[place] || place + 1 == word.size();
      }
      if (!complete_ || !word.empty()) ++scanned_;
      continue;
    }
    ++scanned_;
    complete_ = EndsWith(c);
  }
}

// True if the value ends with this byte, its next.
bool JsonPieces::EndsWith(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return depth_ == 0;
    }
    return false;
  }
  switch (c) {
    case '"':
      in_string_ = true;
      return false;
    case '{':
    case '[':
      ++depth_;
      return false;
    case '}':
    case ']':
      if (depth_ > 0) --depth_;
      return depth_ == 0;
    default:
      // A byte that begins no value is complete by itself, and a fault.
      return depth_ == 0 && !IsNumberByte(c) && WordWith(c).empty();
  }
}

std::expected<std::optional<std::string>, std::string> JsonPieces::Next() {
  const std::string_view text =
      std::string_view(text_).substr(begin_, complete_ ? scanned_ - begin_ : std::string::npos);
  auto value = JsonValues(text).Next();
  if (!value.has_value() || !value->has_value()) {
    std::string().swap(text_);
    begin_ = scanned_ = 0;
    complete_ = false;
    ended_ = true;
    if (!value.has_value()) return std::unexpected(std::move(value).error());
    return std::nullopt;
  }
  std::optional<std::string> taken(std::in_place, **value);
  begin_ += static_cast<std::size_t>((*value)->data() - text.data()) + (*value)->size();
  scanned_ = begin_;
  complete_ = false;
  Compact();
  return taken;
}

}  // namespace kvorum::server::gateway
