// The findings about an archive that is whole, that has gaps, and at which a server is at work
// meanwhile. Damages are in planted_damages_test.cc.
#include "archive/check/archive_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/archive/check/sample_archive.h"
#include "tests/archive/store/clocked_stop.h"

namespace kvorum::archive {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ArchiveCheckTest : public testing::Test {
 protected:
  Checked Check(MemoryStore& store, const CheckOptions& options = {}) {
    auto checked = CheckArchive(store, stop_, options);
    EXPECT_TRUE(checked.has_value());
    return checked.has_value() ? *std::move(checked) : Checked();
  }
  // "kind key: text" of each finding.
  static std::vector<std::string> Texts(const Checked& checked) {
    std::vector<std::string> texts;
    for (const Finding& finding : checked.findings)
      texts.push_back(std::string(FindingKindName(finding.kind)) + " " + finding.key + ": " +
                      finding.text);
    return texts;
  }
  static std::string RangesText(const Checked& checked, HistoryId id) {
    std::string text;
    for (const StateRange& range : checked.ranges.at(id))
      text += std::to_string(range.first.index.value()) + "-" +
              std::to_string(range.last.index.value()) + " ";
    return text;
  }

  ManualClock clock_;
  ClockedStop stop_{clock_};
};

TEST_F(ArchiveCheckTest, AWholeArchiveIsReadOnceAndHasNoFindings) {
  SampleArchive archive;
  const std::size_t objects = archive.store.objects.size();
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  CheckOptions options;
  options.on_progress = [&](std::uint64_t done_bytes, std::uint64_t total_bytes) {
    done = done_bytes;
    total = total_bytes;
  };
  const Checked checked = Check(archive.store, options);
  EXPECT_THAT(Texts(checked), IsEmpty());
  EXPECT_TRUE(checked.is_whole());
  EXPECT_EQ(archive.store.gets, objects);
  EXPECT_EQ(checked.objects, objects - 4) << "records and marks are not counted";
  EXPECT_LE(done, total);
  EXPECT_GT(done, total / 2);
  EXPECT_EQ(RangesText(checked, SampleArchive::kParent), "5-300 ");
  EXPECT_EQ(RangesText(checked, SampleArchive::kChild), "155-210 ");
  EXPECT_THAT(stop_.waits(), IsEmpty());
}

TEST_F(ArchiveCheckTest, OneHistoryIsReadAlone) {
  SampleArchive archive;
  CheckOptions options;
  options.history = SampleArchive::kChild;
  archive.store.objects[archive.parent.Key(ManifestName{SampleBase(5)})] = "damaged";
  const Checked checked = Check(archive.store, options);
  EXPECT_THAT(Texts(checked), IsEmpty());
  EXPECT_EQ(checked.ranges.size(), 1U);
  options.history = HistoryId{0xdead};
  const auto none = CheckArchive(archive.store, stop_, options);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().text, "the archive has no history 000000000000dead");
}

TEST_F(ArchiveCheckTest, ADeclaredGapIsAFindingUntilRetentionPassesIt) {
  MemoryStore store;
  SampleHistory history(store, HistoryId{0xa}, "p", 1, "");
  history.PutRecord();
  history.PutLog(10);
  history.PutBase(5);
  history.Skip(10);
  const std::string gap = history.PutGap(11, 20);
  history.PutBase(20);
  history.PutLog(10);
  history.PutMark();
  const Checked checked = Check(store);
  EXPECT_THAT(Texts(checked),
              ElementsAre("gap " + gap + ": no object has entries 11 to 20: the log began later"));
  EXPECT_FALSE(checked.is_whole());
  EXPECT_EQ(RangesText(checked, HistoryId{0xa}), "5-10 20-30 ");
  // Retention takes the older base.
  for (std::uint32_t number = 0; number < 3; ++number)
    store.objects.erase(history.Key(PartName{.base = SampleBase(5), .number = number}));
  store.objects.erase(history.Key(ManifestName{SampleBase(5)}));
  EXPECT_TRUE(Check(store).is_whole());
}

