#include "archive/format/records.h"

#include <array>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/crc32c.h"

namespace kvorum::archive {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kMaxTextBytes = 1'024;

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The last member of a record that is an object by itself: the CRC-32C of the text before it.
std::string Seal(std::string_view text) {
  return ",\"crc32c\":" + std::to_string(Crc32c(0, text)) + "}";
}

std::string SealedText(const Json& json) {
  std::string text = Text(json);
  text.pop_back();
  return text + Seal(text);
}

bool IsSealed(std::string_view text) {
  const std::size_t seal = text.rfind(",\"crc32c\":");
  return seal != std::string_view::npos && text.substr(seal) == Seal(text.substr(0, seal));
}

std::unexpected<Error> FailRecord(std::string_view what) {
  return Fail(Code::kDataLoss, "the archive has a damaged " + std::string(what));
}

// Reads the members of one object; ok() is false once one was missing or of another type.
class Members {
 public:
  Members(std::string_view text, std::size_t max_bytes) {
    if (text.size() > max_bytes) return;
    json_ = Json::parse(text, nullptr, false);
    is_ok_ = json_.is_object();
    std::uint64_t version = 0;
    Take("version", version);
    is_ok_ = is_ok_ && version == kVersion;
  }
  explicit Members(const Json& json) : json_(json), is_ok_(json.is_object()) {}
  static Members OfSealed(std::string_view text, std::size_t max_bytes) {
    return IsSealed(text) ? Members(text, max_bytes) : Members();
  }

  bool ok() const { return is_ok_; }
  void Refuse() { is_ok_ = false; }

  // Null if there is none.
  const Json* Find(const char* name) const {
    const auto found = json_.is_object() ? json_.find(name) : json_.end();
    return found == json_.end() ? nullptr : &*found;
  }
  void Take(const char* name, std::uint64_t& out) {
    const Json* member = Find(name);
    if (member == nullptr || !member->is_number_unsigned()) return Refuse();
    out = member->get<std::uint64_t>();
  }
  void Take(const char* name, std::uint32_t& out) {
    std::uint64_t number = 0;
    Take(name, number);
    if (number > std::numeric_limits<std::uint32_t>::max()) return Refuse();
    out = static_cast<std::uint32_t>(number);
  }
  void Take(const char* name, std::int64_t& out) {
    std::uint64_t number = 0;
    Take(name, number);
    if (!std::in_range<std::int64_t>(number)) return Refuse();
    out = static_cast<std::int64_t>(number);
  }
  template <class Tag>
  void Take(const char* name, StrongNumber<Tag>& out) {
    std::uint64_t number = 0;
    Take(name, number);
    out = StrongNumber<Tag>{number};
  }
  void Take(const char* name, std::string& out, std::size_t max_bytes = kMaxTextBytes) {
    const Json* member = Find(name);
    if (member == nullptr || !member->is_string()) return Refuse();
    const auto& text = member->get_ref<const std::string&>();
    if (text.size() > max_bytes) return Refuse();
    out = text;
  }
  void TakeHistory(const char* name, HistoryId& out) {
    std::string text;
    Take(name, text);
    const auto id = ParseHistory(text);
    if (!id) return Refuse();
    out = *id;
  }
  void TakeSha256(const char* name, std::string& out) {
    Take(name, out);
    if (out.size() != kSha256Digits ||
        out.find_first_not_of("0123456789abcdef") != std::string::npos)
      Refuse();
  }
  // The array's elements by turns; refuses one that has more than `max`.
  template <std::invocable<const Json&> OnElement>
  void TakeArray(const char* name, std::size_t max, OnElement on_element) {
    const Json* member = Find(name);
    if (member == nullptr || !member->is_array() || member->size() > max) return Refuse();
    for (const Json& element : *member) on_element(element);
  }

 private:
  Members() = default;

