// More than a hundred damages, each planted alone into a whole archive: the check names the object,
// what it calls restorable is, and no restore gives a wrong state in silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "archive/check/archive_check.h"
#include "archive/restore/base_reader.h"
#include "archive/restore/listing.h"
#include "archive/restore/log_reader.h"
#include "base/crc32c.h"
#include "base/rng.h"
#include "tests/archive/check/sample_archive.h"
#include "tests/archive/store/clocked_stop.h"

namespace kvorum::archive {
namespace {

constexpr HistoryId kParent = SampleArchive::kParent;
constexpr HistoryId kChild = SampleArchive::kChild;

// The object with another header, whose CRC is right.
std::string WithHeader(std::string_view bytes, const std::string& header) {
  const auto framed = ReadFrame(bytes);
  const auto append_number = [](std::string& out, std::uint32_t number) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      out += static_cast<char>(number >> shift & 0xffU);
  };
  std::string out(bytes.substr(0, 8));
  append_number(out, static_cast<std::uint32_t>(header.size()));
  out += header;
  append_number(out, Crc32c(0, header));
  append_number(out, framed->packed_crc);
  return out + std::string(framed->packed);
}

std::string ReadState(SampleArchive& archive, const Plan& plan, std::string& error) {
  std::string state;
  const auto base = ReadBase(
      archive.store, {.history = plan.history, .name = plan.base, .has_manifest = true},
      [&](std::uint64_t, std::string_view bytes) -> Result<void> {
        state += bytes;
        return {};
      },
      {}, Ahead::kNone);
  if (!base.has_value()) {
    error = base.error().error.message;
    return "";
  }
  LogReader log(archive.store, plan, base->term, Ahead::kNone);
  while (true) {
    const auto entries = log.Next();
    if (!entries.has_value()) {
      error = entries.error().error.message;
      return "";
    }
    if (entries->empty()) return state;
    for (const raft::Entry& entry : *entries) state += entry.data.view();
  }
}

class PlantedDamagesTest : public testing::Test {
 protected:
  using Damage = std::function<void(SampleArchive&)>;

  // Each of `keys` occurs in a finding.
  void Expect(const std::string& what, const std::vector<std::string>& keys, const Damage& damage,
              bool is_harmless = false) {
    SCOPED_TRACE(what + ": " + (keys.empty() ? "" : keys.front()));
    SampleArchive archive;
    damage(archive);
    ManualClock clock;
    ClockedStop stop(clock);
    const auto checked = CheckArchive(archive.store, stop, {});
    ASSERT_TRUE(checked.has_value());
    for (const std::string& key : keys) {
      bool is_named = false;
      for (const Finding& finding : checked->findings)
        is_named |= finding.key == key || finding.text.contains(key);
      EXPECT_TRUE(is_named) << key;
    }
    EXPECT_EQ(checked->is_whole(), is_harmless);
    ExpectRestores(archive, *checked);
    ++planted_;
  }

  // The states that are called restorable are, and any other is restored rightly or refused.
  void ExpectRestores(SampleArchive& archive, const Checked& checked) {
    for (const auto& [id, ranges] : checked.ranges) {
      if (id != kParent && id != kChild) continue;
      for (const StateRange& range : ranges) {
        const std::uint64_t span = range.last.index - range.first.index + 1;
        for (int i = 0; i < 3; ++i) {
          const raft::Index index = range.first.index + rng_.Below(span);
          const auto plan = MakePlan(checked.sound, id, ToIndex{index});
          ASSERT_TRUE(plan.has_value()) << plan.error().message;
          std::string error;
          EXPECT_EQ(ReadState(archive, *plan, error), archive.Of(id).State(index.value()))
              << "index " << index.value() << ": " << error;
        }
      }
    }
    const auto listing = ReadListing(archive.store);
    ASSERT_TRUE(listing.has_value());
    for (int i = 0; i < 12; ++i) {
      const HistoryId id = i % 3 == 0 ? kChild : kParent;
      const SampleHistory& history = archive.Of(id);
      const std::uint64_t index = id == kChild ? 155 + rng_.Below(56) : 5 + rng_.Below(296);
      const auto plan = MakePlan(listing->contents, id, ToIndex{raft::Index{index}});
      if (!plan.has_value()) continue;
      std::string error;
      const std::string state = ReadState(archive, *plan, error);
      if (error.empty()) {
        EXPECT_EQ(state, history.State(index)) << "index " << index;
      }
    }
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, bytes] : whole_.store.objects) keys.push_back(key);
    return keys;
  }
  // The keys of one kind of object.
  template <class Name>
  std::vector<std::string> KeysOf() const {
    std::vector<std::string> keys;
    for (const auto& [key, bytes] : whole_.store.objects) {
      if (std::holds_alternative<Name>(ParseKey(key)->name)) keys.push_back(key);
    }
    return keys;
  }
  const std::string& OneOf(const std::vector<std::string>& keys) {
    return keys[rng_.Below(keys.size())];
  }
  // A base without its manifest is as a writer leaves it that ends before, and restores do without.
  static bool IsManifest(const std::string& key) {
    return std::holds_alternative<ManifestName>(ParseKey(key)->name);
  }

  SampleArchive whole_;
  Rng rng_{37};
  int planted_ = 0;
};