TEST_F(ArchiveCheckTest, OverlapsOfTwoLeadersAreWholeIfTheyAreEqual) {
  SampleArchive archive;
  MemoryStore other;
  SampleHistory second(other, SampleArchive::kParent, "p", 1, "");
  for (int i = 0; i < 6; ++i) second.PutLog(10);
  const std::string longer = second.PutLog(14);  // 61 to 74
  archive.store.objects[longer] = other.objects[longer];
  EXPECT_THAT(Texts(Check(archive.store)), IsEmpty());

  SampleHistory foreign(other, SampleArchive::kParent, "q", 1, "");
  for (int i = 0; i < 6; ++i) foreign.PutLog(10);
  ASSERT_EQ(foreign.PutLog(14), longer);
  archive.store.objects[longer] = other.objects[longer];
  const Checked checked = Check(archive.store);
  EXPECT_FALSE(checked.is_whole());
  EXPECT_EQ(checked.findings.front().key, longer);
  EXPECT_EQ(RangesText(checked, SampleArchive::kParent), "5-60 105-300 ")
      << "either of the two may be the wrong one";
}

TEST_F(ArchiveCheckTest, WhatRetentionTakesMeanwhileIsNoFinding) {
  SampleArchive archive;
  bool is_done = false;
  archive.store.before_get = [&](const std::string& key) {
    if (is_done || !key.contains("/log/") || !key.starts_with("000000000000000a")) return;
    is_done = true;
    std::erase_if(archive.store.objects, [&](const auto& object) {
      const auto parsed = ParseKey(object.first);
      if (parsed->history != SampleArchive::kParent) return false;
      const auto* log = std::get_if<LogName>(&parsed->name);
      const auto* part = std::get_if<PartName>(&parsed->name);
      const auto* manifest = std::get_if<ManifestName>(&parsed->name);
      return (log != nullptr && log->last <= 105) ||
             (part != nullptr && part->base == SampleBase(5)) ||
             (manifest != nullptr && manifest->base == SampleBase(5));
    });
  };
  const Checked checked = Check(archive.store);
  EXPECT_TRUE(is_done);
  EXPECT_THAT(Texts(checked), IsEmpty());
}

// Retention of what came from it takes all but record and mark: manifests, parts, then the log.
TEST_F(ArchiveCheckTest, APrunedParentIsNoDamageAtAnyMoment) {
  SampleArchive archive;
  std::vector<std::string> going;
  for (const std::uint64_t index : {5U, 105U, 205U})
    going.push_back(archive.parent.Key(ManifestName{SampleBase(index)}));
  for (const auto& [key, bytes] : archive.store.objects) {
    if (key.starts_with("000000000000000a/base/") && key.ends_with(".gz")) going.push_back(key);
  }
  for (const auto& [key, bytes] : archive.store.objects) {
    if (key.starts_with("000000000000000a/log/")) going.push_back(key);
  }
  for (const std::string& key : going) {
    archive.store.objects.erase(key);
    const Checked checked = Check(archive.store);
    EXPECT_TRUE(checked.is_whole()) << key << ": " << testing::PrintToString(Texts(checked));
  }
}

TEST_F(ArchiveCheckTest, WhatAServerWritesMeanwhileIsNoFinding) {
  SampleArchive archive;
  // The mark tells of an object that comes after the listing; a base is about to get its manifest.
  const std::string manifest = archive.child.Key(ManifestName{SampleBase(155)});
  const std::string kept = archive.store.objects.extract(manifest).mapped();
  bool is_done = false;
  archive.store.before_get = [&](const std::string& key) {
    if (is_done || !key.ends_with("mark.json")) return;
    is_done = true;
    archive.child.PutLog(10);
    archive.child.PutMark();
  };
  class Server final : public StopSignal {
   public:
    explicit Server(std::function<void()> act) : act_(std::move(act)) {}
    bool WaitFor(Duration) override {
      act_();
      return false;
    }

   private:
    std::function<void()> act_;
  } server([&] { archive.store.objects[manifest] = kept; });
  const auto checked = CheckArchive(archive.store, server, {});
  ASSERT_TRUE(checked.has_value());
  EXPECT_THAT(Texts(*checked), IsEmpty());
}

