#include "tools/session/txn_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace kvorum::ctl {
namespace {

using etcdserverpb::Compare;
using testing::ElementsAre;

TEST(CompareTest, EachTargetByItsNames) {
  EXPECT_EQ(ParseCompare(R"(mod("k") > "3")")->mod_revision(), 3);
  EXPECT_EQ(ParseCompare(R"(m("k") > "3")")->mod_revision(), 3);
  EXPECT_EQ(ParseCompare(R"(create("k") > "3")")->create_revision(), 3);
  EXPECT_EQ(ParseCompare(R"(c("k") > "3")")->create_revision(), 3);
  EXPECT_EQ(ParseCompare(R"(version("k") > "3")")->version(), 3);
  EXPECT_EQ(ParseCompare(R"(ver("k") > "3")")->version(), 3);
  EXPECT_EQ(ParseCompare(R"(value("k") > "3")")->value(), "3");
  EXPECT_EQ(ParseCompare(R"(val("k") > "3")")->value(), "3");
  EXPECT_EQ(ParseCompare(R"(lease("k") > "1F")")->lease(), 31);
  EXPECT_EQ(ParseCompare(R"(lease("k") > "1F")")->target(), Compare::LEASE);
}

TEST(CompareTest, EachOperator) {
  EXPECT_EQ(ParseCompare(R"(c("k") = "3")")->result(), Compare::EQUAL);
  EXPECT_EQ(ParseCompare(R"(c("k") != "3")")->result(), Compare::NOT_EQUAL);
  EXPECT_EQ(ParseCompare(R"(c("k") > "3")")->result(), Compare::GREATER);
  EXPECT_EQ(ParseCompare(R"(c("k") < "3")")->result(), Compare::LESS);
}

TEST(CompareTest, KeyAndValueAreQuotedStrings) {
  const auto compare = ParseCompare(R"(val("a\"\x00 b") = `c\d`)");
  EXPECT_EQ(compare->key(), std::string("a\"\0 b", 5));
  EXPECT_EQ(compare->value(), "c\\d");
}

TEST(CompareTest, WhatIsMalformedIsShownAsFarAsItWasUnderstood) {
  const auto message = [](std::string_view line) {
    const auto compare = ParseCompare(line);
    return compare ? "fine" : compare.error().message;
  };
  EXPECT_EQ(message("foo"), "malformed comparison: foo");
  EXPECT_EQ(message("mod(a) = \"1\""), "malformed comparison: mod(a) = \"1\"; got mod(\"\")  \"\"");
  EXPECT_EQ(message("mod(\"a\")= \"1\""),
            "malformed comparison: mod(\"a\")= \"1\"; got mod(\"a\")  \"\"");
  EXPECT_EQ(message("mod(\"a\") = 1"),
            "malformed comparison: mod(\"a\") = 1; got mod(\"a\") = \"\"");
  EXPECT_EQ(message("foo(\"a\") = \"1\""),
            "malformed comparison: foo(\"a\") = \"1\" (unknown target foo)");
  EXPECT_EQ(message("mod(\"a\") == \"1\""),
            "malformed comparison: mod(\"a\") == \"1\" (unknown operator ==)");
  EXPECT_EQ(message("mod(\"a\") = \"x\""), "invalid txn compare request: mod(\"a\") = \"x\"");
  EXPECT_EQ(message("lease(\"a\") = \"ffffffffffffffff\""),
            "invalid txn compare request: lease(\"a\") = \"ffffffffffffffff\"");
}

TEST(WordsTest, QuotesHoldAWordTogether) {
  EXPECT_THAT(*SplitWords(R"(put  k1 "a \"b\"\n" 'c "d"')"),
              ElementsAre("put", "k1", "a \"b\"\n", "c \"d\""));
  EXPECT_THAT(*SplitWords("a'b c\"d"), ElementsAre("a'b", "c\"d"));
  EXPECT_THAT(*SplitWords("'it''s' \"\""), ElementsAre("it", "s", ""));
  EXPECT_THAT(*SplitWords("\"open end"), ElementsAre("open", "end"));
  EXPECT_FALSE(SplitWords(R"("\q")"));
}

TEST(OpTest, LinesOfPutGetAndDel) {
  const auto put = ParseOp("put k \"v w\" --prev-kv");
  EXPECT_EQ(put->request_put().value(), "v w");
  EXPECT_TRUE(put->request_put().prev_kv());
  const auto get = ParseOp("get k --prefix --limit 2");
  EXPECT_EQ(get->request_range().range_end(), "l");
  EXPECT_EQ(get->request_range().limit(), 2);
  const auto del = ParseOp("del -- -k");
  EXPECT_EQ(del->request_delete_range().key(), "-k");
}

TEST(OpTest, Refusals) {
  const auto failure = [](std::string_view line) {
    const auto op = ParseOp(line);
    return op ? Failure{} : op.error();
  };
  EXPECT_EQ(failure("put"), (Failure{ExitCode::kInvalidInput, "invalid txn compare request: put"}));
  EXPECT_EQ(failure("watch k"), (Failure{ExitCode::kInvalidInput, "invalid txn request: watch k"}));
  EXPECT_EQ(failure("get k --foo"),
            (Failure{ExitCode::kInvalidInput, "invalid txn request: get k --foo"}));
  EXPECT_EQ(failure("get --help k"),
            (Failure{ExitCode::kInvalidInput, "invalid txn request: get --help k"}));
  EXPECT_EQ(failure("put k").code, ExitCode::kBadArguments) << "a value can't come from the input";
}

TEST(TxnInputTest, ThreeBlocksEachEndedByAnEmptyLine) {
  std::istringstream in(
      "mod(\"k\") > \"0\"\n c(\"k\") = \"1\" \n\nput k v\n  \nget k\ndel k\n\nrest");
  std::string prompts;
  const auto txn = ReadTxn(in, [&](std::string_view what) { prompts.append(what).append("\n"); });
  ASSERT_TRUE(txn) << txn.error().message;
  EXPECT_EQ(txn->compare_size(), 2);
  EXPECT_EQ(txn->success_size(), 1);
  EXPECT_EQ(txn->failure_size(), 2);
  EXPECT_EQ(prompts,
            "compares:\nsuccess requests (get, put, del):\nfailure requests (get, put, del):\n");
}

TEST(TxnInputTest, InputThatEndsWithinABlockIsNoTransaction) {
  for (const char* text : {"", "\n", "\n\n", "\n\nput k v", "mod(\"k\") > \"0\""}) {
    std::istringstream in(text);
    const auto txn = ReadTxn(in, [](std::string_view) {});
    ASSERT_FALSE(txn) << text;
    EXPECT_EQ(txn.error(), (Failure{ExitCode::kInvalidInput, "EOF"}));
  }
}

}  // namespace
}  // namespace kvorum::ctl
