#include "tools/text/csv.h"

#include <fmt/format.h>

namespace kvorum::ctl {
namespace {

std::unexpected<std::string> Malformed(std::size_t at, std::string_view why) {
  return std::unexpected(fmt::format("parse error on line 1, column {}: {}", at + 1, why));
}

}  // namespace

std::expected<std::vector<std::string>, std::string> ParseCsv(std::string_view text) {
  std::vector<std::string> fields;
  if (text.empty()) return fields;
  text = text.substr(0, text.find('\n'));
  std::size_t at = 0;
  while (true) {
    std::string& field = fields.emplace_back();
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at == text.size()) return Malformed(at, "extraneous or missing \" in quoted-field");
        if (text[at] != '"') {
          field.push_back(text[at]);
        } else if (text.substr(at).starts_with("\"\"")) {
          field.push_back(text[++at]);
        } else {
          break;
        }
      }
      ++at;
      if (at < text.size() && text[at] != ',')
        return Malformed(at - 1, "extraneous or missing \" in quoted-field");
    } else {
      for (; at < text.size() && text[at] != ','; ++at) {
        if (text[at] == '"') return Malformed(at, "bare \" in non-quoted-field");
        field.push_back(text[at]);
      }
    }
    if (at == text.size()) return fields;
    ++at;  // the comma
  }
}

std::string WriteCsv(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) out += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos && !field.starts_with(' ')) {
      out += field;
      continue;
    }
    out += '"';
    for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
    out += '"';
  }
  return out;
}

}  // namespace kvorum::ctl
