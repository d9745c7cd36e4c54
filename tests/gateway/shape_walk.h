// Every message that the gateway's routes show, with those within them.
#pragma once

#include <map>
#include <string>

#include "api/message_tables.h"
#include "server/gateway/routes.h"
#include "tests/gateway/generated_messages.h"

namespace kvorum::server::gateway {

// The tables by the messages' names. A table may serve several messages.
using ShownMessages = std::map<std::string, const wire::Table*>;

inline void AddMessages(const wire::Table& table, const google::protobuf::Descriptor& message,
                        ShownMessages& shown) {
  if (!shown.emplace(message.full_name(), &table).second) return;
  for (const wire::Row& row : table.rows) {
    const auto* const field = message.FindFieldByNumber(static_cast<int>(row.number));
    if (field != nullptr && field->message_type() != nullptr && row.nested != nullptr)
      AddMessages(*row.nested, *field->message_type(), shown);
  }
}

inline ShownMessages AllShown() {
  ShownMessages shown;
  for (const Route& route : Routes()) {
    const auto* const method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
        MethodNameOf(route.method));
    if (method == nullptr) continue;  // json_fields_test.cc fails for it
    AddMessages(*route.request, *method->input_type(), shown);
    AddMessages(*route.response, *method->output_type(), shown);
  }
  return shown;
}

inline const wire::Table& TableOf(std::string_view message) { return *MessageNamed(message); }

}  // namespace kvorum::server::gateway
