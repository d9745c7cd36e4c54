// A mirror's keys as files: which have one, and which changes follow.
#include "tools/mirror/mirror_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "tools/mirror/mirror_path.h"

namespace kvorum::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MirrorPathTest, AKeysPathIsWhatFollowsThePrefix) {
  for (const char* key : {"a", "a/b/c", "a.b", "...", "..a", "a..", " ", "a b", "-", "ä", "\xff",
                          "a\nb", "%41", "a\\..\\b", "x/.kvorum-mirror", ".kvorum-mirror2"})
    EXPECT_EQ(MirrorPath(key).value_or("refused"), key);
  EXPECT_TRUE(MirrorPath(std::string(255, 'a') + "/" + std::string(255, 'b')));
}

TEST(MirrorPathTest, KeysThatLeadElsewhereAreRefusedWithTheReason) {
  const auto why = [](std::string_view key) { return MirrorPath(key).error().message; };
  EXPECT_EQ(why(""), "is the prefix itself");
  EXPECT_EQ(why("/"), "has an empty part");
  EXPECT_EQ(why("/etc/passwd"), "has an empty part");
  EXPECT_EQ(why("a//b"), "has an empty part");
  EXPECT_EQ(why("a/"), "has an empty part");
  EXPECT_EQ(why(".."), "has the part '..'");
  EXPECT_EQ(why("../a"), "has the part '..'");
  EXPECT_EQ(why("a/../../b"), "has the part '..'");
  EXPECT_EQ(why("a/.."), "has the part '..'");
  EXPECT_EQ(why("./a"), "has the part '.'");
  EXPECT_EQ(why(std::string_view("a\0b", 3)), "has a zero byte");
  EXPECT_EQ(why(std::string_view("..\0", 3)), "has a zero byte");
  EXPECT_EQ(why("a/" + std::string(256, 'b')), "has a part of more than 255 bytes");
  EXPECT_EQ(why(".kvorum-mirror"), "has the name of the mirror's own folder, .kvorum-mirror");
  EXPECT_EQ(why(".kvorum-mirror/files"), "has the name of the mirror's own folder, .kvorum-mirror");
  std::string deep = "a";
  while (deep.size() <= kMaxPathBytes) deep += "/a";
  EXPECT_EQ(why(deep), "has more than 3072 bytes");
}

TEST(MirrorPathTest, PathsOfAListAreEscaped) {
  std::string every;
  for (int c = 1; c < 256; ++c) every += static_cast<char>(c);
  EXPECT_EQ(UnescapePath(EscapePath(every)).value(), every);
  EXPECT_EQ(EscapePath("a\nb%"), "a%0Ab%25");
  for (const char* text : {"%", "%4", "%4g", "a b", "%-1", "\n"})
    EXPECT_FALSE(UnescapePath(text)) << text;
}

TEST(MirrorTreeTest, AKeyWithKeysBelowItIsAFolder) {
  MirrorTree tree;
  EXPECT_TRUE(tree.Put("a", 1).is_file);
  const auto below = tree.Put("a/b/c", 2);
  EXPECT_TRUE(below.is_file);
  EXPECT_EQ(below.hidden, "a");
  EXPECT_FALSE(tree.Put("a/d", 3).hidden);
  EXPECT_FALSE(tree.IsFile("a"));
  EXPECT_FALSE(tree.Put("a", 4).is_file);
  EXPECT_EQ(tree.revision("a"), 4);
  EXPECT_FALSE(tree.Erase("a/d").shown);
  const auto last = tree.Erase("a/b/c");
  EXPECT_TRUE(last.was_file);
  EXPECT_EQ(last.shown, "a");
  EXPECT_TRUE(tree.IsFile("a"));
}

TEST(MirrorTreeTest, ANameThatOnlyBeginsAlikeIsAnotherFile) {
  MirrorTree tree;
  tree.Put("a", 1);
  for (const char* path : {"ab", "a-", "a.txt", "a0"}) EXPECT_FALSE(tree.Put(path, 2).hidden);
  EXPECT_TRUE(tree.IsFile("a"));
}

// The store's side of a folder: applies what the plan says, and knows the truth.
class PlanTest : public testing::Test {
 protected:
  static std::string Value(const std::string& path, std::int64_t revision) {
    return path + "@" + std::to_string(revision);
  }
  sync::KeyValue Kv(const std::string& path, std::int64_t revision) {
    return {.key = "/p/" + path, .value = Value(path, revision), .mod_revision = revision};
  }
  void Put(const std::string& path) {
    truth_[path] = ++revision_;
    plan_.Put(Kv(path, revision_));
  }
  void Erase(const std::string& path) {
    truth_.erase(path);
    ++revision_;
    plan_.Erase("/p/" + path);
  }
  void List() {
    plan_.BeginList();
    for (const auto& [path, revision] : truth_) plan_.Put(Kv(path, revision));
    plan_.EndList(made_);
  }
  std::vector<std::string> Ready() {
    std::vector<std::string> lines;
    for (const FileChange& change : plan_.TakeReady(1000))
      lines.push_back((change.content ? "+" : "-") + change.path);
    return lines;
  }
  // Makes the changes, and answers what the plan wants to read.
  void Make() {
    for (bool more = true; more;) {
      more = false;
      for (FileChange& change : plan_.TakeReady(1000)) {
        more = true;
        if (change.content) {
          made_.insert(change.path);
          files_[change.path] = *change.content;
        } else {
          made_.erase(change.path);
          files_.erase(change.path);
        }
      }
      for (const std::string& key : plan_.TakeWanted()) {
        more = true;
        const std::string path = key.substr(3);
        if (truth_.contains(path)) plan_.PutFetched(Kv(path, truth_[path]));
      }
    }
  }
  std::map<std::string, std::string> Expected() const {
    std::map<std::string, std::string> expected;
    for (const auto& [path, revision] : truth_) {
      const bool is_folder = std::ranges::any_of(truth_, [&](const auto& other) {
        return other.first.starts_with(path + "/") && MirrorPath(other.first);
      });
      if (MirrorPath(path) && !is_folder) expected[path] = Value(path, revision);
    }
    return expected;
  }

