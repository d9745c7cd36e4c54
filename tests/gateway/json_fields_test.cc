// The messages of the gateway's routes have the fields, names and types of the .proto files, in the
// order that JSON shows. message_tables_test.cc compares the rows themselves.
#include "server/gateway/json_fields.h"

#include <gtest/gtest.h>

#include "tests/gateway/generated_messages.h"
#include "tests/gateway/shape_walk.h"

namespace kvorum::server::gateway {
namespace {

TEST(JsonFieldsTest, EveryRouteHasTheMessagesOfItsMethod) {
  for (const Route& route : Routes()) {
    const auto* const method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
        MethodNameOf(route.method));
    ASSERT_NE(method, nullptr) << route.method;
    EXPECT_EQ(route.request, MessageNamed(method->input_type()->full_name())) << route.method;
    EXPECT_EQ(route.response, MessageNamed(method->output_type()->full_name())) << route.method;
    EXPECT_EQ(route.reads_open_body, method->client_streaming()) << route.method;
  }
}

TEST(JsonFieldsTest, EachIsItsFieldInTheProtoFiles) {
  for (const auto& [name, table] : AllShown()) {
    const auto& message = *DescriptorOf(name);
    for (int i = 0; i < message.field_count(); ++i) {
      const auto& field = *message.field(i);
      const auto* row = FieldNumbered(*table, static_cast<std::uint32_t>(field.number()));
      ASSERT_NE(row, nullptr) << field.full_name();
      EXPECT_EQ(row->name, field.name());
      EXPECT_EQ(JsonName(row->name), field.json_name());
      EXPECT_EQ(row->nested != nullptr, field.message_type() != nullptr) << field.full_name();
      EXPECT_EQ(row->values.empty(), field.enum_type() == nullptr) << field.full_name();
    }
    EXPECT_LE(message.real_oneof_decl_count(), 1);
    EXPECT_LE(table->rows.size(), 64u) << name;
  }
}

TEST(JsonFieldsTest, AFieldIsFoundByBothSpellings) {
  for (const auto& [name, table] : AllShown()) {
    for (const wire::Row& row : table->rows) {
      EXPECT_EQ(FieldNumbered(*table, row.number), &row) << name << " " << row.name;
      EXPECT_EQ(FieldNamed(*table, row.name), &row);
      EXPECT_EQ(FieldNamed(*table, JsonName(row.name)), &row);
    }
    for (const char* unknown : {"", "nope", "KEY", "range_End", "rangeend", "[header]"})
      EXPECT_EQ(FieldNamed(*table, unknown), nullptr) << name << " " << unknown;
  }
}

}  // namespace
}  // namespace kvorum::server::gateway
