// JSON as Go's encoder writes it: compact, fields in the order of their declaration, bytes in
// base64, 64-bit numbers as numbers, enums as numbers, zero values left out.
#pragma once

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace kvorum::ctl {

// Quotes with double quotes; <, > and & are escaped too.
std::string JsonString(std::string_view text);

// Encodes in base64.
std::string JsonBytes(std::string_view bytes);

std::string JsonMessage(const google::protobuf::Message& message);

// Builds {"name":value,...}; values are already encoded. Used by one thread.
class JsonObject {
 public:
  JsonObject& Add(std::string_view name, std::string_view json);
  std::string Finish() const;

 private:
  std::string body_;
};

// [a,b]; null for an empty list, as Go writes a nil slice.
template <class Items, class Encode>
std::string JsonList(const Items& items, const Encode& encode) {
  std::string body;
  for (const auto& item : items) {
    if (!body.empty()) body += ',';
    body += encode(item);
  }
  if (body.empty()) return "null";
  return body.insert(0, 1, '[').append(1, ']');
}

}  // namespace kvorum::ctl
