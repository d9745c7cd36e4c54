#include "base/letter_case.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

TEST(LetterCaseTest, LettersOfAsciiAlone) {
  EXPECT_EQ(LowerCase("AZaz@[`{09-\xc3\x84"), "azaz@[`{09-\xc3\x84");
  EXPECT_EQ(LowerCase('Q'), 'q');
  EXPECT_EQ(UpperCase("AZaz@[`{09-\xc3\xa4"), "AZAZ@[`{09-\xc3\xa4");
  EXPECT_EQ(UpperCase('q'), 'Q');
  EXPECT_TRUE(EqualsInAnyCase("Content-Length", "cONTENT-lENGTH"));
  EXPECT_TRUE(EqualsInAnyCase("", ""));
  EXPECT_FALSE(EqualsInAnyCase("Host", "Hos"));
  EXPECT_FALSE(EqualsInAnyCase("@", "`")) << "they differ in the bit that tells the case";
}

}  // namespace
}  // namespace kvorum
