// The archive's names, records, frames and log objects: what is written is read, and nothing else.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "archive/format/frame.h"
#include "archive/format/log_object.h"
#include "archive/format/names.h"
#include "archive/format/records.h"
#include "base/crc32c.h"
#include "base/digest/sha256.h"
#include "tests/damage.h"
#include "wal/marker.h"

namespace kvorum::archive {
namespace {

constexpr HistoryId kHistory = 0x1a;
const BaseName kBase = {.index = 12, .revision = 7, .time_ms = 1'790'000'000'000};
const std::string kSha256(64, 'a');

std::vector<ObjectKey> KeysOfAllKinds() {
  return {
      {.history = kHistory, .name = HistoryFileName{}},
      {.history = kHistory, .name = MarkName{}},
      {.history = kHistory,
       .name = LogName{.first = 1, .last = 250, .revision = 90, .time_ms = 1'790'000'000'123}},
      {.history = kHistory, .name = PartName{.base = kBase, .number = 99'999}},
      {.history = kHistory, .name = ManifestName{kBase}},
      {.history = kHistory, .name = GapName{.from = 5, .to = 5}},
  };
}

TEST(NamesTest, EachIsReadAsItWasWritten) {
  for (const ObjectKey& key : KeysOfAllKinds()) EXPECT_EQ(ParseKey(KeyText(key)), key);
  EXPECT_EQ(KeyText(KeysOfAllKinds()[2]),
            "000000000000001a/log/00000000000000000001-00000000000000000250-"
            "00000000000000000090-00000001790000000123.gz");
}

TEST(NamesTest, TheySortAsTheirNumbersDo) {
  const auto text = [](std::uint64_t first) {
    return KeyText({.history = kHistory,
                    .name = LogName{.first = raft::Index{first},
                                    .last = raft::Index{first},
                                    .revision = 1,
                                    .time_ms = 1}});
  };
  EXPECT_LT(text(9), text(10));
  EXPECT_LT(text(99'999'999), text(100'000'000));
}

TEST(NamesTest, WhatNoArchiveWritesIsNoName) {
  for (const std::string_view bad :
       {"", "/", "history.json", "000000000000001a", "000000000000001a/",
        "000000000000001A/mark.json", "0000000000000000/mark.json", "000000000000001a/../mark.json",
        "000000000000001a//mark.json", "000000000000001a/log/1-2-3-4.gz",
        "000000000000001a/base/x/manifest.json",
        "000000000000001a/log/00000000000000000002-00000000000000000001-"
        "00000000000000000090-00000001790000000123.gz",
        "000000000000001a/log/00000000000000000000-00000000000000000001-"
        "00000000000000000090-00000001790000000123.gz",
        "000000000000001a/log/00000000000000000001-99999999999999999999-"
        "00000000000000000090-00000001790000000123.gz",
        "000000000000001a/gap/00000000000000000001-00000000000000000002.jsonx"})
    EXPECT_FALSE(ParseKey(bad).has_value()) << bad;
}

TEST(NamesTest, ACutOrChangedNameIsAnotherOrNone) {
  for (const ObjectKey& key : KeysOfAllKinds()) {
    const std::string text = KeyText(key);
    for (std::size_t size = 0; size < text.size(); ++size)
      EXPECT_FALSE(ParseKey(text.substr(0, size)).has_value());
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      const auto parsed = ParseKey(changed);
      if (parsed) {
        EXPECT_EQ(KeyText(*parsed), changed);
      }
    }
  }
}

HistoryRecord SampleHistory() {
  return {.id = kHistory,
          .cluster_id = 0xfedc'ba98'7654'3210,
          .reason = "restore",
          .began_ms = 5,
          .first = 1,
          .parent = Origin{.history = 0x19, .index = 100, .revision = 50}};
}

LogHeader SampleLogHeader() {
  return {.history = kHistory,
          .name = {.first = 3, .last = 5, .revision = 9, .time_ms = 30},
          .first_term = 1,
          .last_term = 2,
          .previous = "p",
          .previous_crc = 4'000'000'000,
          .end_crc = 7,
          .raw_bytes = 100,
          .sha256 = kSha256,
          .times = {{.index = 3, .time_ms = 10, .revision = 8},
                    {.index = 5, .time_ms = 30, .revision = 9}}};
}

PartHeader SampleLastPart() {
  return {.history = kHistory,
          .name = {.base = kBase, .number = 3},
          .offset = 48,
          .raw_bytes = 16,
          .sha256 = kSha256,
          .end = ImageEnd{.size_bytes = 64, .sha256 = kSha256, .term = 2}};
}

Manifest SampleManifest() {
  return {.history = kHistory,
          .base = kBase,
          .end = {.size_bytes = 30, .sha256 = kSha256, .term = 2},
          .parts = {{.raw_bytes = 20, .sha256 = kSha256}, {.raw_bytes = 10, .sha256 = kSha256}}};
}

TEST(RecordsTest, EachIsReadAsItWasWritten) {
  EXPECT_EQ(ParseHistoryRecord(ToJson(SampleHistory())), SampleHistory());
  HistoryRecord first = SampleHistory();
  first.parent.reset();
  EXPECT_EQ(ParseHistoryRecord(ToJson(first)), first);
  const Mark mark = {.time_ms = 1,
                     .index = 2,
                     .revision = 3,
                     .term = 4,
                     .member = ~std::uint64_t{0},
                     .last_object = "000000000000001a/log/x.gz"};
  EXPECT_EQ(ParseMark(ToJson(mark)), mark);
  const Gap gap = {.name = {.from = 1, .to = 9}, .found_ms = 3, .reason = "the log began later"};
  EXPECT_EQ(ParseGap(ToJson(gap)), gap);
  EXPECT_EQ(ParseLogHeader(ToJson(SampleLogHeader())), SampleLogHeader());
  EXPECT_EQ(ParsePartHeader(ToJson(SampleLastPart())), SampleLastPart());
  EXPECT_EQ(ParseManifest(ToJson(SampleManifest())), SampleManifest());
}

TEST(RecordsTest, TimesOutOfOrderOrOutsideAreRefused) {
  const auto is_read = [](std::vector<TimeMark> times) {
    LogHeader header = SampleLogHeader();
    header.times = std::move(times);
    return ParseLogHeader(ToJson(header)).has_value();
  };
  EXPECT_TRUE(is_read({{.index = 5, .time_ms = 30, .revision = 9}}));
  EXPECT_FALSE(is_read({{.index = 2, .time_ms = 30, .revision = 9}}));
  EXPECT_FALSE(is_read({{.index = 6, .time_ms = 30, .revision = 9}}));
  EXPECT_FALSE(is_read(
      {{.index = 4, .time_ms = 30, .revision = 9}, {.index = 5, .time_ms = 29, .revision = 9}}));
  EXPECT_FALSE(is_read(
      {{.index = 5, .time_ms = 30, .revision = 9}, {.index = 4, .time_ms = 31, .revision = 9}}));
}

TEST(RecordsTest, PartsThatAreNotTheImageAreRefused) {
  Manifest manifest = SampleManifest();
  manifest.parts[1].raw_bytes = 11;
  EXPECT_FALSE(ParseManifest(ToJson(manifest)).has_value());
  manifest.parts.pop_back();
  EXPECT_FALSE(ParseManifest(ToJson(manifest)).has_value());
  manifest.parts[0].raw_bytes = ~std::uint64_t{0};
  EXPECT_FALSE(ParseManifest(ToJson(manifest)).has_value());
}

TEST(RecordsTest, DamagedBytesAreAnotherRecordOrNone) {
  const auto read = [](std::string_view damaged) {
    if (const auto record = ParseHistoryRecord(damaged)) {
      EXPECT_EQ(ParseHistoryRecord(ToJson(*record)), *record);
    }
    if (const auto header = ParseLogHeader(damaged)) {
      EXPECT_EQ(ParseLogHeader(ToJson(*header)), *header);
    }
    if (const auto header = ParsePartHeader(damaged)) {
      EXPECT_EQ(ParsePartHeader(ToJson(*header)), *header);
    }
    if (const auto manifest = ParseManifest(damaged)) {
      EXPECT_EQ(ParseManifest(ToJson(*manifest)), *manifest);
    }
  };
  for (const std::string& sample : {ToJson(SampleHistory()), ToJson(SampleLogHeader()),
                                    ToJson(SampleLastPart()), ToJson(SampleManifest())}) {
    ForEachCut(sample, read);
    ForEachFlip(sample, [&](std::string_view flipped, std::size_t) { read(flipped); });
    EXPECT_FALSE(ParseMark(sample).has_value());
    EXPECT_FALSE(ParseGap(sample).has_value());
  }
  EXPECT_FALSE(ParseMark(std::string(100'000, '[')).has_value());
}

// They have no frame with a checksum around them.
TEST(RecordsTest, EachChangedBitAndEachCutOfARecordThatIsAnObjectIsFound) {
  const Mark mark = {.time_ms = 1'790'000'000'000, .index = 2, .revision = 3, .term = 4};
  const Gap gap = {.name = {.from = 1, .to = 9}, .found_ms = 3, .reason = "the log began later"};
  const auto expect_refusals = [](const std::string& sample, const auto& parse) {
    EXPECT_TRUE(parse(sample).has_value());
    ForEachCut(sample, [&](std::string_view cut) { EXPECT_FALSE(parse(cut).has_value()); });
    ForEachFlip(sample, [&](std::string_view flipped, std::size_t) {
      EXPECT_FALSE(parse(flipped).has_value());
    });
    EXPECT_FALSE(parse(sample + " ").has_value());
  };
  expect_refusals(ToJson(SampleHistory()), ParseHistoryRecord);
  expect_refusals(ToJson(mark), ParseMark);
  expect_refusals(ToJson(gap), ParseGap);
  expect_refusals(ToJson(SampleManifest()), ParseManifest);
}

TEST(FrameTest, TheHeaderAloneCanBeRead) {
  constexpr std::size_t kHeaderEnd = 8 + 4 + 2 + 4 + 4;
  const std::string content(100'000, 'x');
  const std::string bytes = Frame("{}", content);
  const auto framed = ReadFrame(std::string_view(bytes).substr(0, kHeaderEnd));
  ASSERT_TRUE(framed.has_value());
  EXPECT_EQ(framed->header, "{}");
  for (std::size_t size = 0; size < kHeaderEnd; ++size)
    EXPECT_EQ(ReadFrame(std::string_view(bytes).substr(0, size)).error().code, Code::kOutOfRange);
  EXPECT_EQ(Unpack(*ReadFrame(bytes), content.size(), Sha256Hex(content)), content);
}

TEST(FrameTest, AContentOfAnotherSizeIsRefused) {
  const std::string content(100'000, 'x');
  const std::string bytes = Frame("{}", content);
  const auto is_read = [&](std::string_view packed, std::uint64_t raw_bytes,
                           std::string_view sha256) {
    return Unpack({.header = {}, .packed_crc = Crc32c(0, packed), .packed = packed}, raw_bytes,
                  sha256)
        .has_value();
  };
  const std::string packed(ReadFrame(bytes)->packed);
  const std::string sha256 = Sha256Hex(content);
  EXPECT_TRUE(is_read(packed, content.size(), sha256));
  EXPECT_FALSE(is_read(packed, content.size() - 1, sha256));
  EXPECT_FALSE(is_read(packed, content.size() + 1, sha256));
  EXPECT_FALSE(is_read(packed, ~std::uint64_t{0}, sha256));
  EXPECT_FALSE(is_read(packed + "x", content.size(), sha256));
  EXPECT_FALSE(is_read(packed.substr(0, packed.size() - 1), content.size(), sha256));
  EXPECT_FALSE(is_read(packed, content.size(), kSha256));
  EXPECT_FALSE(is_read("", 0, Sha256Hex("")));
}

std::vector<raft::Entry> Entries(std::uint64_t first, std::uint64_t count, std::uint64_t term) {
  std::vector<raft::Entry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    entries.push_back({.term = raft::Term{term},
                       .index = raft::Index{first + i},
                       .data = SharedBytes::Own("entry " + std::to_string(first + i))});
  }
  return entries;
}

std::vector<TimeMark> TimesOf(const std::vector<raft::Entry>& entries) {
  std::vector<TimeMark> times;
  for (const raft::Entry& entry : entries)
    times.push_back({.index = entry.index,
                     .time_ms = 1'000 + static_cast<UnixMillis>(entry.index.value()),
                     .revision = 1 + static_cast<std::int64_t>(entry.index.value())});
  return times;
}

LogObject Make(const LogEnd& previous, const std::vector<raft::Entry>& entries) {
  const std::string metadata = wal::Encode(wal::Metadata{.node_id = 7, .cluster_id = 9});
  return MakeLogObject(kHistory, previous, entries, TimesOf(entries), metadata);
}

TEST(LogObjectTest, EntriesAreReadAsTheyWereWritten) {
  std::vector<raft::Entry> entries = Entries(1, 3, 1);
  entries.push_back({.term = 2, .index = 4, .data = {}});  // a new leader's
  entries.push_back({.term = 2,
                     .index = 5,
                     .type = raft::EntryType::kConfChange,
                     .data = SharedBytes::Own(std::string(100'000, '\0'))});
  const LogObject object = Make({}, entries);
  const auto read = ReadLogObject(object.key, object.bytes);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->entries, entries);
  EXPECT_EQ(read->header.first_term, raft::Term{1});
  EXPECT_EQ(read->header.last_term, raft::Term{2});
  EXPECT_EQ(read->header.times, TimesOf(entries));
  EXPECT_EQ(std::get<LogName>(object.key.name),
            (LogName{.first = 1, .last = 5, .revision = 6, .time_ms = 1'005}));
  EXPECT_EQ(object.end.last, raft::Index{5});
}

TEST(LogObjectTest, TheCrcGoesOnFromObjectToObject) {
  const LogObject first = Make({}, Entries(1, 3, 1));
  const LogObject second = Make(first.end, Entries(4, 2, 1));
  const auto read = ReadLogObject(second.key, second.bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->header.previous, KeyText(first.key));
  EXPECT_EQ(read->header.previous_crc, ReadLogObject(first.key, first.bytes)->header.end_crc);
  EXPECT_NE(Make({}, Entries(4, 2, 1)).end.crc, second.end.crc);
}

TEST(LogObjectTest, MoreTimesThanFitAreThinnedOut) {
  const std::vector<raft::Entry> entries = Entries(1, 10'000, 1);
  const LogObject object = Make({}, entries);
  const auto read = ReadLogObject(object.key, object.bytes);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_LE(read->header.times.size(), kMaxTimes);
  EXPECT_GE(read->header.times.size(), kMaxTimes / 2);
  EXPECT_EQ(read->header.times.back(), TimesOf(entries).back());
}

TEST(LogObjectTest, EachFlippedByteAndEachCutIsFound) {
  const LogObject object = Make({}, Entries(1, 5, 1));
  ForEachCut(object.bytes, [&](std::string_view cut) {
    EXPECT_FALSE(ReadLogObject(object.key, cut).has_value());
  });
  ForEachFlip(object.bytes, [&](std::string_view flipped, std::size_t) {
    EXPECT_FALSE(ReadLogObject(object.key, flipped).has_value());
  });
}

TEST(LogObjectTest, AnotherObjectUnderItsNameIsFound) {
  const LogObject first = Make({}, Entries(1, 3, 1));
  const LogObject second = Make(first.end, Entries(4, 3, 1));
  EXPECT_FALSE(ReadLogObject(first.key, second.bytes).has_value());
  ObjectKey foreign = first.key;
  foreign.history = 0x1b;
  EXPECT_FALSE(ReadLogObject(foreign, first.bytes).has_value());
}

}  // namespace
}  // namespace kvorum::archive
