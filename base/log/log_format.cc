// The format of a log line: implements FormatLogLine.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/log/log_time.h"
#include "base/log/logging.h"
#include "base/utf8.h"

namespace kvorum {
namespace {

constexpr std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
    case LogLevel::kPanic:
      return "panic";
    case LogLevel::kFatal:
      return "fatal";
  }
  return "unknown";
}

// Appends the inside of a JSON string. A byte that is not part of valid UTF-8 becomes U+FFFD, so
// that a line is valid JSON for any bytes in a client's key.
void AppendEscaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      const std::size_t length = Utf8SequenceLength(text.substr(i));
      if (length == 0) {
        out += "\\ufffd";
        ++i;
      } else {
        out += text.substr(i, length);
        i += length;
      }
      continue;
    }
    ++i;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out += "\\u00";
          out += kHex[byte >> 4];
          out += kHex[byte & 0xf];
        } else {
          out += c;
        }
    }
  }
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  AppendEscaped(out, text);
  out += '"';
}

template <class T>
void AppendNumber(std::string& out, T value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

void AppendDouble(std::string& out, double value) {
  if (std::isfinite(value)) {
    AppendNumber(out, value);
  } else {  // JSON has no such numbers
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"+Inf\"" : "\"-Inf\"";
  }
}

void AppendValue(std::string& out, const LogField& field) {
  switch (field.kind) {
    case LogField::Kind::kString:
      AppendQuoted(out, field.text);
      return;
    case LogField::Kind::kInteger:
      AppendNumber(out, field.integer);
      return;
    case LogField::Kind::kUnsigned:
      AppendNumber(out, field.unsigned_integer);
      return;
    case LogField::Kind::kDouble:
      AppendDouble(out, field.number);
      return;
    case LogField::Kind::kBool:
      out += field.integer != 0 ? "true" : "false";
      return;
    case LogField::Kind::kStrings:
      out += '[';
      for (const std::string& text : field.texts) {
        if (out.back() != '[') out += ',';
        AppendQuoted(out, text);
      }
      out += ']';
      return;
  }
}

void AppendFields(std::string& out, std::initializer_list<LogField> fields, bool comma) {
  for (const LogField& field : fields) {
    if (field.name.empty()) continue;
    if (comma) out += ',';
    comma = true;
    AppendQuoted(out, field.name);
    out += ':';
    AppendValue(out, field);
  }
}

// Go's layout 2006-01-02T15:04:05.000000Z0700: six digits of the second's fraction, and Z for a
// zero offset.
void AppendTimestamp(std::string& out, std::int64_t wall_ns) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  std::int64_t seconds = wall_ns / kNanos;
  std::int64_t nanos = wall_ns % kNanos;
  if (nanos < 0) {
    nanos += kNanos;
    --seconds;
  }
  const std::time_t time = seconds;
  std::tm parts = {};
  ::localtime_r(&time, &parts);
  std::array<char, 64> buffer;
  out.append(buffer.data(),
             std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts));
  std::snprintf(buffer.data(), buffer.size(), ".%06d", static_cast<int>(nanos / 1000));
  out += buffer.data();
  if (parts.tm_gmtoff == 0) {
    out += 'Z';
    return;
  }
  const long minutes = std::labs(parts.tm_gmtoff) / 60;
  std::snprintf(buffer.data(), buffer.size(), "%c%02ld%02ld", parts.tm_gmtoff < 0 ? '-' : '+',
                minutes / 60, minutes % 60);
  out += buffer.data();
}

// Appends "folder/file.cc:12" for "/any/where/folder/file.cc".
void AppendCaller(std::string& out, std::string_view file, int line) {
  const std::size_t name = file.find_last_of('/');
  if (name != std::string_view::npos && name > 0) {
    const std::size_t folder = file.find_last_of('/', name - 1);
    if (folder != std::string_view::npos) file.remove_prefix(folder + 1);
  }
  AppendEscaped(out, file);
  out += ':';
  AppendNumber(out, line);
}

}  // namespace

std::string LogTime(std::int64_t wall_ns) {
  std::string out;
  AppendTimestamp(out, wall_ns);
  return out;
}

std::string FormatLogLine(bool json, LogLevel level, std::int64_t wall_ns, const char* file,
                          int line, std::string_view message,
                          std::initializer_list<LogField> fields) {
  std::string out;
  out.reserve(160 + message.size());
  if (json) {
    out += "{\"level\":\"";
    out += LevelName(level);
    out += "\",\"ts\":\"";
    AppendTimestamp(out, wall_ns);
    out += "\",\"caller\":\"";
    AppendCaller(out, file, line);
    out += "\",\"msg\":";
    AppendQuoted(out, message);
    AppendFields(out, fields, true);
    out += '}';
    return out;
  }
  AppendTimestamp(out, wall_ns);
  out += '\t';
  out += LevelName(level);
  out += '\t';
  AppendCaller(out, file, line);
  out += '\t';
  AppendEscaped(out, message);
  if (fields.size() > 0) {
    out += "\t{";
    AppendFields(out, fields, false);
    out += '}';
  }
  return out;
}

}  // namespace kvorum