  Json json_;
  bool is_ok_ = false;
};

Json OriginJson(const Origin& origin) {
  return {{"history", HistoryText(origin.history)},
          {"index", origin.index.value()},
          {"revision", origin.revision}};
}

Json EndJson(const ImageEnd& end) {
  return {{"size", end.size_bytes}, {"sha256", end.sha256}, {"term", end.term.value()}};
}

ImageEnd TakeEnd(Members& outer, const Json& json) {
  ImageEnd end;
  Members members(json);
  members.Take("size", end.size_bytes);
  members.TakeSha256("sha256", end.sha256);
  members.Take("term", end.term);
  if (!members.ok()) outer.Refuse();
  return end;
}

void AddBase(Json& json, const BaseName& base) {
  json["index"] = base.index.value();
  json["revision"] = base.revision;
  json["time_ms"] = base.time_ms;
}

void TakeBase(Members& members, BaseName& base) {
  members.Take("index", base.index);
  members.Take("revision", base.revision);
  members.Take("time_ms", base.time_ms);
}

Json TimeJson(const TimeMark& time) {
  return Json::array({time.index.value(), time.time_ms, time.revision});
}

// Within the object's bounds, and none before the last one.
void TakeTime(Members& outer, const Json& json, LogHeader& header) {
  if (!json.is_array() || json.size() != 3) return outer.Refuse();
  std::array<std::int64_t, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!json[i].is_number_unsigned() || !std::in_range<std::int64_t>(json[i].get<std::uint64_t>()))
      return outer.Refuse();
    numbers[i] = json[i].get<std::int64_t>();
  }
  const TimeMark time = {.index = raft::Index{static_cast<std::uint64_t>(numbers[0])},
                         .time_ms = numbers[1],
                         .revision = numbers[2]};
  const bool is_within = time.index >= header.name.first && time.index <= header.name.last;
  const bool is_behind = header.times.empty() || (header.times.back().index < time.index &&
                                                  header.times.back().time_ms <= time.time_ms &&
                                                  header.times.back().revision <= time.revision);
  if (!is_within || !is_behind) return outer.Refuse();
  header.times.push_back(time);
}

}  // namespace

std::string ToJson(const HistoryRecord& record) {
  Json json = {{"version", kVersion},
               {"history", HistoryText(record.id)},
               {"cluster_id", record.cluster_id},
               {"reason", record.reason},
               {"began_ms", record.began_ms},
               {"first", record.first.value()}};
  if (record.parent) json["parent"] = OriginJson(*record.parent);
  return SealedText(json);
}

Result<HistoryRecord> ParseHistoryRecord(std::string_view json) {
  HistoryRecord record;
  Members members = Members::OfSealed(json, kMaxHeaderBytes);
  members.TakeHistory("history", record.id);
  members.Take("cluster_id", record.cluster_id);
  members.Take("reason", record.reason);
  members.Take("began_ms", record.began_ms);
  members.Take("first", record.first);
  if (const Json* parent = members.Find("parent")) {
    Members inner(*parent);
    record.parent.emplace();
    inner.TakeHistory("history", record.parent->history);
    inner.Take("index", record.parent->index);
    inner.Take("revision", record.parent->revision);
    if (!inner.ok()) members.Refuse();
  }
  if (!members.ok()) return FailRecord("history record");
  return record;
}

std::string ToJson(const Mark& mark) {
  return SealedText({{"version", kVersion},
                     {"time_ms", mark.time_ms},
                     {"index", mark.index.value()},
                     {"revision", mark.revision},
                     {"term", mark.term.value()},
                     {"member", mark.member},
                     {"last_object", mark.last_object}});
}

Result<Mark> ParseMark(std::string_view json) {
  Mark mark;
  Members members = Members::OfSealed(json, kMaxHeaderBytes);
  members.Take("time_ms", mark.time_ms);
  members.Take("index", mark.index);
  members.Take("revision", mark.revision);
  members.Take("term", mark.term);
  members.Take("member", mark.member);
  // Older writers had none.
  if (members.Find("last_object") != nullptr) members.Take("last_object", mark.last_object);
  if (!members.ok()) return FailRecord("mark");
  return mark;
}

std::string ToJson(const Gap& gap) {
  return SealedText({{"version", kVersion},
                     {"from", gap.name.from.value()},
                     {"to", gap.name.to.value()},
                     {"found_ms", gap.found_ms},
                     {"reason", gap.reason}});
}

Result<Gap> ParseGap(std::string_view json) {
  Gap gap;
  Members members = Members::OfSealed(json, kMaxHeaderBytes);
  members.Take("from", gap.name.from);
  members.Take("to", gap.name.to);
  members.Take("found_ms", gap.found_ms);
  members.Take("reason", gap.reason);
  if (!members.ok() || gap.name.from == 0 || gap.name.to < gap.name.from)
    return FailRecord("record of a gap");
  return gap;
}

