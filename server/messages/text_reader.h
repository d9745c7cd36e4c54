// A reader of messages that have proto3 strings, which are refused if they are no UTF-8.
//
//   TextReader reader(bytes);
//   while (reader.Next()) ...  name = reader.Text(); ...
//   KV_RETURN_IF_ERROR(reader.Outcome());
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "proto/wire.h"
#include "server/messages/kv_decode.h"

namespace kvorum::server {

class TextReader : public wire::Reader {
 public:
  using Reader::Reader;

  std::string_view Text() {
    const std::string_view text = Bytes();
    if (IsValidUtf8(text)) return text;
    has_bad_text_ = true;
    Stop();
    return {};
  }
  // At the end: MalformedRequest or InvalidUtf8Request, whichever came first.
  Result<void> Outcome() const {
    if (has_bad_text_) return InvalidUtf8Request();
    if (!ok()) return MalformedRequest();
    return {};
  }

 private:
  bool has_bad_text_ = false;
};

}  // namespace kvorum::server
