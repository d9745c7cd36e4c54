// The contents of a store, by its listing and the records.
#include "archive/catalog/survey.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/archive/memory_store.h"

namespace kvorum::archive {
namespace {

constexpr HistoryId kSurveyed = 0x1;
constexpr BaseName kSurveyedBase = {.index = 5, .revision = 3, .time_ms = 50};

std::string SurveyedKey(const ObjectName& name) {
  return KeyText({.history = kSurveyed, .name = name});
}

HistoryRecord SurveyedRecord(HistoryId id) {
  return {.id = id, .cluster_id = 7, .reason = "new", .began_ms = 1, .first = 1};
}

TEST(SurveyTest, ItCostsAListingAndTwoReadsForEachHistory) {
  MemoryStore store;
  const Mark mark = {.time_ms = 60, .index = 1'000, .revision = 9, .term = 1, .member = 2};
  store.objects[SurveyedKey(HistoryFileName{})] = ToJson(SurveyedRecord(kSurveyed));
  store.objects[SurveyedKey(MarkName{})] = ToJson(mark);
  store.objects[SurveyedKey(PartName{.base = kSurveyedBase, .number = 0})] = "12345";
  store.objects[SurveyedKey(ManifestName{kSurveyedBase})] = "123";
  for (std::uint64_t i = 1; i <= 1'000; ++i)
    store.objects[SurveyedKey(LogName{.first = raft::Index{i}, .last = raft::Index{i}})] = "x";
  store.objects["lost+found"] = "?";

  const auto survey = TakeSurvey(store);
  ASSERT_TRUE(survey.has_value());
  EXPECT_EQ(store.lists, 1U);
  EXPECT_EQ(store.gets, 2U);
  EXPECT_EQ(survey->contents.histories.at(kSurveyed).record, SurveyedRecord(kSurveyed));
  EXPECT_EQ(survey->contents.histories.at(kSurveyed).logs.size(), 1'000U);
  EXPECT_EQ(survey->contents.strangers.size(), 1U);
  const HistoryDetails& details = survey->details.at(kSurveyed);
  EXPECT_EQ(details.mark, mark);
  EXPECT_EQ(details.log_bytes, 1'000U);
  EXPECT_EQ(details.base_bytes.at(kSurveyedBase), 8U);
  EXPECT_EQ(survey->objects, 1'004U);
}

TEST(SurveyTest, DamagedAndForeignRecordsAreProblemsAndNoErrors) {
  MemoryStore store;
  store.objects[SurveyedKey(HistoryFileName{})] = ToJson(SurveyedRecord(HistoryId{0x2}));
  store.objects[SurveyedKey(MarkName{})] = "{}";
  const auto survey = TakeSurvey(store);
  ASSERT_TRUE(survey.has_value());
  EXPECT_FALSE(survey->contents.histories.at(kSurveyed).record.has_value());
  const HistoryDetails& details = survey->details.at(kSurveyed);
  EXPECT_EQ(details.record_problem, "it is the record of history 0000000000000002");
  EXPECT_EQ(details.mark_problem, "the archive has a damaged mark");
}

}  // namespace
}  // namespace kvorum::archive
