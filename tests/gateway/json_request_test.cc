#include "server/gateway/json_request.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "server/gateway/json_values.h"
#include "tests/gateway/generated_messages.h"
#include "tests/gateway/shape_walk.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::string_view kStart = "proto:\u00a0";

// The message as protobuf's debug text, or the error's text without its start.
std::string Read(std::string_view name, std::string_view json) {
  const auto value = JsonValues(json).Next();
  EXPECT_TRUE(value.has_value() && value->has_value()) << json;
  const auto bytes = EncodeJsonRequest(TableOf(name), **value);
  if (!bytes.has_value()) {
    EXPECT_EQ(bytes.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(bytes.error().message.starts_with(kStart)) << bytes.error().message;
    return bytes.error().message.substr(kStart.size());
  }
  const auto message = NewMessage(name);
  EXPECT_TRUE(message->ParseFromString(*bytes)) << json;
  return message->ShortDebugString();
}

TEST(JsonRequestTest, AnyMessageInProtobufsOwnJsonIsRead) {
  RandomMessages random(11);
  for (const auto& [name, table] : AllShown()) {
    for (int round = 0; round < 40; ++round) {
      const auto message = NewMessage(name);
      random.Fill(*message);
      google::protobuf::util::JsonPrintOptions options;
      options.preserve_proto_field_names = round % 2 == 0;
      options.always_print_enums_as_ints = round % 3 == 0;
      options.add_whitespace = round % 5 == 0;
      std::string json;
      ASSERT_TRUE(google::protobuf::util::MessageToJsonString(*message, &json, options).ok());
      const auto value = JsonValues(json).Next();
      ASSERT_TRUE(value.has_value() && value->has_value()) << json;
      const auto bytes = EncodeJsonRequest(*table, **value);
      ASSERT_TRUE(bytes.has_value()) << json << bytes.error().message;
      const auto read = NewMessage(name);
      ASSERT_TRUE(read->ParseFromString(*bytes));
      EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*message, *read)) << json;
    }
  }
}

TEST(JsonRequestTest, NumbersHaveManySpellings) {
  const auto limit = [](const std::string& value) {
    return Read("etcdserverpb.RangeRequest", "{\"limit\":" + value + "}");
  };
  EXPECT_EQ(limit("5"), "limit: 5");
  EXPECT_EQ(limit("\"5\""), "limit: 5");
  EXPECT_EQ(limit("-5"), "limit: -5");
  EXPECT_EQ(limit("0"), "");
  EXPECT_EQ(limit("-0.0"), "");
  EXPECT_EQ(limit("5.0"), "limit: 5");
  EXPECT_EQ(limit("1.50e2"), "limit: 150");
  EXPECT_EQ(limit("150E-1"), "limit: 15");
  EXPECT_EQ(limit("\"1e3\""), "limit: 1000");
  EXPECT_EQ(limit("9223372036854775807"), "limit: 9223372036854775807");
  EXPECT_EQ(limit("-9223372036854775808"), "limit: -9223372036854775808");
  EXPECT_EQ(limit("\"5 6\""), "limit: 5") << "only the first number counts";
  for (const char* bad :
       {"9223372036854775808", "1.5", "15e-1", "1e19", "1e99999999999", "\"\"", "\" 5\"", "\"5 \"",
        "\"5\u00a0\"", "\"5x\"", "\"+5\"", "\"0x5\"", "\"1e\"", "\"1e+\"", "true"})
    EXPECT_EQ(limit(bad), std::string("(line 1:10): invalid value for int64 field limit: ") + bad);
  const auto id = [](const std::string& value) {
    return Read("etcdserverpb.MemberRemoveRequest", "{\"ID\":" + value + "}");
  };
  EXPECT_EQ(id("18446744073709551615"), "ID: 18446744073709551615");
  EXPECT_EQ(id("18446744073709551616"),
            "(line 1:7): invalid value for uint64 field ID: 18446744073709551616");
  EXPECT_EQ(id("-1"), "(line 1:7): invalid value for uint64 field ID: -1");
}

