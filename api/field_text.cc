#include "api/field_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "proto/fields.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

// The escapes that both forms have; false for any other character.
bool AppendCommonEscape(char c, std::string& out) {
  switch (c) {
    case '"':
    case '\\':
      out += '\\';
      out += c;
      return true;
    case '\n':
      out += "\\n";
      return true;
    case '\r':
      out += "\\r";
      return true;
    case '\t':
      out += "\\t";
      return true;
    default:
      return false;
  }
}

void AppendOctal(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    if (AppendCommonEscape(c, out)) continue;
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\{:03o}", static_cast<unsigned char>(c));
    }
  }
}

// Characters beyond ASCII are shown as they are.
void AppendText(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const Utf8Character next = ReadUtf8(bytes);
    const std::string_view character = bytes.substr(0, next.size_bytes);
    bytes.remove_prefix(next.size_bytes);
    const char c = character.front();
    if (!next.valid || next.code_point < 0x80) {
      if (AppendCommonEscape(c, out)) continue;
      if (c >= 0x20 && c < 0x7f) {
        out += c;
      } else {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
      }
    } else if (next.code_point <= 0x9f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                     static_cast<std::uint32_t>(next.code_point));
    } else {
      out += character;
    }
  }
}

using AppendBytes = void (*)(std::string_view bytes, std::string& out);

void AppendQuoted(std::string_view bytes, AppendBytes append, std::string& out) {
  out += '"';
  append(bytes.substr(0, kMaxShownKeyBytes), out);
  if (bytes.size() > kMaxShownKeyBytes) out += "...";
  out += '"';
}

void AppendValue(const wire::Row& row, wire::Reader& reader, AppendBytes append, std::string& out) {
  out += row.name;
  if (row.log == wire::kSizeShown) {
    out.append("_size:") += std::to_string(reader.Bytes().size());
    return;
  }
  out += ':';
  switch (row.type) {
    case wire::FieldType::kString:
    case wire::FieldType::kBytes:
      return AppendQuoted(reader.Bytes(), append, out);
    case wire::FieldType::kInt64:
      out += std::to_string(reader.Int());
      return;
    case wire::FieldType::kUint64:
    case wire::FieldType::kUint32:
      out += std::to_string(reader.Varint());
      return;
    case wire::FieldType::kBool:
      out += reader.Bool() ? "true" : "false";
      return;
    case wire::FieldType::kEnum: {
      const std::uint64_t value = reader.Varint();
      out += value < row.values.size() ? std::string(row.values[value]) : std::to_string(value);
      return;
    }
    case wire::FieldType::kMessage:
      out += '{';
      AppendPlain(*row.nested, reader.Bytes(), out);
      out += '}';
      return;
  }
}

// `after` ends each field, `between` comes before all but the first.
void AppendFields(const wire::Table& table, std::string_view message, AppendBytes append,
                  std::string_view between, std::string_view after, std::string& out) {
  wire::Reader reader(message);
  bool is_first = true;
  while (out.size() < kMaxSummaryBytes && reader.Next()) {
    const auto row = std::ranges::find(table.rows, reader.field(), &wire::Row::number);
    if (row == table.rows.end() || row->log == wire::kHidden) {
      reader.Skip();
      continue;
    }
    if (!is_first) out += between;
    is_first = false;
    AppendValue(*row, reader, append, out);
    out += after;
  }
}

}  // namespace

void AppendPlain(const wire::Table& table, std::string_view message, std::string& out) {
  AppendFields(table, message, AppendText, "  ", "", out);
}

void AppendReplaced(const wire::Table& table, std::string_view message, std::string& out) {
  AppendFields(table, message, AppendOctal, "", " ", out);
}

void AppendPlainQuoted(std::string_view bytes, std::string& out) {
  AppendQuoted(bytes, AppendText, out);
}

}  // namespace kvorum::server
