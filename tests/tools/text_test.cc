// The texts that must be Go's to the letter: quoted strings, numbers, durations, sizes, JSON.
#include <gtest/gtest.h>

#include "base/duration_text.h"
#include "proto/rpc.pb.h"
#include "tools/csv.h"
#include "tools/json.h"
#include "tools/numbers.h"
#include "tools/quote.h"
#include "tools/utf8.h"

namespace kvorum::ctl {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST(QuoteTest, PrintableTextIsLeftAlone) {
  EXPECT_EQ(Quote("a b'c"), R"("a b'c")");
  EXPECT_EQ(Quote("é世😀"), "\"é世😀\"");
  EXPECT_EQ(Quote("\uFFFD"), "\"\uFFFD\"");
}

TEST(QuoteTest, TheRestIsEscaped) {
  EXPECT_EQ(Quote("\a\b\f\n\r\t\v\\\""), R"("\a\b\f\n\r\t\v\\\"")");
  EXPECT_EQ(Quote("\x01\x7f"s), R"("\x01\x7f")");
  EXPECT_EQ(Quote("\xff\xc3"), R"("\xff\xc3")");
  EXPECT_EQ(Quote("\xed\xa0\x80"), R"("\xed\xa0\x80")") << "a surrogate is not UTF-8";
  EXPECT_EQ(Quote("\u00a0\u200b\ufeff"), R"("\u00a0\u200b\ufeff")");
  EXPECT_EQ(Quote("\U000f0000"), R"("\U000f0000")");
  EXPECT_EQ(Quote("\0"s), R"("\x00")");
}

TEST(QuoteTest, UnquoteUndoesQuote) {
  for (const std::string& text : {""s, "plain"s, "\0\n\"\\"s, "\xff\xfe"s, "\u200bé"s})
    EXPECT_EQ(Unquote(Quote(text)), text);
}

TEST(QuoteTest, UnquoteReadsEveryEscape) {
  EXPECT_EQ(Unquote(R"("\x41\101\u00e9\U0001f600")"), "AAé😀");
  EXPECT_EQ(Unquote("`raw\\n`"), "raw\\n");
}

TEST(QuoteTest, MalformedLiteralsAreRefused) {
  for (const std::string_view text :
       {"", "\"", "a", "\"a", "a\"", "\"a\"b\"", R"("\q")", R"("\x4")", R"("\400")", R"("\ud800")",
        "\"a\nb\"", "'a'", R"("\'")", R"("\)", "`a`b`"})
    EXPECT_EQ(Unquote(text), std::nullopt) << text;
}

TEST(QuoteTest, TheEndOfALiteralIsItsFirstBareQuote) {
  EXPECT_EQ(QuotedLength(R"("a\"b" c)"), 6);
  EXPECT_EQ(QuotedLength("`a\\` c"), 4);
  EXPECT_EQ(QuotedLength("\"a"), std::nullopt);
  EXPECT_EQ(QuotedLength("a\"\""), std::nullopt);
}

TEST(NumbersTest, Integers) {
  EXPECT_EQ(ParseInt("-12", 10), -12);
  EXPECT_EQ(ParseInt("7fffffffffffffff", 16), INT64_MAX);
  EXPECT_EQ(ParseInt("-8000000000000000", 16), INT64_MIN);
  EXPECT_EQ(ParseInt("0b101", 0), 5);
  EXPECT_EQ(ParseInt("017", 0), 15);
  EXPECT_EQ(ParseInt("0", 0), 0);
  EXPECT_EQ(ParseInt("8000000000000000", 16).error(),
            "strconv.ParseInt: parsing \"8000000000000000\": value out of range");
  for (const std::string_view text : {"", "-", "+", "x", "1x", " 1", "0x", "--1"})
    EXPECT_FALSE(ParseInt(text, 0)) << text;
}

TEST(NumbersTest, DurationsAreRead) {
  EXPECT_EQ(ParseDuration("1h2m3.5s"), 1h + 2min + 3500ms);
  EXPECT_EQ(ParseDuration("300ms"), 300ms);
  EXPECT_EQ(ParseDuration("-1.5us"), -1500ns);
  EXPECT_EQ(ParseDuration("2µs"), 2us);
  EXPECT_EQ(ParseDuration("0"), 0ns);
  EXPECT_EQ(ParseDuration("5").error(), "time: missing unit in duration \"5\"");
  EXPECT_EQ(ParseDuration("5x").error(), "time: unknown unit \"x\" in duration \"5x\"");
  for (const std::string_view text : {"", "-", ".s", "s", "1.2.3s", "9999999h"})
    EXPECT_FALSE(ParseDuration(text)) << text;
}

TEST(NumbersTest, DurationsArePrinted) {
  EXPECT_EQ(FormatDuration(0ns), "0s");
  EXPECT_EQ(FormatDuration(999ns), "999ns");
  EXPECT_EQ(FormatDuration(1500ns), "1.5µs");
  EXPECT_EQ(FormatDuration(4405773ns), "4.405773ms");
  EXPECT_EQ(FormatDuration(2s), "2s");
  EXPECT_EQ(FormatDuration(1h + 3500ms), "1h0m3.5s");
  EXPECT_EQ(FormatDuration(-90s), "-1m30s");
}

TEST(NumbersTest, SizesArePrinted) {
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

TEST(Utf8Test, WidthIsInColumns) {
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
