// The generated messages, as an independent account of the API's JSON.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "proto/election.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"

namespace kvorum::server::gateway {

// The linker drops a generated file that nothing references, and its messages with it.
inline const google::protobuf::Descriptor* DescriptorOf(std::string_view full_name) {
  google::protobuf::LinkMessageReflection<authpb::Permission>();
  google::protobuf::LinkMessageReflection<etcdserverpb::PutRequest>();
  google::protobuf::LinkMessageReflection<v3electionpb::LeaderKey>();
  google::protobuf::LinkMessageReflection<v3lockpb::LockRequest>();
  return google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
      std::string(full_name));
}

// "/etcdserverpb.KV/Range" as "etcdserverpb.KV.Range".
inline std::string MethodNameOf(std::string_view path) {
  DescriptorOf("etcdserverpb.PutRequest");  // links the services too
  std::string name(path.substr(1));
  std::ranges::replace(name, '/', '.');
  return name;
}

inline std::unique_ptr<google::protobuf::Message> NewMessage(std::string_view full_name) {
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(DescriptorOf(full_name))
          ->New());
}

class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : rng_(seed) {}

  void Fill(google::protobuf::Message& message, int depth = 0) {
    const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const google::protobuf::FieldDescriptor& field = *descriptor.field(i);
      const bool nests = field.type() == google::protobuf::FieldDescriptor::TYPE_MESSAGE;
      if (rng_.Below(3) == 0 || (nests && depth > 4)) continue;
      if (!field.is_repeated()) {
        Set(message, field, depth);
        continue;
      }
      for (std::uint64_t count = rng_.Below(4); count > 0; --count) Set(message, field, depth);
    }
  }

 private:
  std::uint64_t Number() {
    const std::uint64_t bits = rng_();
    return bits >> rng_.Below(64);
  }
  std::string Text() {
    std::string text;
    for (std::uint64_t size = rng_.Below(9); size > 0; --size)
      text += static_cast<char>('a' + rng_.Below(26));
    return text;
  }
  std::string Bytes() {
    std::string bytes;
    for (std::uint64_t size = rng_.Below(9); size > 0; --size)
      bytes += static_cast<char>(rng_.Below(256));
    return bytes;
  }

  void Set(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
           int depth) {
    using Field = google::protobuf::FieldDescriptor;
    const google::protobuf::Reflection& of = *message.GetReflection();
    const bool many = field.is_repeated();
    switch (field.cpp_type()) {
      case Field::CPPTYPE_INT64: {
        const auto value = static_cast<std::int64_t>(Number());
        return many ? of.AddInt64(&message, &field, value) : of.SetInt64(&message, &field, value);
      }
      case Field::CPPTYPE_UINT64:
        return of.SetUInt64(&message, &field, Number());
      case Field::CPPTYPE_UINT32:
        return of.SetUInt32(&message, &field, static_cast<std::uint32_t>(Number()));
      case Field::CPPTYPE_BOOL:
        return of.SetBool(&message, &field, rng_.Below(2) == 0);
      case Field::CPPTYPE_ENUM: {
        const int count = field.enum_type()->value_count();
        // One more than there are: a value without a name.
        const int value = static_cast<int>(rng_.Below(static_cast<std::uint64_t>(count) + 1));
        return many ? of.AddEnumValue(&message, &field, value)
                    : of.SetEnumValue(&message, &field, value);
      }
      case Field::CPPTYPE_STRING: {
        std::string value = field.type() == Field::TYPE_STRING ? Text() : Bytes();
        return many ? of.AddString(&message, &field, std::move(value))
                    : of.SetString(&message, &field, std::move(value));
      }
      case Field::CPPTYPE_MESSAGE:
        return Fill(many ? *of.AddMessage(&message, &field) : *of.MutableMessage(&message, &field),
                    depth + 1);
      default:
        return;
    }
  }

  Rng rng_;
};

}  // namespace kvorum::server::gateway
