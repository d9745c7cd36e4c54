#include "server/gateway/json_values.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum::server::gateway {
namespace {

// All values, each followed by '|', then "end" or the error.
std::string Cut(std::string_view text) {
  JsonValues values(text);
  std::string cut;
  for (;;) {
    const auto value = values.Next();
    if (!value.has_value()) {
      EXPECT_EQ(values.Next(), value) << "an error stays";
      return cut + value.error();
    }
    if (!value->has_value()) return cut + "end";
    cut.append(**value).append("|");
  }
}

TEST(JsonValuesTest, ValuesNeedNothingBetweenThem) {
  EXPECT_EQ(Cut(""), "end");
  EXPECT_EQ(Cut(" \t\r\n"), "end");
  EXPECT_EQ(Cut("{}"), "{}|end");
  EXPECT_EQ(Cut(" {\"a\" : [ 1 , {} , \"x\" ] }\n{}[]\"s\"true null-1.5e+3 0"),
            "{\"a\" : [ 1 , {} , \"x\" ] }|{}|[]|\"s\"|true|null|-1.5e+3|0|end");
  EXPECT_EQ(Cut("[[],[[]]]"), "[[],[[]]]|end");
  EXPECT_EQ(Cut(R"("\"\\\/\b\f\n\r\t\u00aF")"), R"("\"\\\/\b\f\n\r\t\u00aF"|end)");
  EXPECT_EQ(Cut("12x"), "12|invalid character 'x' looking for beginning of value");
  EXPECT_EQ(Cut("{}}"), "{}|invalid character '}' looking for beginning of value");
}

TEST(JsonValuesTest, ATextThatEndsTooEarlyIsToldApart) {
  for (const char* text : {"{", "[", "\"", "\"\\", "\"\\u", "\"\\u00a", "-", "1.", "1e", "1e+",
                           "tru", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "[1", "[1,", "nul"})
    EXPECT_EQ(Cut(text), "unexpected EOF") << text;
}

TEST(JsonValuesTest, FaultsAreToldAsGoTellsThem) {
  const std::string at = "invalid character ";
  EXPECT_EQ(Cut("x"), at + "'x' looking for beginning of value");
  EXPECT_EQ(Cut("]"), at + "']' looking for beginning of value");
  EXPECT_EQ(Cut("[1}"), at + "'}' after array element");
  EXPECT_EQ(Cut("[,"), at + "',' looking for beginning of value");
  EXPECT_EQ(Cut("[1,]"), at + "']' looking for beginning of value");
  EXPECT_EQ(Cut("{1"), at + "'1' looking for beginning of object key string");
  EXPECT_EQ(Cut("{\"a\":1,}"), at + "'}' looking for beginning of object key string");
  EXPECT_EQ(Cut("{\"a\"}"), at + "'}' after object key");
  EXPECT_EQ(Cut("{\"a\":1]"), at + "']' after object key:value pair");
  EXPECT_EQ(Cut("tRue"), at + "'R' in literal true (expecting 'r')");
  EXPECT_EQ(Cut("falsE"), at + "'E' in literal false (expecting 'e')");
  EXPECT_EQ(Cut("nil"), at + "'i' in literal null (expecting 'u')");
  EXPECT_EQ(Cut("-x"), at + "'x' in numeric literal");
  EXPECT_EQ(Cut("1.x"), at + "'x' after decimal point in numeric literal");
  EXPECT_EQ(Cut("1ex"), at + "'x' in exponent of numeric literal");
  EXPECT_EQ(Cut("[01]"), at + "'1' after array element");
  EXPECT_EQ(Cut("\"\\x\""), at + "'x' in string escape code");
  EXPECT_EQ(Cut("\"\\u00g0\""), at + "'g' in \\u hexadecimal character escape");
  EXPECT_EQ(Cut("\"\n\""), at + "'\\n' in string literal");
  EXPECT_EQ(Cut("\"\x01\""), at + "'\\x01' in string literal");
  EXPECT_EQ(Cut("'"), at + R"('\'' looking for beginning of value)");
  EXPECT_EQ(Cut("[\""), "unexpected EOF");
  EXPECT_EQ(Cut("[\"a\" \""), at + R"('"' after array element)");
  EXPECT_EQ(Cut("\x7f"), at + R"('\x7f' looking for beginning of value)");
  EXPECT_EQ(Cut("\xe9"), at + "'é' looking for beginning of value");
  EXPECT_EQ(Cut("\x85"), at + R"('\u0085' looking for beginning of value)");
  EXPECT_EQ(Cut("\\"), at + R"('\\' looking for beginning of value)");
}

TEST(JsonValuesTest, NestingIsBounded) {
  const std::string most(JsonValues::kMaxDepth, '[');
  EXPECT_EQ(Cut(most + std::string(JsonValues::kMaxDepth, ']')),
            most + std::string(JsonValues::kMaxDepth, ']') + "|end");
  EXPECT_EQ(Cut(most + "["), "invalid character '[' exceeded max depth");
  EXPECT_EQ(Cut(most + "{"), "invalid character '{' exceeded max depth");
}

}  // namespace
}  // namespace kvorum::server::gateway
