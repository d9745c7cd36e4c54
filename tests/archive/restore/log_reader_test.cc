// Log objects read along a plan: of one leader or of several, up to a target, each where it should
// be.
#include "archive/restore/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive/restore/listing.h"
#include "archive/store/folder_store.h"
#include "tests/disk/sim_file_system.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr HistoryId kReadHistory = 0x1;
constexpr BaseName kReadBase = {.index = 5, .revision = 5, .time_ms = 50};

// Entry i is of term i / 10 + 1, has revision i, and was applied at 10 * i ms.
raft::Entry EntryAt(std::uint64_t index, const std::string& data = "") {
  return {.term = raft::Term{index / 10 + 1},
          .index = raft::Index{index},
          .type = raft::EntryType::kNormal,
          .data = SharedBytes::Copy(data.empty() ? "entry " + std::to_string(index) : data)};
}

TimeMark MarkOf(std::uint64_t index) {
  return {.index = raft::Index{index},
          .time_ms = static_cast<UnixMillis>(10 * index),
          .revision = static_cast<std::int64_t>(index)};
}

class LogReaderTest : public testing::TestWithParam<Ahead> {
 protected:
  LogReaderTest() {
    auto opened = FolderStore::Open(disk_, clock_, stop_, {.folder = "/archive", .seed = 7});
    store_ = std::move(opened).value();
    contents_.Add(KeyText({.history = kReadHistory, .name = ManifestName{kReadBase}}));
  }

  // An object of these entries, with marks at each even one and at the last.
  LogEnd Put(const LogEnd& previous, std::uint64_t first, std::uint64_t last) {
    std::vector<raft::Entry> entries;
    for (std::uint64_t i = first; i <= last; ++i) entries.push_back(EntryAt(i));
    return PutEntries(previous, entries);
  }
  LogEnd PutEntries(const LogEnd& previous, const std::vector<raft::Entry>& entries) {
    std::vector<TimeMark> times;
    for (const raft::Entry& entry : entries) {
      if (entry.index.value() % 2 == 0 || &entry == &entries.back())
        times.push_back(MarkOf(entry.index.value()));
    }
    const LogObject object = MakeLogObject(kReadHistory, previous, entries, times, "");
    Overwrite(KeyText(object.key), object.bytes);
    contents_.Add(KeyText(object.key));
    return object.end;
  }
  void Overwrite(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_->Put(key, bytes, {}).has_value());
  }

  // "6-30 at 300", or the error's text.
  std::string ReadAll(const Target& target, raft::Term base_term = 1,
                      std::optional<raft::Index> end = std::nullopt) {
    contents_.Sort();
    auto plan = MakePlan(contents_, std::nullopt, target);
    if (!plan.has_value()) return plan.error().message;
    plan->end = end;
    LogReader reader(*store_, *plan, base_term, GetParam());
    raft::Index last = kReadBase.index;
    while (true) {
      const auto entries = reader.Next();
      if (!entries.has_value()) return entries.error().error.message;
      if (entries->empty()) break;
      for (const raft::Entry& entry : *entries) {
        last = last + 1;
        EXPECT_EQ(entry.index, last);
        EXPECT_EQ(entry.data.view(), EntryAt(last.value()).data.view());
      }
    }
    return std::to_string(last.value()) + " at " + std::to_string(reader.MarkAt(last).time_ms);
  }

  SimFileSystem disk_;
  ManualClock clock_;
  StopSignal stop_;
  std::unique_ptr<ObjectStore> store_;
  Contents contents_;
};

