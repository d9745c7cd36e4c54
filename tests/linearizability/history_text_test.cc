#include "tests/linearizability/history_text.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum::linearizability {
namespace {

std::string ErrorOf(std::string_view text) {
  const Result<History> history = ParseHistory(text);
  return history.has_value() ? "none" : history.error().message;
}

TEST(HistoryTextTest, EveryKindOfLineIsReadAndWrittenAlike) {
  const std::string text =
      "start 3 a=1@2,2,1 b=%\n"
      "c1 1 2 put k v%20w -> 4\n"
      "c1 1 - put k v -> ?\n"
      "c1 1 2 put then %2d -> -\n"
      "c1 1 2 del k -> 5 1\n"
      "c1 1 2 del k l -> 5 0\n"
      "c1 1 2 get k -> 5\n"
      "c1 1 2 get % %00 -> 5 a=1@2,2,1 b=2@3,3,1\n"
      "c1 1 2 sget k -> 5 k=v\n"
      "c1 1 2 txn -> 5 yes\n"
      "c1 1 2 txn if mod(k)=5 value(k)!=x create(l)>1 version(l)<3 then put k v ; get k z else del "
      "k ; get k -> 6 yes put ; get k=v@6,5,2\n"
      "c1 1 2 txn if mod(k)=5 then put k v else del k ; get k -> 6 no del 1 ; get\n";
  std::string expected = text;
  expected.replace(expected.find("put then"), 8, "put %74hen");
  const Result<History> history = ParseHistory(text);
  ASSERT_TRUE(history.has_value()) << history.error().message;
  EXPECT_EQ(ToText(*history), expected);
  const Result<History> again = ParseHistory(expected);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, *history);
  EXPECT_EQ(history->operations[2].success[0].key, "then");
  EXPECT_EQ(history->operations[2].success[0].value, "-");
  EXPECT_EQ(history->operations[6].success[0].range_end, std::string(1, '\0'));
}

TEST(HistoryTextTest, AnyBytesSurvive) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  History history;
  history.operations.push_back(Put("c", 1, bytes, ""));
  const Result<History> again = ParseHistory(ToText(history));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, history);
}

TEST(HistoryTextTest, ABadLineIsNamed) {
  EXPECT_EQ(ErrorOf("# fine\n\nc 1 2 jump k -> 3\n"), "line 3: 'jump' is no request");
  EXPECT_EQ(ErrorOf("c 1 2 put k -> 3"), "line 1: a put has a key and a value");
  EXPECT_EQ(ErrorOf("c 1 2 put k v"), "line 1: a line is CLIENT CALL RETURNED OPERATION -> ANSWER");
  EXPECT_EQ(ErrorOf("c 1 x put k v -> 3"), "line 1: 'x' is not a number");
  EXPECT_EQ(ErrorOf("c 3 2 put k v -> 3"), "line 1: it returned before its call");
  EXPECT_EQ(ErrorOf("c 3 - put k v -> 3"), "line 1: an answer that was seen has a time");
  EXPECT_EQ(ErrorOf("c 1 2 put k v%2 -> 3"), "line 1: 'v%2' has a broken escape");
  EXPECT_EQ(ErrorOf("c 1 2 get k -> 3 k"), "line 1: 'k' is not KEY=VALUE");
  EXPECT_EQ(ErrorOf("c 1 2 txn if mod(k)5 then put k v -> 3 yes put"),
            "line 1: 'mod(k)5' lacks a relation");
  EXPECT_EQ(ErrorOf("c 1 2 txn then put k v ; put l v -> 3 yes put"),
            "line 1: a transaction answers each request of the branch it took");
}

}  // namespace
}  // namespace kvorum::linearizability
