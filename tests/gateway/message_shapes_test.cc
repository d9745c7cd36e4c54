// The gateway's tables of messages say what the .proto files say.
#include "server/gateway/message_shapes.h"

#include <gtest/gtest.h>

#include "tests/gateway/generated_messages.h"
#include "tests/gateway/shape_walk.h"

namespace kvorum::server::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

FieldDescriptor::Type TypeOf(ValueType type) {
  switch (type) {
    case ValueType::kInt64:
      return FieldDescriptor::TYPE_INT64;
    case ValueType::kUint64:
      return FieldDescriptor::TYPE_UINT64;
    case ValueType::kUint32:
      return FieldDescriptor::TYPE_UINT32;
    case ValueType::kBool:
      return FieldDescriptor::TYPE_BOOL;
    case ValueType::kEnum:
      return FieldDescriptor::TYPE_ENUM;
    case ValueType::kString:
      return FieldDescriptor::TYPE_STRING;
    case ValueType::kBytes:
      return FieldDescriptor::TYPE_BYTES;
    case ValueType::kMessage:
      return FieldDescriptor::TYPE_MESSAGE;
  }
  return FieldDescriptor::TYPE_GROUP;
}

void CompareField(const FieldShape& shape, const FieldDescriptor& field) {
  EXPECT_EQ(static_cast<int>(shape.number), field.number()) << field.full_name();
  EXPECT_EQ(shape.name, field.name());
  EXPECT_EQ(shape.JsonName(), field.json_name());
  EXPECT_EQ(TypeOf(shape.type), field.type()) << field.full_name();
  EXPECT_EQ(shape.repeated, field.is_repeated()) << field.full_name();
  EXPECT_EQ(shape.of_oneof, field.real_containing_oneof() != nullptr) << field.full_name();
  if (field.message_type() != nullptr) {
    ASSERT_NE(shape.message, nullptr) << field.full_name();
    EXPECT_EQ(shape.message->full_name, field.message_type()->full_name());
  }
  if (const EnumDescriptor* names = field.enum_type(); names != nullptr) {
    ASSERT_EQ(static_cast<int>(shape.enum_names.size()), names->value_count());
    for (int i = 0; i < names->value_count(); ++i) {
      EXPECT_EQ(names->value(i)->number(), i);
      EXPECT_EQ(shape.enum_names[static_cast<std::size_t>(i)], names->value(i)->name());
    }
  }
}

TEST(MessageShapesTest, EachIsItsMessageInTheProtoFiles) {
  for (const MessageShape* shape : AllShapes()) {
    const Descriptor* const message = DescriptorOf(shape->full_name);
    ASSERT_NE(message, nullptr) << shape->full_name;
    ASSERT_EQ(static_cast<int>(shape->fields.size()), message->field_count()) << shape->full_name;
    for (int i = 0; i < message->field_count(); ++i)
      CompareField(shape->fields[static_cast<std::size_t>(i)], *message->field(i));
    ASSERT_LE(message->real_oneof_decl_count(), 1);
    EXPECT_EQ(shape->oneof,
              message->real_oneof_decl_count() == 0 ? "" : message->oneof_decl(0)->full_name());
  }
}

TEST(MessageShapesTest, FieldsStandInTheOrderOfTheirNumbers) {
  for (const MessageShape* shape : AllShapes()) {
    EXPECT_LE(shape->fields.size(), 64u) << shape->full_name;
    for (const FieldShape& field : shape->fields)
      EXPECT_EQ(shape->Numbered(field.number), &field) << shape->full_name << " " << field.name;
  }
}

TEST(MessageShapesTest, AFieldIsFoundByBothSpellings) {
  for (const MessageShape* shape : AllShapes()) {
    for (const FieldShape& field : shape->fields) {
      EXPECT_EQ(shape->Named(field.name), &field);
      EXPECT_EQ(shape->Named(field.JsonName()), &field);
    }
    for (const char* unknown : {"", "nope", "KEY", "range_End", "rangeend", "[header]"})
      EXPECT_EQ(shape->Named(unknown), nullptr) << shape->full_name << " " << unknown;
  }
}

}  // namespace
}  // namespace kvorum::server::gateway
