#include "tests/server/auth/request_seeds.h"

#include <google/protobuf/dynamic_message.h>

#include <memory>

#include "proto/election.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"
#include "server/call/api.h"

namespace kvorum::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

constexpr int kMostNested = 2;
constexpr char kOpenCaller = 0;  // the callers of tests/fuzz/request_decoders.cc
constexpr char kRootCaller = 4;

void FillNested(google::protobuf::Message& message, int depth) {
  const Descriptor& type = *message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    const bool repeated = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth == kMostNested) break;
        FillNested(repeated ? *reflection.AddMessage(&message, field)
                            : *reflection.MutableMessage(&message, field),
                   depth + 1);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        repeated ? reflection.AddString(&message, field, "a")
                 : reflection.SetString(&message, field, "a");
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        repeated ? reflection.AddEnumValue(&message, field, 1)
                 : reflection.SetEnumValue(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(&message, field, true);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection.SetUInt64(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.SetInt32(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection.SetUInt32(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        break;  // the API has none
    }
  }
}

}  // namespace

std::map<std::string, std::string> RequestSeeds() {
  // The files' descriptors come into the pool with their messages.
  (void)v3lockpb::LockRequest::descriptor();
  (void)v3electionpb::LeaderRequest::descriptor();
  (void)etcdserverpb::RangeRequest::descriptor();
  google::protobuf::DynamicMessageFactory factory;
  std::map<std::string, std::string> seeds;
  char place = 0;
  for (const ApiMethod& method : ApiMethods()) {
    const std::string name = std::string(method.service) + "." + std::string(method.name);
    const auto* const described = DescriptorPool::generated_pool()->FindMethodByName(name);
    if (described != nullptr && method.service != "grpc.health.v1.Health") {
      const std::unique_ptr<google::protobuf::Message> request(
          factory.GetPrototype(described->input_type())->New());
      FillNested(*request, 0);
      const std::string file = name.substr(name.find('.') + 1);
      const std::string body = request->SerializeAsString();
      seeds[file] = std::string{place, kOpenCaller} + body;
      seeds[file + "-auth"] = std::string{place, kRootCaller} + body;
    }
    ++place;
  }
  return seeds;
}

}  // namespace kvorum::server
