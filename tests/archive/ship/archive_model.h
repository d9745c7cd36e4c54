// Restores from an archive's objects with all their checks, beside the log that was committed.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/format/frame.h"
#include "archive/format/log_object.h"
#include "base/digest/sha256.h"
#include "tests/archive/ship/fake_member.h"
#include "tests/archive/ship/memory_store.h"

namespace kvorum::archive {

inline Contents ContentsOf(const Bucket& bucket) {
  Contents contents;
  for (const auto& [key, bytes] : bucket.objects) {
    contents.Add(key);
    const auto parsed = ParseKey(key);
    if (parsed && std::holds_alternative<HistoryFileName>(parsed->name))
      contents.histories[parsed->history].record = *ParseHistoryRecord(bytes);
  }
  contents.Sort();
  return contents;
}

// The base's image, or "" after a failed expectation.
inline std::string ReadImage(const Bucket& bucket, HistoryId history, const BaseName& name) {
  const auto manifest = ParseManifest(
      bucket.objects.at(KeyText({.history = history, .name = ManifestName{name}})));
  EXPECT_TRUE(manifest.has_value());
  if (!manifest) return "";
  std::string image;
  for (std::uint32_t number = 0; number < manifest->parts.size(); ++number) {
    const std::string key =
        KeyText({.history = history, .name = PartName{.base = name, .number = number}});
    const auto found = bucket.objects.find(key);
    EXPECT_NE(found, bucket.objects.end()) << key;
    if (found == bucket.objects.end()) return "";
    const auto framed = ReadFrame(found->second);
    const auto header = ParsePartHeader(framed->header);
    EXPECT_EQ(header->offset, image.size());
    EXPECT_EQ(header->end.has_value(), number + 1 == manifest->parts.size());
    image += Unpack(*framed, header->raw_bytes, header->sha256).value_or("?");
  }
  EXPECT_EQ(manifest->end.size_bytes, image.size());
  EXPECT_EQ(manifest->end.sha256, Sha256Hex(image));
  return image;
}

struct RestoredState {
  BaseName base;
  raft::Index last = 0;  // the last entry that was applied
};
// Follows the plan; each entry must be the committed one. The base's image must be the model's.
inline std::optional<RestoredState> Follow(const Bucket& bucket, const Plan& plan,
                                           const CommittedLog& log, std::size_t image_bytes) {
  EXPECT_EQ(ReadImage(bucket, plan.history, plan.base),
            ImageBytes(plan.base.index, log.RevisionAt(plan.base.index), image_bytes));
  RestoredState state = {.base = plan.base, .last = plan.base.index};
  UnixMillis time_ms = 0;
  for (const LogName& name : plan.logs) {
    const ObjectKey key = {.history = plan.history, .name = name};
    const auto content = ReadLogObject(key, bucket.objects.at(KeyText(key)));
    EXPECT_TRUE(content.has_value()) << KeyText(key);
    if (!content) return std::nullopt;
    EXPECT_LE(time_ms, content->header.times.front().time_ms) << "times go back";
    for (const TimeMark& time : content->header.times) {
      EXPECT_LE(time.revision, log.RevisionAt(time.index));
      const auto* to = std::get_if<ToTime>(&plan.target);
      if (to != nullptr && time.time_ms <= to->time_ms) state.last = std::max(state.last, time.index);
    }
    time_ms = content->header.times.back().time_ms;
    for (const raft::Entry& entry : content->entries) {
      EXPECT_EQ(entry, log.At(entry.index));
      if (std::holds_alternative<ToTime>(plan.target) || entry.index <= state.last) continue;
      if (const auto* to = std::get_if<ToIndex>(&plan.target); to && state.last >= to->index)
        continue;
      if (const auto* to = std::get_if<ToRevision>(&plan.target);
          to && log.RevisionAt(state.last) >= to->revision)
        continue;
      EXPECT_EQ(entry.index, state.last + 1) << "a hole";
      state.last = entry.index;
    }
  }
  return state;
}

}  // namespace kvorum::archive