TEST_F(PlantedDamagesTest, AFlippedBitOfAnyObject) {
  for (const std::string& key : Keys()) {
    const std::uint64_t size = whole_.store.objects.at(key).size();
    const std::uint64_t at = rng_.Below(size);
    const int mask = 1 << rng_.Below(8);
    Expect("bit flipped at " + std::to_string(at), {key}, [&](SampleArchive& archive) {
      char& byte = archive.store.objects[key][at];
      byte = static_cast<char>(byte ^ mask);
    });
  }
  EXPECT_GT(planted_, 50);
}

TEST_F(PlantedDamagesTest, ACutOrALongerObject) {
  for (int i = 0; i < 30; ++i) {
    const std::string key = OneOf(Keys());
    const std::uint64_t size = rng_.Below(whole_.store.objects.at(key).size());
    Expect("cut", {key}, [&](SampleArchive& archive) { archive.store.objects[key].resize(size); });
    Expect("longer", {key}, [&](SampleArchive& archive) { archive.store.objects[key] += 'x'; });
  }
}

TEST_F(PlantedDamagesTest, TwoObjectsWithEachOthersContents) {
  for (const auto& keys : {KeysOf<LogName>(), KeysOf<PartName>(), KeysOf<ManifestName>(),
                           KeysOf<HistoryFileName>(), KeysOf<MarkName>()}) {
    for (int i = 0; i < 6; ++i) {
      const std::string one = OneOf(keys);
      const std::string other = OneOf(keys);
      if (one == other) continue;
      Expect("swapped", {one, other}, [&](SampleArchive& archive) {
        std::swap(archive.store.objects[one], archive.store.objects[other]);
      });
    }
  }
}

TEST_F(PlantedDamagesTest, AMissingObject) {
  for (const std::string& key : Keys()) {
    Expect(
        "missing", {key}, [&](SampleArchive& archive) { archive.store.objects.erase(key); },
        IsManifest(key));
  }
}

// Under a name of the same kind that is not its own.
TEST_F(PlantedDamagesTest, ACopyUnderAnotherName) {
  const std::string log = KeysOf<LogName>().front();
  const std::string first = whole_.store.objects.at(log);
  const auto expect = [&](const std::string& key, const std::string& bytes) {
    Expect("copied", {key}, [&](SampleArchive& archive) { archive.store.objects[key] = bytes; });
  };
  for (const std::uint64_t at : {301U, 290U, 12U})
    expect(whole_.parent.Key(LogName{.first = raft::Index{at},
                                     .last = raft::Index{at + 9},
                                     .revision = RevisionAt(at + 9),
                                     .time_ms = TimeAt(at + 9)}),
           first);
  const std::string part = whole_.parent.Key(PartName{.base = SampleBase(105), .number = 1});
  const std::string& part_bytes = whole_.store.objects.at(part);
  expect(whole_.parent.Key(PartName{.base = SampleBase(105), .number = 3}), part_bytes);
  expect(whole_.parent.Key(PartName{.base = SampleBase(250), .number = 0}), part_bytes);
  const std::string manifest = whole_.parent.Key(ManifestName{SampleBase(105)});
  expect(whole_.parent.Key(ManifestName{SampleBase(250)}), whole_.store.objects.at(manifest));
  const HistoryId none = 0xe;
  for (const ObjectName& name : std::vector<ObjectName>{HistoryFileName{}, MarkName{}}) {
    const std::string& bytes = whole_.store.objects.at(whole_.parent.Key(name));
    expect(KeyText({.history = none, .name = name}), bytes);
  }
  const std::string stranger = log + ".copy";
  Expect(
      "copied", {stranger},
      [&](SampleArchive& archive) { archive.store.objects[stranger] = first; }, true);
}