TEST(JsonRequestTest, BytesAreBase64OfBothAlphabets) {
  const auto key = [](const std::string& value) {
    return Read("etcdserverpb.RangeRequest", "{\"key\":\"" + value + "\"}");
  };
  EXPECT_EQ(key("Zm9v"), "key: \"foo\"");
  EXPECT_EQ(key(""), "");
  EXPECT_EQ(key("Zg=="), "key: \"f\"");
  EXPECT_EQ(key("Zg"), "key: \"f\"");
  EXPECT_EQ(key("Zm8"), "key: \"fo\"");
  EXPECT_EQ(key("+/+/"), R"(key: "\373\377\277")");
  EXPECT_EQ(key("-_-_"), R"(key: "\373\377\277")");
  EXPECT_EQ(key("Zh=="), "key: \"f\"") << "unused bits are ignored";
  EXPECT_EQ(key("Zm\\n9v\\r\\n\\n"), "key: \"foo\"") << "so are line ends";
  EXPECT_EQ(key("Zg=\\n=\\n\\n\\n"), "key: \"f\"");
  for (const char* bad : {"Z", "Zg=", "Zg=a", "Z===", "====", "-/-/",
                          "Zm9v=", "Zm9vZg==Zg==", "Zm 9v", "Zm9v!", "Zg\\n\\n"})
    EXPECT_EQ(key(bad),
              std::string("(line 1:8): invalid value for bytes field key: \"") + bad + "\"");
  EXPECT_EQ(Read("etcdserverpb.RangeRequest", "{\"key\":5}"),
            "(line 1:8): invalid value for bytes field key: 5");
}

TEST(JsonRequestTest, EnumsHaveNamesAndNumbers) {
  const auto order = [](const std::string& value) {
    return Read("etcdserverpb.RangeRequest", "{\"sortOrder\":" + value + "}");
  };
  EXPECT_EQ(order("\"DESCEND\""), "sort_order: DESCEND");
  EXPECT_EQ(order("2"), "sort_order: DESCEND");
  EXPECT_EQ(order("\"NONE\""), "");
  EXPECT_EQ(order("\"descend\""), "") << "unknown names are ignored";
  EXPECT_EQ(order("7"), "sort_order: 7");
  EXPECT_EQ(order("-1"), "sort_order: -1");
  EXPECT_EQ(order("2147483648"), "(line 1:14): invalid value for enum field sortOrder: 2147483648");
  EXPECT_EQ(order("true"), "(line 1:14): invalid value for enum field sortOrder: true");
  EXPECT_EQ(Read("etcdserverpb.WatchCreateRequest", R"({"filters":["NODELETE","nope",0]})"),
            "filters: NODELETE filters: NOPUT");
}

TEST(JsonRequestTest, UnknownFieldsAndNullsAreIgnored) {
  EXPECT_EQ(Read("etcdserverpb.PutRequest",
                 R"({"nope":{"a":[1,{"b":"\u00e9"}]},"key":"YQ==","value":null,"[x]":1})"),
            "key: \"a\"");
  EXPECT_EQ(Read("etcdserverpb.PutRequest", R"({"nope":"\ud800x"})"), "unexpected EOF");
  EXPECT_EQ(Read("etcdserverpb.TxnRequest", R"({"compare":null,"success":[]})"), "");
}

TEST(JsonRequestTest, AFieldMayComeOnceAndOneOfAOneof) {
  EXPECT_EQ(Read("etcdserverpb.PutRequest", R"({"key":"YQ==","key":"YQ=="})"),
            R"((line 1:15): duplicate field "key")");
  EXPECT_EQ(Read("etcdserverpb.RangeRequest", R"({"range_end":null,"rangeEnd":null})"),
            R"((line 1:19): duplicate field "rangeEnd")");
  EXPECT_EQ(
      Read("etcdserverpb.Compare", R"({"version":"1","value":"YQ=="})"),
      R"((line 1:16): error parsing "value", oneof etcdserverpb.Compare.target_union is already set)");
  EXPECT_EQ(Read("etcdserverpb.Compare", R"({"version":null,"value":"YQ=="})"), "value: \"a\"");
  EXPECT_EQ(Read("etcdserverpb.Compare", R"({"version":"0"})"), "version: 0");
}

