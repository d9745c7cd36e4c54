// Pointers into JSON, and what an index finds behind them.
#include "tools/text/json_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/kernel/json_depth.h"

namespace kvorum::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Found(const std::string& pointer, const std::string& document) {
  const auto json = ParseDocument(document, 10);
  if (!json) return "no document";
  const nlohmann::json* const place = JsonPointer::Parse(pointer).value().Find(*json);
  return place == nullptr ? "nothing" : place->dump();
}

// The document and the pointers of RFC 6901, section 5.
TEST(JsonPointerTest, TheExamplesOfItsSpecification) {
  const std::string document =
      R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})";
  EXPECT_EQ(Found("", document), ParseDocument(document, 10)->dump());
  EXPECT_EQ(Found("/foo", document), R"(["bar","baz"])");
  EXPECT_EQ(Found("/foo/0", document), R"("bar")");
  EXPECT_EQ(Found("/", document), "0");
  EXPECT_EQ(Found("/a~1b", document), "1");
  EXPECT_EQ(Found("/c%d", document), "2");
  EXPECT_EQ(Found("/i\\j", document), "5");
  EXPECT_EQ(Found("/ ", document), "7");
  EXPECT_EQ(Found("/m~0n", document), "8");
}

TEST(JsonPointerTest, APlaceThatIsNotThereIsNothing) {
  for (const char* pointer : {"/b", "/a/2", "/a/00", "/a/01", "/a/-1", "/a/-", "/a/x", "/a/0/y",
                              "/a/", "/a/99999999999999999999", "/c/d"})
    EXPECT_EQ(Found(pointer, R"({"a":[1,2],"c":null})"), "nothing") << pointer;
  EXPECT_EQ(Found("/a/1", R"({"a":[1,2]})"), "2");
}

TEST(JsonPointerTest, WhatIsNoPointerIsNamed) {
  for (const char* text : {"a", "a/b", "/~", "/~2", "/a~"})
    EXPECT_THAT(JsonPointer::Parse(text).error().message, HasSubstr("is not a JSON pointer"))
        << text;
}

TEST(JsonDocumentTest, ItsDepthIsBounded) {
  EXPECT_EQ(sync::JsonDepth("[[\"[[[\\\"[\"]]"), 2U);
  EXPECT_EQ(sync::JsonDepth("]]}}["), 1U);
  EXPECT_TRUE(ParseDocument("[[1]]", 2));
  EXPECT_FALSE(ParseDocument("[[1]]", 1));
  EXPECT_FALSE(ParseDocument(std::string(1 << 20, '['), 1000));
}

std::vector<std::string> Entries(const std::string& index, const std::string& value) {
  return IndexEntries(ParseJsonIndex(index).value(), value);
}

TEST(JsonIndexTest, StringsNumbersBooleansAndListsOfThemAreEntries) {
  EXPECT_THAT(Entries("zone=/zone", R"({"zone":"eu"})"), ElementsAre("eu"));
  EXPECT_THAT(Entries("port=/port", R"({"port":8080})"), ElementsAre("8080"));
  EXPECT_THAT(Entries("up=/up", R"({"up":true})"), ElementsAre("true"));
  EXPECT_THAT(Entries("tag=/tags", R"({"tags":["a",1,null,{},["b"],false]})"),
              ElementsAre("a", "1", "false"));
  EXPECT_THAT(Entries("all=", R"("a")"), ElementsAre("a"));
  EXPECT_THAT(Entries("x=/a=b", R"({"a=b":""})"), ElementsAre(""));
}

TEST(JsonIndexTest, OtherValuesHaveNone) {
  for (const char* value : {"", "rubbish", "{", "null", "7", "{}", R"({"zone":null})",
                            R"({"zone":{}})", R"({"zone":[]})", "\xff\xfe", R"({"zone":"e)"})
    EXPECT_THAT(Entries("zone=/zone", value), IsEmpty()) << value;
  EXPECT_THAT(Entries("zone=/zone", std::string(300, '[')), IsEmpty());
}

TEST(JsonIndexTest, WhatIsNoIndexIsNamed) {
  EXPECT_EQ(ParseJsonIndex("zone").error().message, "\"zone\" is not NAME=POINTER");
  EXPECT_EQ(ParseJsonIndex("=/zone").error().message, "\"=/zone\" is not NAME=POINTER");
  EXPECT_EQ(ParseJsonIndex("zone=zone").error().message,
            "\"zone\" is not a JSON pointer: it does not begin with a slash");
}

}  // namespace
}  // namespace kvorum::ctl
