#include "base/text/percent.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum {
namespace {

TEST(PercentTest, EveryByteComesBack) {
  std::string bytes;
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
    AppendPercentEscape(text, static_cast<char>(byte));
  }
  EXPECT_TRUE(text.starts_with("%00%01"));
  EXPECT_TRUE(text.ends_with("%FE%FF"));
  EXPECT_EQ(PercentDecode(text), bytes);
}

TEST(PercentTest, AMalformedEscapeStands) {
  for (const char* text : {"%", "a%", "%4", "%4g", "%g4", "%%", "%+1", "%-1", "% 1"})
    EXPECT_EQ(PercentDecode(text), text);
  EXPECT_EQ(PercentDecode("%%41"), "%A");
  EXPECT_EQ(PercentDecode("%2f%2F"), "//");
}

TEST(PercentTest, ByteThatMustStayEscapedDoes) {
  EXPECT_EQ(PercentDecode("/a%2Fb%41", "/"), "/a%2FbA");
}

}  // namespace
}  // namespace kvorum