// The object is of the other history, or of another archive's history with the same id.
TEST_F(PlantedDamagesTest, AForeignObject) {
  MemoryStore store;
  SampleHistory foreign(store, kParent, "q", 1, "");
  for (int i = 0; i < 30; ++i) foreign.PutLog(10);
  for (const std::uint64_t index : {5U, 105U, 205U}) foreign.PutBase(index);
  for (int i = 0; i < 12; ++i) {
    const auto keys = i % 2 == 0 ? KeysOf<LogName>() : KeysOf<PartName>();
    const std::string key = OneOf(keys);
    if (!store.objects.contains(key)) continue;
    // The first object's successor is what does not follow it then.
    Expect("of another archive", {key},
           [&](SampleArchive& archive) { archive.store.objects[key] = store.objects.at(key); });
  }
  for (const std::string& key : KeysOf<LogName>()) {
    const auto parsed = *ParseKey(key);
    if (parsed.history != kChild) continue;
    ObjectKey copy = parsed;
    copy.history = kParent;
    Expect("of the other history", {KeyText(copy)}, [&](SampleArchive& archive) {
      archive.store.objects[KeyText(copy)] = archive.store.objects[key];
    });
    copy.history = HistoryId{0xf};
    Expect("of no history", {KeyText(copy)}, [&](SampleArchive& archive) {
      archive.store.objects[KeyText(copy)] = archive.store.objects[key];
    });
  }
}

TEST_F(PlantedDamagesTest, AChangedHeaderOfALogObjectWithItsCrc) {
  using Edit = std::function<void(LogHeader&)>;
  const std::vector<Edit> edits = {
      [](LogHeader& header) { ++header.name.revision; },
      [](LogHeader& header) { header.history = kChild; },
      [](LogHeader& header) { header.times.back().revision -= 1; },
      [](LogHeader& header) { header.times.pop_back(); },
      [](LogHeader& header) { header.first_term = raft::Term{0}; },
      [](LogHeader& header) { header.last_term += 1; },
      [](LogHeader& header) { header.previous.clear(); },
      [](LogHeader& header) { header.previous = "x"; },
      [&](LogHeader& header) { header.previous = KeysOf<LogName>()[2]; },
      [](LogHeader& header) { header.previous_crc ^= 1; },
      [](LogHeader& header) { header.end_crc ^= 1; },
      [](LogHeader& header) { ++header.raw_bytes; },
      [](LogHeader& header) { --header.raw_bytes; },
      [](LogHeader& header) { header.sha256[0] = header.sha256[0] == 'a' ? 'b' : 'a'; },
  };
  for (const Edit& edit : edits) {
    const std::string key = KeysOf<LogName>()[10 + rng_.Below(15)];
    Expect("header changed", {key}, [&](SampleArchive& archive) {
      std::string& bytes = archive.store.objects[key];
      auto header = *ParseLogHeader(ReadFrame(bytes)->header);
      edit(header);
      bytes = WithHeader(bytes, ToJson(header));
    });
  }
}

TEST_F(PlantedDamagesTest, AChangedHeaderOfAPartWithItsCrc) {
  using Edit = std::function<void(PartHeader&)>;
  const std::vector<Edit> edits = {
      [](PartHeader& header) { header.history = HistoryId{0x77}; },
      [](PartHeader& header) { ++header.name.number; },
      [](PartHeader& header) { ++header.name.base.revision; },
      [](PartHeader& header) { ++header.offset; },
      [](PartHeader& header) { ++header.raw_bytes; },
      [](PartHeader& header) { header.sha256[0] = header.sha256[0] == 'a' ? 'b' : 'a'; },
      [](PartHeader& header) {
        if (header.end) {
          header.end->term += 1;
        } else {
          header.end = ImageEnd{.size_bytes = 1, .sha256 = header.sha256, .term = 1};
        }
      },
  };
  for (const Edit& edit : edits) {
    for (int i = 0; i < 2; ++i) {
      const std::string key = OneOf(KeysOf<PartName>());
      Expect("header changed", {key}, [&](SampleArchive& archive) {
        std::string& bytes = archive.store.objects[key];
        auto header = *ParsePartHeader(ReadFrame(bytes)->header);
        edit(header);
        bytes = WithHeader(bytes, ToJson(header));
      });
    }
  }
}

