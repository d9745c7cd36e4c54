// The texts that must be Go's to the letter: sizes, CSV, JSON.
#include <gtest/gtest.h>

#include "base/text/human_bytes.h"
#include "proto/rpc.pb.h"
#include "tools/session/table.h"
#include "tools/text/csv.h"
#include "tools/text/display_width.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

TEST(HumanBytesTest, SizesArePrinted) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1000), "1.0 kB");
  EXPECT_EQ(HumanBytes(20480), "20 kB");
  EXPECT_EQ(HumanBytes(6'749'000), "6.7 MB");
  EXPECT_EQ(HumanBytes(2'147'483'648), "2.1 GB");
}

TEST(CsvTest, FieldsMayBeQuoted) {
  EXPECT_EQ(ParseCsv("a,b"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ParseCsv("a,"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(ParseCsv(""), std::vector<std::string>());
  EXPECT_EQ(ParseCsv("\"a,\"\"b\"\"\",c"), (std::vector<std::string>{"a,\"b\"", "c"}));
  EXPECT_FALSE(ParseCsv("\"a"));
  EXPECT_FALSE(ParseCsv("\"a\"b"));
  EXPECT_EQ(ParseCsv(WriteCsv({"a,b", "\"", "c"})), (std::vector<std::string>{"a,b", "\"", "c"}));
}

TEST(DisplayWidthTest, WidthIsInColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("é"), 1);
  EXPECT_EQ(DisplayWidth("世界"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
}

TEST(JsonTest, StringsAreSafeInsideHtml) {
  EXPECT_EQ(JsonString("a\"\\\n\t\x01<>&é"), R"("a\"\\\n\t\u0001\u003c\u003e\u0026é")");
  EXPECT_EQ(JsonString("\xff"), R"("\ufffd")");
}

TEST(JsonTest, MessagesLeaveZeroValuesOut) {
  etcdserverpb::StatusResponse status;
  EXPECT_EQ(JsonMessage(status), "{}");
  status.mutable_header()->set_cluster_id(UINT64_MAX);
  status.mutable_downgradeinfo();
  status.add_errors("a");
  status.add_errors("");
  status.set_islearner(true);
  EXPECT_EQ(JsonMessage(status),
            R"({"header":{"cluster_id":18446744073709551615},"errors":["a",""],"isLearner":true,)"
            R"("downgradeInfo":{}})");
}

TEST(JsonTest, BytesAreBase64AndEnumsNumbers) {
  etcdserverpb::RangeRequest request;
  for (const auto& [bytes, encoded] : std::vector<std::pair<std::string, std::string>>{
           {"a", "YQ=="}, {"ab", "YWI="}, {"abc", "YWJj"}, {"\xff\xfe\xfd\xfc", "//79/A=="}}) {
    request.set_key(bytes);
    EXPECT_EQ(JsonMessage(request), "{\"key\":\"" + encoded + "\"}");
  }
  request.set_sort_order(etcdserverpb::RangeRequest::DESCEND);
  EXPECT_EQ(JsonMessage(request), R"({"key":"//79/A==","sort_order":2})");
}

}  // namespace
}  // namespace kvorum::ctl
