// The lines of an export, each a JSON object. The first says what follows, then comes a line per
// key, and the last says that nothing is missing:
//
//   {"format":"kvorum-export-1","cluster":"HEX","revision":N,"prefix":"BASE64","keys":N}
//   {"key":"BASE64","value":"BASE64","create_revision":N,"mod_revision":N,"version":N}
//   {...,"lease":"HEX","ttl":SECONDS}      a key with a lease, and what the lease was granted for
//   {"end":true,"keys":N}
//
// Numbers above 2^53, which not every reader of JSON keeps, are texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"

namespace kvorum::ctl {

struct ExportHead {
  std::uint64_t cluster = 0;
  std::int64_t revision = 0;
  std::string prefix = {};
  std::int64_t keys = 0;

  friend bool operator==(const ExportHead&, const ExportHead&) = default;
};

struct ExportedKey {
  std::string key = {};
  std::string value = {};
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::int64_t lease = 0;  // 0: none
  std::int64_t ttl_s = 0;  // of the lease; 0: it is gone, or may not be read

  friend bool operator==(const ExportedKey&, const ExportedKey&) = default;
};

struct ExportEnd {
  std::int64_t keys = 0;

  friend bool operator==(const ExportEnd&, const ExportEnd&) = default;
};

using ExportLine = std::variant<ExportHead, ExportedKey, ExportEnd>;

// Without the line's end.
std::string WriteExportLine(const ExportLine& line);

// kInvalidArgument with the reason if it is malformed.
Result<ExportLine> ReadExportLine(std::string_view text);

}  // namespace kvorum::ctl
