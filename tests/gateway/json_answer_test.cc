#include "server/gateway/json_answer.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "proto/wire.h"
#include "tests/gateway/generated_messages.h"
#include "tests/gateway/shape_walk.h"

namespace kvorum::server::gateway {
namespace {

std::string WithoutSpaces(std::string json) {
  std::string packed;
  for (std::size_t i = 0; i < json.size(); ++i)
    if (i == 0 || json[i] != ' ' || json[i - 1] != ',') packed += json[i];
  return packed;
}

TEST(JsonAnswerTest, AnyMessageReadsAsInProtobufsOwnJson) {
  RandomMessages random(7);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  for (const auto& [name, table] : AllShown()) {
    for (int round = 0; round < 20; ++round) {
      const auto message = NewMessage(name);
      random.Fill(*message);
      std::string expected;
      ASSERT_TRUE(google::protobuf::util::MessageToJsonString(*message, &expected, options).ok());
      EXPECT_EQ(WithoutSpaces(JsonAnswer(*table, message->SerializeAsString())), expected) << name;
    }
  }
}

TEST(JsonAnswerTest, AnAnswerHasASpaceAfterEachCommaAndALineHasNone) {
  etcdserverpb::PutResponse put;
  put.mutable_header()->set_cluster_id(1);
  put.mutable_header()->set_revision(-2);
  put.mutable_prev_kv()->set_key("foo");
  const std::string bytes = put.SerializeAsString();
  EXPECT_EQ(JsonAnswer(TableOf("etcdserverpb.PutResponse"), bytes),
            R"({"header":{"cluster_id":"1", "revision":"-2"}, "prev_kv":{"key":"Zm9v"}})");
  EXPECT_EQ(JsonResultLine(TableOf("etcdserverpb.PutResponse"), bytes),
            R"({"result":{"header":{"cluster_id":"1","revision":"-2"},"prev_kv":{"key":"Zm9v"}}})"
            "\n");
}

TEST(JsonAnswerTest, FieldsAreShownInTheirOrderHoweverTheyCome) {
  std::string bytes;
  wire::AppendUint(bytes, 4, 2);  // count
  wire::AppendBytes(bytes, 2,
                    "\x0a\x01"
                    "a");          // a row
  wire::AppendUint(bytes, 99, 1);  // unknown
  wire::AppendUint(bytes, 3, 1);   // more
  wire::AppendBytes(bytes, 2,
                    "\x0a\x01"
                    "b");               // another row
  wire::AppendUintAlways(bytes, 4, 7);  // the last one counts
  EXPECT_EQ(JsonAnswer(TableOf("etcdserverpb.RangeResponse"), bytes),
            R"({"kvs":[{"key":"YQ=="}, {"key":"Yg=="}], "more":true, "count":"7"})");
}

TEST(JsonAnswerTest, ZeroesThatCameAreLeftOut) {
  std::string bytes;
  wire::AppendUintAlways(bytes, 3, 0);
  wire::AppendUintAlways(bytes, 4, 0);
  EXPECT_EQ(JsonAnswer(TableOf("etcdserverpb.RangeResponse"), bytes), "{}");
}

TEST(JsonAnswerTest, TextIsEscaped) {
  const Error error{Code::kUnknown, "a\"b\\c\n\t\r\b\f\x01\x7f<&>\u2028\xffé"};
  EXPECT_EQ(JsonStatus(error),
            "{\"code\":2, \"message\":\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\x7f<&>\u2028\ufffdé\"}");
  EXPECT_EQ(JsonErrorLine(error),
            "{\"error\":{\"code\":2,\"message\":\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\x7f"
            "\\u003c\\u0026\\u003e\\u2028\ufffdé\"}}\n");
  EXPECT_EQ(JsonStatus({Code::kAborted, ""}), R"({"code":10})");
}

}  // namespace
}  // namespace kvorum::server::gateway