TEST(JsonRequestTest, OtherKindsOfValuesAreRefused) {
  for (const char* value : {"null", "true", "5", "\"x\""})
    EXPECT_EQ(Read("etcdserverpb.PutRequest", value),
              std::string("syntax error (line 1:1): unexpected token ") + value);
  EXPECT_EQ(Read("etcdserverpb.PutRequest", "[]"), "syntax error (line 1:1): unexpected token [");
  EXPECT_EQ(Read("etcdserverpb.TxnRequest", "{\"compare\":\n {}}"),
            "syntax error (line 2:2): unexpected token {");
  EXPECT_EQ(Read("etcdserverpb.TxnRequest", "{\"compare\":[null]}"),
            "syntax error (line 1:13): unexpected token null");
  EXPECT_EQ(Read("etcdserverpb.TxnRequest", "{\"é\":\"\xf0\x9f\x98\x80\",\"compare\":[5]}"),
            "syntax error (line 1:21): unexpected token 5")
      << "columns count characters";
  EXPECT_EQ(Read("etcdserverpb.LeaseGrantRequest", "{\"TTL\":{}}"),
            "(line 1:8): invalid value for int64 field TTL: {");
  EXPECT_EQ(Read("etcdserverpb.MemberAddRequest", "{\"peerURLs\":[null]}"),
            "(line 1:14): invalid value for string field peerURLs: null");
  EXPECT_EQ(Read("etcdserverpb.PutRequest", "{\"prev_kv\":\"true\"}"),
            "(line 1:12): invalid value for bool field prevKv: \"true\"");
}

TEST(JsonRequestTest, StringsMustBeCharacters) {
  const auto name = [](const std::string& value) {
    return Read("etcdserverpb.AuthRoleAddRequest", "{\"name\":\"" + value + "\"}");
  };
  EXPECT_EQ(name("a\\u0062\\n\\/\\\\\\\""), R"(name: "ab\n/\\\"")");
  EXPECT_EQ(name("\\ud83d\\ude00"), R"(name: "\360\237\230\200")");
  EXPECT_EQ(name("\xff"), "syntax error (line 1:9): invalid UTF-8 in string");
  EXPECT_EQ(name("\xed\xa0\x80"), "syntax error (line 1:9): invalid UTF-8 in string");
  EXPECT_EQ(name("\\ud800"), "unexpected EOF");
  EXPECT_EQ(name("\\ud800abcdef"),
            R"(syntax error (line 1:9): invalid escape code "abcdef" in string)");
  EXPECT_EQ(name("\\ude00\\ud83d"),
            R"(syntax error (line 1:9): invalid escape code "\\ud83d" in string)");
  EXPECT_EQ(name("\\ud800\\u0041"),
            R"(syntax error (line 1:9): invalid escape code "\\u0041" in string)");
}

TEST(JsonRequestTest, TransactionsNestToABound) {
  const auto nested = [](std::size_t depth) {
    std::string json;
    for (std::size_t i = 0; i < depth; ++i) json += R"({"success":[{"request_txn":)";
    json += "{}";
    for (std::size_t i = 0; i < depth; ++i) json += "}]}";
    return json;
  };
  const std::string allowed = nested((kMaxMessageDepth - 1) / 2);
  EXPECT_TRUE(EncodeJsonRequest(TableOf("etcdserverpb.TxnRequest"), allowed).has_value());
  const auto refused =
      EncodeJsonRequest(TableOf("etcdserverpb.TxnRequest"), nested(kMaxMessageDepth / 2 + 1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, std::string(kStart) + "exceeded max recursion depth");
}

}  // namespace
}  // namespace kvorum::server::gateway
