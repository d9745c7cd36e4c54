#include "server/peer/io/incarnation.h"

#include "api/member_id.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kLacking = "lacking";

// Cuts the next word off, up to a separator or the end.
std::string_view NextWord(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

}  // namespace

std::string Incarnation::Text() const {
  std::string text = IdText(id) + " " + IdText(starts) + " ";
  for (std::size_t i = 0; i < recent.size(); ++i) {
    if (i > 0) text += ',';
    text += IdText(recent[i]);
  }
  if (lacks_data) text.append(" ").append(kLacking);
  return text;
}

std::optional<Incarnation> Incarnation::Parse(std::string_view text) {
  Incarnation incarnation;
  const auto id = ParseIdText(NextWord(text, ' '));
  const auto starts = ParseIdText(NextWord(text, ' '));
  std::string_view recent = NextWord(text, ' ');
  if (!id.has_value() || !starts.has_value() || *id == 0 || *starts == 0) return std::nullopt;
  incarnation.id = *id;
  incarnation.starts = *starts;
  while (!recent.empty()) {
    const auto start = ParseIdText(NextWord(recent, ','));
    if (!start.has_value() || incarnation.recent.size() == kRecentStarts) return std::nullopt;
    incarnation.recent.push_back(*start);
  }
  if (incarnation.recent.empty() || incarnation.recent.size() > incarnation.starts)
    return std::nullopt;
  if (!text.empty() && text != kLacking) return std::nullopt;
  incarnation.lacks_data = !text.empty();
  return incarnation;
}

SeenIncarnation SeenIncarnation::Of(const Incarnation& told) {
  return {.id = told.id, .starts = told.starts, .start = told.recent.front()};
}

bool SeenIncarnation::IsAheadOf(const Incarnation& told) const {
  if (told.id != id || told.starts < starts) return true;
  const std::uint64_t since = told.starts - starts;
  return since < told.recent.size() && told.recent[since] != start;
}

}  // namespace kvorum::server
