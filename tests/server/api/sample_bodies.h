// A well-formed body of each kind of log entry, made by the protobuf library from
// etcdserverpb.InternalRaftRequest.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "api/entries/request_kind.h"
#include "proto/raft_internal.pb.h"

namespace kvorum::server {

// Sets numbers to 1, strings to "aaaa" (base64, where that is asked for), of a oneof its second
// field (an operation of a txn is a put), and repeated fields to one element.
inline void Fill(google::protobuf::Message& message) {
  const auto& reflection = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  using Field = google::protobuf::FieldDescriptor;
  for (int i = 0; i < type.field_count(); ++i) {
    const Field* const field = type.field(i);
    const auto* const choice = field->real_containing_oneof();
    if (choice != nullptr && choice->field(1) != field) continue;
    const bool repeated = field->is_repeated();
    switch (field->cpp_type()) {
      case Field::CPPTYPE_MESSAGE:
        Fill(repeated ? *reflection.AddMessage(&message, field)
                      : *reflection.MutableMessage(&message, field));
        break;
      case Field::CPPTYPE_STRING:
        if (repeated) {
          reflection.AddString(&message, field, "aaaa");
        } else {
          reflection.SetString(&message, field, "aaaa");
        }
        break;
      case Field::CPPTYPE_INT64:
        reflection.SetInt64(&message, field, 1);
        break;
      case Field::CPPTYPE_UINT64:
        reflection.SetUInt64(&message, field, 1);
        break;
      case Field::CPPTYPE_INT32:
      case Field::CPPTYPE_UINT32:
      case Field::CPPTYPE_DOUBLE:
      case Field::CPPTYPE_FLOAT:
      case Field::CPPTYPE_BOOL:
      case Field::CPPTYPE_ENUM:
        break;
    }
  }
}

// Empty for kNone.
inline std::string SampleBody(RequestKind kind) {
  etcdserverpb::InternalRaftRequest entry;
  const auto* const field = entry.GetDescriptor()->FindFieldByNumber(static_cast<int>(kind));
  if (field == nullptr) return {};
  auto& body = *entry.GetReflection()->MutableMessage(&entry, field);
  Fill(body);
  return body.SerializeAsString();
}

}  // namespace kvorum::server
