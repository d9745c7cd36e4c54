#include "tools/text/key_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvorum::ctl {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;

TEST(PathPartsTest, FoldersEndWithTheSeparator) {
  EXPECT_THAT(PathParts("a/b/c", "/"), ElementsAre("a/", "b/", "c"));
  EXPECT_THAT(PathParts("/registry/pods/x", "/"), ElementsAre("/registry/", "pods/", "x"));
  EXPECT_THAT(PathParts("a//b", "/"), ElementsAre("a/", "/", "b"));
  EXPECT_THAT(PathParts("a/", "/"), ElementsAre("a/", ""));
  EXPECT_THAT(PathParts("//a", "/"), ElementsAre("//a"));
  EXPECT_THAT(PathParts("a", "/"), ElementsAre("a"));
  EXPECT_THAT(PathParts("a::b:c", "::"), ElementsAre("a::", "b:c"));
}

TEST(FolderOfTest, IsAsDeepAsAskedOrAsTheKeyIs) {
  EXPECT_EQ(FolderOf("/registry/pods/x", "/", 1), "/registry/");
  EXPECT_EQ(FolderOf("/registry/pods/x", "/", 9), "/registry/pods/");
  EXPECT_EQ(FolderOf("x", "/", 1), "");
  EXPECT_EQ(FolderOf("a/b", "/", 0), "");
}

TEST(ShownKeyTest, WhatIsNotPrintableIsQuoted) {
  EXPECT_EQ(ShownKey("a b/ü"), "a b/ü");
  EXPECT_EQ(ShownKey("a\nb"), R"("a\nb")");
  EXPECT_EQ(ShownKey("\x1b[31m"), R"("\x1b[31m")") << "a key must not paint the terminal";
  EXPECT_EQ(ShownKey("\xff"), R"("\xff")");
  EXPECT_EQ(ShownKey(""), R"("")");
}

std::vector<std::string> Drawn(const std::vector<std::string>& keys, std::size_t depth = 0) {
  std::vector<std::string> lines;
  KeyTree tree("/", depth, [&](const KeyTree::Line& line) {
    lines.push_back(std::string(line.level, '.') + std::string(line.name) +
                    (line.keys > 0 ? " " + std::to_string(line.keys) : ""));
    EXPECT_EQ(line.is_folder, line.name.ends_with('/')) << line.name;
  });
  for (const std::string& key : keys) tree.Add(key);
  tree.Finish();
  return lines;
}

TEST(KeyTreeTest, AFolderIsDrawnOnce) {
  EXPECT_THAT(Drawn({"a/b/1", "a/b/2", "a/c/1", "b"}),
              ElementsAre("a/", ".b/", "..1", "..2", ".c/", "..1", "b"));
}

TEST(KeyTreeTest, AKeyAndAFolderOfTheSameNameAreTwoThings) {
  EXPECT_THAT(Drawn({"a", "a-x", "a/b"}), ElementsAre("a", "a-x", "a/", ".b"));
}

TEST(KeyTreeTest, ThePathIsOpenedAnewFromWhereItDiffers) {
  EXPECT_THAT(Drawn({"a/b/c/1", "a/x/c/1"}),
              ElementsAre("a/", ".b/", "..c/", "...1", ".x/", "..c/", "...1"));
}

TEST(KeyTreeTest, BelowTheDepthKeysAreCounted) {
  const std::vector<std::string> keys = {"a/1", "a/b/1", "a/b/c/1", "a/d/1", "b", "c/d/e/1"};
  EXPECT_THAT(Drawn(keys, 2), ElementsAre("a/", ".1", ".b/ 2", ".d/ 1", "b", "c/", ".d/ 1"));
  EXPECT_THAT(Drawn(keys, 1), ElementsAre("a/ 4", "b", "c/ 1"));
}

TEST(KeyTreeTest, CountsWhatItDrew) {
  KeyTree tree("/", 1, [](const KeyTree::Line&) {});
  for (const char* key : {"a/1", "a/2", "b/1", "c"}) tree.Add(key);
  tree.Finish();
  EXPECT_EQ(tree.folders(), 2);
  EXPECT_EQ(tree.keys(), 4);
}

}  // namespace
}  // namespace kvorum::ctl
