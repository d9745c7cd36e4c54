#include "server/messages/empty_message.h"

#include "proto/wire.h"
#include "server/messages/kv_decode.h"

namespace kvorum::server {

Result<EmptyMessage> DecodeEmptyMessage(std::string_view bytes) {
  wire::Reader reader(bytes);
  while (reader.Next()) reader.Skip();
  if (!reader.ok()) return MalformedRequest();
  return EmptyMessage{};
}

}  // namespace kvorum::server