std::string ToJson(const LogHeader& header) {
  Json times = Json::array();
  for (const TimeMark& time : header.times) times.push_back(TimeJson(time));
  return Text({{"version", kVersion},
               {"kind", "log"},
               {"history", HistoryText(header.history)},
               {"first", header.name.first.value()},
               {"last", header.name.last.value()},
               {"last_revision", header.name.revision},
               {"time_ms", header.name.time_ms},
               {"first_term", header.first_term.value()},
               {"last_term", header.last_term.value()},
               {"previous", header.previous},
               {"previous_crc", header.previous_crc},
               {"end_crc", header.end_crc},
               {"raw_bytes", header.raw_bytes},
               {"sha256", header.sha256},
               {"times", std::move(times)}});
}

Result<LogHeader> ParseLogHeader(std::string_view json) {
  LogHeader header;
  Members members(json, kMaxHeaderBytes);
  members.TakeHistory("history", header.history);
  members.Take("first", header.name.first);
  members.Take("last", header.name.last);
  members.Take("last_revision", header.name.revision);
  members.Take("time_ms", header.name.time_ms);
  members.Take("first_term", header.first_term);
  members.Take("last_term", header.last_term);
  members.Take("previous", header.previous);
  members.Take("previous_crc", header.previous_crc);
  members.Take("end_crc", header.end_crc);
  members.Take("raw_bytes", header.raw_bytes);
  members.TakeSha256("sha256", header.sha256);
  members.TakeArray("times", kMaxTimes, [&](const Json& time) { TakeTime(members, time, header); });
  const bool is_sound = header.name.first != 0 && header.name.first <= header.name.last &&
                        header.first_term <= header.last_term;
  if (!members.ok() || !is_sound) return FailRecord("header of a log object");
  return header;
}

std::string ToJson(const PartHeader& header) {
  Json json = {{"version", kVersion},
               {"kind", "base"},
               {"history", HistoryText(header.history)},
               {"number", header.name.number},
               {"offset", header.offset},
               {"raw_bytes", header.raw_bytes},
               {"sha256", header.sha256}};
  AddBase(json, header.name.base);
  if (header.end) json["image"] = EndJson(*header.end);
  return Text(json);
}

Result<PartHeader> ParsePartHeader(std::string_view json) {
  PartHeader header;
  Members members(json, kMaxHeaderBytes);
  members.TakeHistory("history", header.history);
  TakeBase(members, header.name.base);
  members.Take("number", header.name.number);
  members.Take("offset", header.offset);
  members.Take("raw_bytes", header.raw_bytes);
  members.TakeSha256("sha256", header.sha256);
  if (const Json* end = members.Find("image")) header.end = TakeEnd(members, *end);
  if (!members.ok() || header.name.number >= kMaxParts)
    return FailRecord("header of a base's part");
  return header;
}

std::string ToJson(const Manifest& manifest) {
  Json parts = Json::array();
  for (const ManifestPart& part : manifest.parts)
    parts.push_back({{"raw_bytes", part.raw_bytes}, {"sha256", part.sha256}});
  Json json = {{"version", kVersion}, {"history", HistoryText(manifest.history)}};
  AddBase(json, manifest.base);
  json["image"] = EndJson(manifest.end);
  json["parts"] = std::move(parts);
  return SealedText(json);
}

Result<Manifest> ParseManifest(std::string_view json) {
  Manifest manifest;
  Members members = Members::OfSealed(json, kMaxManifestBytes);
  members.TakeHistory("history", manifest.history);
  TakeBase(members, manifest.base);
  const Json* end = members.Find("image");
  if (end == nullptr) return FailRecord("manifest");
  manifest.end = TakeEnd(members, *end);
  std::uint64_t sum = 0;
  members.TakeArray("parts", kMaxParts, [&](const Json& element) {
    ManifestPart part;
    Members inner(element);
    inner.Take("raw_bytes", part.raw_bytes);
    inner.TakeSha256("sha256", part.sha256);
    if (!inner.ok() || part.raw_bytes > manifest.end.size_bytes - sum) return members.Refuse();
    sum += part.raw_bytes;
    manifest.parts.push_back(std::move(part));
  });
  if (!members.ok() || sum != manifest.end.size_bytes) return FailRecord("manifest");
  return manifest;
}

}  // namespace kvorum::archive
