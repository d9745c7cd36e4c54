// What a store holds, by its listing and the records.
#include "archive/catalog/survey.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/archive/memory_store.h"

namespace kvorum::archive {
namespace {

constexpr HistoryId kHistory = 0x1;
constexpr BaseName kBase = {.index = 5, .revision = 3, .time_ms = 50};

std::string Key(const ObjectName& name) { return KeyText({.history = kHistory, .name = name}); }

HistoryRecord Record(HistoryId id) {
  return {.id = id, .cluster_id = 7, .reason = "new", .began_ms = 1, .first = 1};
}

TEST(SurveyTest, ItCostsAListingAndTwoReadsForEachHistory) {
  MemoryStore store;
  const Mark mark = {.time_ms = 60, .index = 1'000, .revision = 9, .term = 1, .member = 2};
  store.objects[Key(HistoryFileName{})] = ToJson(Record(kHistory));
  store.objects[Key(MarkName{})] = ToJson(mark);
  store.objects[Key(PartName{.base = kBase, .number = 0})] = "12345";
  store.objects[Key(ManifestName{kBase})] = "123";
  for (std::uint64_t i = 1; i <= 1'000; ++i)
    store.objects[Key(LogName{.first = raft::Index{i}, .last = raft::Index{i}})] = "x";
  store.objects["lost+found"] = "?";

  const auto survey = TakeSurvey(store);
  ASSERT_TRUE(survey.has_value());
  EXPECT_EQ(store.lists, 1U);
  EXPECT_EQ(store.gets, 2U);
  EXPECT_EQ(survey->contents.histories.at(kHistory).record, Record(kHistory));
  EXPECT_EQ(survey->contents.histories.at(kHistory).logs.size(), 1'000U);
  EXPECT_EQ(survey->contents.strangers.size(), 1U);
  const HistoryDetails& details = survey->details.at(kHistory);
  EXPECT_EQ(details.mark, mark);
  EXPECT_EQ(details.log_bytes, 1'000U);
  EXPECT_EQ(details.base_bytes.at(kBase), 8U);
  EXPECT_EQ(survey->objects, 1'004U);
}

TEST(SurveyTest, DamagedAndForeignRecordsAreProblemsAndNoErrors) {
  MemoryStore store;
  store.objects[Key(HistoryFileName{})] = ToJson(Record(HistoryId{0x2}));
  store.objects[Key(MarkName{})] = "{}";
  const auto survey = TakeSurvey(store);
  ASSERT_TRUE(survey.has_value());
  EXPECT_FALSE(survey->contents.histories.at(kHistory).record.has_value());
  const HistoryDetails& details = survey->details.at(kHistory);
  EXPECT_EQ(details.record_problem, "it is the record of history 0000000000000002");
  EXPECT_EQ(details.mark_problem, "the archive has a damaged mark");
}

}  // namespace
}  // namespace kvorum::archive