TEST_F(PlantedDamagesTest, AChangedManifestWithItsCrc) {
  using Edit = std::function<void(Manifest&)>;
  const auto change = [](std::string& sha256) { sha256[0] = sha256[0] == 'a' ? 'b' : 'a'; };
  const std::vector<Edit> edits = {
      [](Manifest& manifest) { manifest.history = HistoryId{0x77}; },
      [](Manifest& manifest) { ++manifest.base.time_ms; },
      [&](Manifest& manifest) { change(manifest.end.sha256); },
      [](Manifest& manifest) { manifest.end.term += 1; },
      [&](Manifest& manifest) { change(manifest.parts[1].sha256); },
      [](Manifest& manifest) {
        manifest.end.size_bytes -= manifest.parts.back().raw_bytes;
        manifest.parts.pop_back();
      },
  };
  for (const Edit& edit : edits) {
    const std::string key = OneOf(KeysOf<ManifestName>());
    Expect("manifest changed", {key}, [&](SampleArchive& damaged) {
      std::string& bytes = damaged.store.objects[key];
      auto manifest = *ParseManifest(bytes);
      edit(manifest);
      bytes = ToJson(manifest);
    });
  }
}

TEST_F(PlantedDamagesTest, AChangedRecordOrMarkWithItsCrc) {
  const auto expect_record = [&](const std::function<void(HistoryRecord&)>& edit,
                                 const std::string& key) {
    Expect("record changed", {key}, [&](SampleArchive& archive) {
      std::string& bytes = archive.store.objects[archive.child.Key(HistoryFileName{})];
      auto record = *ParseHistoryRecord(bytes);
      edit(record);
      bytes = ToJson(record);
    });
  };
  const std::string record = whole_.child.Key(HistoryFileName{});
  const std::string lost = KeyText({.history = HistoryId{0x5}, .name = HistoryFileName{}});
  expect_record([](HistoryRecord& one) { one.id = kParent; }, record);
  expect_record([](HistoryRecord& one) { one.first = 160; }, record);
  expect_record([](HistoryRecord& one) { one.parent->index = 9'999; }, record);
  expect_record([](HistoryRecord& one) { one.parent->history = HistoryId{0x5}; }, lost);
  expect_record([](HistoryRecord& one) { one.parent->history = kChild; }, record);

  const auto expect_mark = [&](const std::function<void(Mark&)>& edit, const std::string& key) {
    Expect("mark changed", {key}, [&](SampleArchive& archive) {
      std::string& bytes = archive.store.objects[archive.child.Key(MarkName{})];
      auto mark = *ParseMark(bytes);
      edit(mark);
      bytes = ToJson(mark);
    });
  };
  const std::string mark = whole_.child.Key(MarkName{});
  expect_mark([](Mark& one) { one.term = 1; }, mark);
  expect_mark([](Mark& one) { one.last_object = "x"; }, mark);
  expect_mark([&](Mark& one) { one.last_object = KeysOf<LogName>().front(); }, mark);
}

TEST_F(PlantedDamagesTest, AGapThatIsNone) {
  for (const std::uint64_t from : {1U, 95U, 201U, 300U}) {
    std::string key;
    SampleArchive named;
    key = named.parent.PutGap(from, from + 5);
    Expect("gap", {key}, [&](SampleArchive& archive) { archive.parent.PutGap(from, from + 5); });
  }
  // Entries are missing, and a gap says so: the states behind it need another base.
  for (int i = 0; i < 5; ++i) {
    const std::string key = KeysOf<LogName>()[12 + rng_.Below(7)];  // 121 on
    const LogName name = std::get<LogName>(ParseKey(key)->name);
    SampleArchive named;
    const std::string gap = named.parent.PutGap(name.first.value(), name.last.value());
    Expect("gap", {gap}, [&](SampleArchive& archive) {
      archive.store.objects.erase(key);
      archive.parent.PutGap(name.first.value(), name.last.value());
    });
  }
}

}  // namespace
}  // namespace kvorum::archive
