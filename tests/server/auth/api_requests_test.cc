// Malformed requests, requests with unknown fields, and fields with a wrong wire type: for every
// unary method, by the protocol's own descriptors. The expectations were observed with etcd 3.7.1,
// body by body.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kv_decode.h"
#include "base/api_errors.h"
#include "proto/election.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"
#include "proto/wire.h"
#include "server/call/api.h"
#include "server/replica/drive/replica.h"
#include "tests/server/auth/auth_fixture.h"
#include "tests/server/auth/request_seeds.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using namespace std::string_view_literals;

std::map<std::string, const Descriptor*> RequestsOfUnaryMethods() {
  std::map<std::string, const Descriptor*> requests;
  for (const auto* file : {etcdserverpb::RangeRequest::descriptor()->file(),
                           v3lockpb::LockRequest::descriptor()->file(),
                           v3electionpb::LeaderRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const auto* const method = file->service(s)->method(m);
        if (method->client_streaming() || method->server_streaming()) continue;
        requests["/" + file->service(s)->full_name() + "/" + method->name()] = method->input_type();
      }
    }
  }
  return requests;
}

std::vector<std::string> UnaryMethods() {
  std::vector<std::string> paths;
  for (const auto& [path, request] : RequestsOfUnaryMethods()) paths.push_back(path);
  return paths;
}

// Bytes that are not a message, for any method.
constexpr std::string_view kNoMessage[] = {
    "\xff"sv,      // a tag that is cut
    "\x00\x01"sv,  // field 0
    "\x0e"sv,      // wire type 6
    "\x0c"sv,      // the end of no group
    "\xfa\x07\x05"
    "ab"sv,                                                // bytes that are cut
    "\xfb\x07\x08\x01"sv,                                  // a group without an end
    "\xfb\x07\x84\x08"sv,                                  // the end of another group
    "\xf8\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,  // more than 64 bits
    "\xf8\xff\xff\xff\x7f\x01"sv,                          // a tag of more than 32 bits
};
// Fields that no method knows.
const std::string kMore =
    "\xfb\x07\x08\x01\xfc\x07"
    "\xf8\x07\x01\xfa\x07\x01z" +
    std::string(40, '\x0b' + 0x70) + std::string(40, '\x0c' + 0x70);

bool IsBytes(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

// The field in each wire type that it does not have.
std::vector<std::string> Mistyped(const FieldDescriptor& field) {
  const auto number = static_cast<std::uint32_t>(field.number());
  std::vector<std::string> bodies(4);
  if (IsBytes(field)) {
    wire::AppendUintAlways(bodies[0], number, 9);
  } else {
    wire::AppendBytesAlways(bodies[0], number, "\xff");
  }
  wire::AppendVarint(bodies[1], wire::MakeTag(number, wire::Type::kFixed32));
  bodies[1] += "\1\2\3\4";
  wire::AppendVarint(bodies[2], wire::MakeTag(number, wire::Type::kFixed64));
  bodies[2] += "\1\2\3\4\5\6\7\x8";
  wire::AppendVarint(bodies[3], wire::MakeTag(number, wire::Type::kStartGroup));
  wire::AppendVarint(bodies[3], wire::MakeTag(number, wire::Type::kEndGroup));
  return bodies;
}

// The field in its own type, cut.
std::string CutField(const FieldDescriptor& field) {
  const auto number = static_cast<std::uint32_t>(field.number());
  std::string body;
  wire::AppendVarint(body, wire::MakeTag(number, IsBytes(field) ? wire::Type::kLengthDelimited
                                                                : wire::Type::kVarint));
  if (IsBytes(field)) body += "\5a";
  return body;
}

TEST(ApiRequestsTest, EveryUnaryMethodTellsWhatIsARequest) {
  const auto requests = RequestsOfUnaryMethods();
  std::size_t unary = 0;
  for (const ApiMethod& method : ApiMethods()) {
    if (method.check_request == nullptr) {
      EXPECT_FALSE(requests.contains(method.Path())) << method.Path();
      continue;
    }
    ++unary;
    EXPECT_TRUE(requests.contains(method.Path())) << method.Path();
    EXPECT_TRUE(method.check_request("").has_value()) << method.Path();
    EXPECT_EQ(ErrorOf(method.check_request("\xff")), MalformedRequest().error()) << method.Path();
  }
  EXPECT_EQ(unary, requests.size());
}

TEST(ApiRequestsTest, WhatIsNoMessageIsToldSoByEveryMethod) {
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  const auto index = served.parts().cluster.replica.applied_index();
  for (const auto& [path, request] : RequestsOfUnaryMethods()) {
    for (const std::string_view body : kNoMessage)
      EXPECT_EQ(ErrorOf(served.Call(path, body)), MalformedRequest().error()) << path;
    for (int i = 0; i < request->field_count(); ++i) {
      const FieldDescriptor& field = *request->field(i);
      EXPECT_EQ(ErrorOf(served.Call(path, CutField(field))), MalformedRequest().error())
          << path << " " << field.name();
      std::string inner;
      wire::AppendBytesAlways(inner, static_cast<std::uint32_t>(field.number()), "\xff");
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        EXPECT_EQ(ErrorOf(served.Call(path, inner)), MalformedRequest().error())
            << path << " " << field.name();
      } else if (field.type() == FieldDescriptor::TYPE_STRING) {
        EXPECT_EQ(ErrorOf(served.Call(path, inner)), InvalidUtf8Request().error())
            << path << " " << field.name();
      }
    }
  }
  EXPECT_EQ(served.parts().cluster.replica.applied_index(), index) << "something was proposed";
}

