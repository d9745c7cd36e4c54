// Values that are messages of one protobuf type, serialized.
#pragma once

#include <google/protobuf/message_lite.h>

#include <limits>
#include <string_view>

#include "base/error.h"

namespace kvorum::sync {

template <class Message>
struct ProtobufCodec {
  using Value = Message;
  static Result<Message> Decode(std::string_view bytes) {
    Message message;
    if (bytes.size() > std::numeric_limits<int>::max() ||
        !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return Fail(Code::kInvalidArgument, "not a message of type " + message.GetTypeName());
    return message;
  }
};

}  // namespace kvorum::sync