TEST_P(LogReaderTest, ATargetIsReachedExactly) {
  const LogEnd first = Put({}, 1, 15);
  const LogEnd second = Put(first, 16, 16);
  Put(second, 17, 30);
  EXPECT_EQ(ReadAll(ToLatest{}), "30 at 300");
  EXPECT_EQ(ReadAll(ToIndex{5}), "5 at 50");
  EXPECT_EQ(ReadAll(ToIndex{6}), "6 at 60");
  EXPECT_EQ(ReadAll(ToIndex{19}), "19 at 180") << "the time of 19 is not known";
  EXPECT_EQ(ReadAll(ToLatest{}, 1, raft::Index{16}), "16 at 160") << "a child left it there";
  EXPECT_EQ(ReadAll(ToTime{180}), "18 at 180");
  EXPECT_EQ(ReadAll(ToTime{199}), "18 at 180");
  EXPECT_EQ(ReadAll(ToTime{50}), "5 at 50");
  EXPECT_EQ(ReadAll(ToTime{5'000}), "30 at 300");
}

TEST_P(LogReaderTest, ObjectsOfTwoLeadersOverlap) {
  Put(Put({}, 1, 8), 9, 12);
  Put(Put(Put({}, 1, 6), 7, 10), 11, 30);
  EXPECT_EQ(ReadAll(ToLatest{}), "30 at 300");
  EXPECT_EQ(ReadAll(ToIndex{13}), "13 at 120");
}

TEST_P(LogReaderTest, AnOverlapThatDiffersIsRefused) {
  Put({}, 1, 10);
  const LogEnd other = Put({}, 1, 8);
  PutEntries(other, {EntryAt(9), EntryAt(10, "another"), EntryAt(11)});
  EXPECT_THAT(ReadAll(ToLatest{}), HasSubstr("an entry differs"));
}

TEST_P(LogReaderTest, AnObjectOfAnotherChainIsRefused) {
  const LogEnd first = Put({}, 1, 10);
  Put({.key = first.key, .last = first.last, .crc = first.crc + 1}, 11, 20);
  EXPECT_THAT(ReadAll(ToLatest{}), HasSubstr("does not go on where its predecessor ends"));
}

TEST_P(LogReaderTest, APredecessorOfAnotherHistoryIsRefused) {
  Put({}, 1, 10);
  const std::string foreign =
      KeyText({.history = HistoryId{0x2},
               .name = LogName{.first = 1, .last = 10, .revision = 10, .time_ms = 100}});
  Put({.key = foreign, .last = 10, .crc = 7}, 11, 20);
  EXPECT_THAT(ReadAll(ToLatest{}), HasSubstr("names a wrong predecessor"));
}

TEST_P(LogReaderTest, ATermThatFallsIsRefused) {
  const LogEnd first = Put({}, 1, 10);  // 10 is of term 2
  raft::Entry entry = EntryAt(11);
  entry.term = 1;
  PutEntries(first, {entry});
  EXPECT_THAT(ReadAll(ToLatest{}), HasSubstr("its term is lower"));
}

TEST_P(LogReaderTest, TheBasesLastEntryIsTheLogs) {
  Put({}, 1, 10);
  EXPECT_THAT(ReadAll(ToLatest{}, /*base_term=*/2), HasSubstr("not those behind the ones before"));
}

TEST_P(LogReaderTest, EveryDamagedByteIsFoundAndNamed) {
  const LogEnd first = Put({}, 1, 10);
  const LogEnd second = Put(first, 11, 20);
  const std::string bytes = ReadObject(*store_, second.key, kMaxObjectBytes).value();
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    Overwrite(second.key, damaged);
    ASSERT_THAT(ReadAll(ToLatest{}), HasSubstr(second.key)) << "byte " << i;
  }
  for (std::size_t size = 0; size < bytes.size(); size += 11) {
    Overwrite(second.key, bytes.substr(0, size));
    ASSERT_THAT(ReadAll(ToLatest{}), HasSubstr(second.key)) << "cut at " << size;
  }
}

TEST_P(LogReaderTest, AReaderThatIsDroppedEndsItsThread) {
  const LogEnd first = Put({}, 1, 10);
  Put(Put(first, 11, 20), 21, 30);
  contents_.Sort();
  const auto plan = MakePlan(contents_, std::nullopt, ToLatest{});
  ASSERT_TRUE(plan.has_value());
  {
    const LogReader unused(*store_, *plan, 1, GetParam());
  }
  LogReader begun(*store_, *plan, 1, GetParam());
  EXPECT_EQ(begun.Next()->size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Ahead, LogReaderTest, testing::Values(Ahead::kNone, Ahead::kThread));

TEST(ListingTest, AHistoryWithoutItsRecordIsAProblemAndNoError) {
  SimFileSystem disk;
  const ManualClock clock;
  const StopSignal stop;
  auto store = FolderStore::Open(disk, clock, stop, {.folder = "/archive", .seed = 7}).value();
  const HistoryRecord record = {.id = kReadHistory, .reason = "new", .first = 1};
  const auto put = [&](const ObjectKey& key, const std::string& bytes) {
    ASSERT_TRUE(store->Put(KeyText(key), bytes, {}).has_value());
  };
  put({.history = kReadHistory, .name = HistoryFileName{}}, ToJson(record));
  put({.history = HistoryId{0x2}, .name = HistoryFileName{}}, ToJson(record));
  put({.history = HistoryId{0x3}, .name = ManifestName{kReadBase}}, "");
  const auto listing = ReadListing(*store);
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(listing->contents.histories.at(kReadHistory).record, record);
  EXPECT_FALSE(listing->contents.histories.at(HistoryId{0x2}).record.has_value());
  EXPECT_THAT(listing->problems,
              ElementsAre(HasSubstr("it does not tell of this history"),
                          HasSubstr("history 0000000000000003 has no history.json")));
}

}  // namespace
}  // namespace kvorum::archive