// Apart from the header's varying numbers, which a refusal does not have.
TEST(ApiRequestsTest, WhatIsNotKnownIsPassedOverByEveryMethod) {
  for (const auto& [path, request] : RequestsOfUnaryMethods()) {
    if (path.ends_with("/Lock") || path.ends_with("/Campaign")) continue;  // a second one waits
    ServedMember served;
    ASSERT_TRUE(served.Start().has_value());
    (void)served.Call(path, "");  // the first Compact is the only one that has something to do
    const Error empty = ErrorOf(served.Call(path, ""));
    EXPECT_EQ(ErrorOf(served.Call(path, kMore)), empty) << path;
    for (int i = 0; i < request->field_count(); ++i) {
      for (const std::string& body : Mistyped(*request->field(i)))
        EXPECT_EQ(ErrorOf(served.Call(path, body)), empty)
            << path << " " << request->field(i)->name();
    }
  }
}

TEST(ApiRequestsTest, ItIsToldBeforeAnythingElse) {
  ServedMember served;
  ASSERT_TRUE(served.Open().has_value());  // no leader
  for (const std::string& path : UnaryMethods()) {
    auto call = std::make_shared<rpc::CallContext>();
    call->AddMetadata("hasleader", "true");
    EXPECT_EQ(ErrorOf(served.Call(path, "\xff", call)), MalformedRequest().error()) << path;
    call = std::make_shared<rpc::CallContext>();
    call->AddMetadata("hasleader", "true");
    EXPECT_EQ(ErrorOf(served.Call(path, "", call)), kErrNoLeader.ToError()) << path;
  }
}

// The corpus of the fuzz target request_decoders: `build/release/bin/write_request_seeds
// tests/fuzz/corpus/request_decoders` brings it up to date.
TEST(ApiRequestsTest, EveryMethodHasItsFuzzSeeds) {
  const std::filesystem::path corpus = KVORUM_REQUEST_SEEDS;
  for (const auto& [name, seed] : RequestSeeds()) {
    std::stringstream content;
    content << std::ifstream(corpus / name, std::ios::binary).rdbuf();
    EXPECT_EQ(content.str(), seed) << name;
  }
}

TEST(ApiRequestsTest, EveryFuzzSeedIsARequestOfTheMethodThatItsNameSays) {
  int seeds = 0;
  for (const auto& file : std::filesystem::directory_iterator(KVORUM_REQUEST_SEEDS)) {
    std::stringstream content;
    content << std::ifstream(file.path(), std::ios::binary).rdbuf();
    const std::string seed = content.str();
    std::string name = file.path().filename().string();
    name.resize(std::min(name.size(), name.find('-')));
    ASSERT_GE(seed.size(), 2U) << name;
    ASSERT_LT(static_cast<std::size_t>(seed[0]), ApiMethods().size()) << name;
    const ApiMethod& method = ApiMethods()[static_cast<std::size_t>(seed[0])];
    const std::string full = std::string(method.service) + "." + std::string(method.name);
    EXPECT_EQ(full.substr(full.find('.') + 1), name);
    if (method.check_request != nullptr) {
      EXPECT_TRUE(method.check_request(std::string_view(seed).substr(2)).has_value()) << name;
    }
    ++seeds;
  }
  EXPECT_GT(seeds, 100);
}

class ApiRequestsAuthTest : public AuthTest {};

TEST_F(ApiRequestsAuthTest, WhoeverAsks) {
  for (const std::string& path : UnaryMethods()) {
    for (const std::string& token : {std::string(), std::string("wrong.1"), bob_, root_}) {
      EXPECT_EQ(ErrorOf(CallAs(token, path, "\xff")), MalformedRequest().error()) << path;
    }
  }
  EXPECT_TRUE(served_.access().state()->enabled()) << "AuthDisable was executed";
}

}  // namespace
}  // namespace kvorum::server