TEST_F(ArchiveCheckTest, WhatIsMissingIsLookedForAsLongAsThePatienceLasts) {
  SampleArchive archive;
  const std::string manifest = archive.child.Key(ManifestName{SampleBase(155)});
  archive.store.objects.erase(manifest);
  const Checked checked = Check(archive.store);
  EXPECT_EQ(stop_.waits().size(), 5U);
  EXPECT_THAT(Texts(checked), ElementsAre("unfinished " + manifest +
                                          ": the base has its last part, but no manifest"));
  EXPECT_EQ(RangesText(checked, SampleArchive::kChild), "155-210 ")
      << "the parts' headers make up for the manifest";
}

TEST_F(ArchiveCheckTest, AStopEndsTheCheck) {
  SampleArchive archive;
  archive.store.objects.erase(archive.child.Key(MarkName{}));
  stop_.StopAtWait(2);
  const auto checked = CheckArchive(archive.store, stop_, {});
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().kind, StoreErrorKind::kStopped);
}

TEST_F(ArchiveCheckTest, AHistoryThatComesFromItselfIsFound) {
  SampleArchive archive;
  archive.parent.PutRecord(
      Origin{.history = SampleArchive::kChild, .index = 160, .revision = RevisionAt(160)});
  EXPECT_THAT(Texts(Check(archive.store)),
              ElementsAre(HasSubstr("the history comes from itself, by its parents"),
                          HasSubstr("the history comes from itself, by its parents")));
}

TEST_F(ArchiveCheckTest, AForkBehindItsParentsEndIsFound) {
  SampleArchive archive;
  archive.child.PutRecord(
      Origin{.history = SampleArchive::kParent, .index = 301, .revision = RevisionAt(301)});
  EXPECT_THAT(Texts(Check(archive.store)),
              ElementsAre(HasSubstr("it left its parent at entry 301, and that ends at 300")));
}

// Its member had applied 40 entries when it began the history; they are in the first base alone.
TEST_F(ArchiveCheckTest, AHistoryWhoseFirstBaseIsBeingMadeIsNoDamage) {
  MemoryStore store;
  const HistoryRecord record = {
      .id = HistoryId{1}, .cluster_id = 7, .reason = "new", .began_ms = 1'000, .first = 41};
  const auto key = [](ObjectName name) {
    return KeyText({.history = HistoryId{1}, .name = std::move(name)});
  };
  store.objects[key(HistoryFileName{})] = ToJson(record);
  Mark mark = {.time_ms = 2'000, .index = 40, .revision = 9, .member = 1};
  store.objects[key(MarkName{})] = ToJson(mark);
  EXPECT_TRUE(Check(store).is_whole());
  mark.time_ms = 3'600'000;
  store.objects[key(MarkName{})] = ToJson(mark);
  EXPECT_FALSE(Check(store).is_whole()) << "a base was never made";
}

TEST_F(ArchiveCheckTest, ABaseThatIsBeingMadeIsNoDamage) {
  SampleArchive archive;
  archive.child.PutBase(205);
  archive.store.objects.erase(archive.child.Key(ManifestName{SampleBase(205)}));
  archive.store.objects.erase(archive.child.Key(PartName{.base = SampleBase(205), .number = 2}));
  archive.store.objects["000000000000000c/notes.txt"] = "?";
  const Checked checked = Check(archive.store);
  EXPECT_TRUE(checked.is_whole());
  EXPECT_THAT(
      Texts(checked),
      ElementsAre("stranger 000000000000000c/notes.txt: no archive writes such a name",
                  HasSubstr("unfinished " + archive.child.Key(ManifestName{SampleBase(205)}))));
}

}  // namespace
}  // namespace kvorum::archive