  MirrorPlan plan_{"/p/"};
  std::map<std::string, std::int64_t> truth_;
  std::map<std::string, std::string> files_;
  std::set<std::string, std::less<>> made_;
  std::int64_t revision_ = 0;
};

TEST_F(PlanTest, AFileThatBecomesAFolderGoesAndComesBackWithItsValue) {
  Put("a");
  Make();
  Put("a/b");
  EXPECT_THAT(plan_.TakeWarnings(), ElementsAre("key /p/a has no file: it has keys below it"));
  EXPECT_EQ(plan_.skipped(), 1U);
  EXPECT_THAT(Ready(), ElementsAre("-a", "+a/b"));
  Put("a");
  EXPECT_THAT(plan_.TakeWarnings(), IsEmpty());
  EXPECT_THAT(Ready(), IsEmpty());
  Erase("a/b");
  EXPECT_THAT(Ready(), ElementsAre("-a/b"));
  EXPECT_THAT(plan_.TakeWanted(), ElementsAre("/p/a"));
  plan_.PutFetched(Kv("a", 1));  // an answer that is older than what came meanwhile
  EXPECT_THAT(Ready(), IsEmpty());
  plan_.PutFetched(Kv("a", 3));
  EXPECT_THAT(Ready(), ElementsAre("+a"));
  EXPECT_EQ(plan_.skipped(), 0U);
}

TEST_F(PlanTest, HostileKeysAreNamedOnceAndHaveNoFile) {
  Put("../a");
  Put("ok");
  Put("../a");
  EXPECT_THAT(Ready(), ElementsAre("+ok"));
  EXPECT_THAT(plan_.TakeWarnings(), ElementsAre("key /p/../a has no file: it has the part '..'"));
  List();
  EXPECT_THAT(plan_.TakeWarnings(), IsEmpty());
  EXPECT_EQ(plan_.skipped(), 1U);
  Erase("../a");
  EXPECT_EQ(plan_.skipped(), 0U);
}

TEST_F(PlanTest, DuringAListAFileThatMayBecomeAFolderWaits) {
  plan_.BeginList();
  plan_.Put(Kv("a", 1));
  plan_.Put(Kv("a-", 2));
  EXPECT_THAT(Ready(), IsEmpty());
  plan_.Put(Kv("a.b", 3));
  EXPECT_THAT(Ready(), ElementsAre("+a-"));
  plan_.Put(Kv("a0", 4));
  EXPECT_THAT(Ready(), ElementsAre("+a.b"));
  plan_.Put(Kv("b", 5));
  EXPECT_THAT(Ready(), ElementsAre("+a", "+a0"));
  plan_.EndList({"a", "old", "b/c"});
  EXPECT_THAT(Ready(), ElementsAre("+b", "-b/c", "-old"));
}

TEST_F(PlanTest, AChangeThatFailedIsReadyAgain) {
  Put("a");
  std::vector<FileChange> taken = plan_.TakeReady(1);
  EXPECT_EQ(plan_.pending_bytes(), 0U);
  plan_.GiveBack(std::move(taken.front()));
  EXPECT_EQ(plan_.pending_bytes(), 1 + Value("a", 1).size());
  EXPECT_THAT(Ready(), ElementsAre("+a"));
  EXPECT_EQ(plan_.pending_bytes(), 0U);
}

TEST_F(PlanTest, WhateverComesTheFilesAreThoseOfTheKeys) {
  const std::vector<std::string> paths = {"a",    "a/b", "a/b/c", "a-",   "a.b", "a/c",    "b",
                                          "b/..", "b/c", "",      "b//c", "c",   "a/b/c/d"};
  Rng rng(11);
  for (int i = 0; i < 20'000; ++i) {
    const std::string& path = paths[rng.Below(paths.size())];
    if (rng.Below(100) == 0)
      List();
    else if (truth_.contains(path) && rng.Below(2) == 0)
      Erase(path);
    else
      Put(path);
    if (rng.Below(3) != 0) continue;
    Make();
    ASSERT_EQ(files_, Expected()) << i;
    ASSERT_EQ(plan_.pending_bytes(), 0U);
    ASSERT_EQ(plan_.skipped(), truth_.size() - files_.size());
  }
}

}  // namespace
}  // namespace kvorum::ctl
