#include "archive/format/log_object.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "archive/format/frame.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/digest/sha256.h"
#include "wal/batch.h"
#include "wal/format.h"

namespace kvorum::archive {
namespace {

// For the header, and for what gzip adds to bytes that do not pack.
constexpr std::size_t kKeptRoomBytes = kMaxHeaderBytes + (std::size_t{1} << 20);
// The metadata record, the state and the first CRC.
constexpr std::size_t kHeadRoomBytes = std::size_t{4} << 10;

std::unexpected<Error> FailLog(const ObjectKey& key, std::string_view reason) {
  return Fail(Code::kDataLoss, KeyText(key) + ": " + std::string(reason));
}

// Reads records from memory. A segment's reader expects seals and a file.
class Records {
 public:
  explicit Records(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::uint32_t crc() const { return crc_; }
  // Nothing for what is not a record, or does not follow the one before it.
  std::optional<wal::Record> Next() {
    if (rest_.size() < wal::kFrameHeaderBytes) return std::nullopt;
    std::uint64_t length = 0;
    std::memcpy(&length, rest_.data(), sizeof(length));
    const auto size = wal::DecodeLength(length);
    rest_.remove_prefix(wal::kFrameHeaderBytes);
    if (!size || size->record_bytes > rest_.size() || size->body_bytes() > rest_.size())
      return std::nullopt;
    const auto record = wal::DecodeRecord(rest_.substr(0, size->record_bytes));
    rest_.remove_prefix(size->body_bytes());
    if (!record) return std::nullopt;
    if (record->type == wal::RecordType::kCrc) {
      if (is_begun_ || !record->data.empty()) return std::nullopt;
      crc_ = record->crc;
    } else {
      crc_ = Crc32c(crc_, record->data);
      if (record->crc != crc_) return std::nullopt;
    }
    is_begun_ = true;
    return record;
  }

 private:
  std::string_view rest_;
  std::uint32_t crc_ = 0;
  bool is_begun_ = false;
};

bool Fits(const LogHeader& header, const ObjectKey& key) {
  const auto* name = std::get_if<LogName>(&key.name);
  return name != nullptr && header.history == key.history && header.name == *name;
}

// Each at its place, of a term that does not fall.
bool Follows(const std::vector<raft::Entry>& entries, const raft::Entry& entry,
             const LogHeader& header) {
  if (entries.empty()) return entry.index == header.name.first && entry.term == header.first_term;
  return entry.index == entries.back().index + 1 && entry.term >= entries.back().term;
}

}  // namespace

std::size_t RoomOf(const raft::Entry& entry) { return wal::Batch::Bound(entry); }

std::size_t MaxEntriesRoom() { return kMaxFrameBytes - kKeptRoomBytes - kHeadRoomBytes; }

LogObject MakeLogObject(HistoryId history, const LogEnd& previous,
                        const std::vector<raft::Entry>& entries, std::vector<TimeMark> times,
                        std::string_view metadata) {
  KV_CHECK(!entries.empty() && !times.empty() && times.back().index == entries.back().index,
           "a log object without entries or without their time");
  KV_CHECK(metadata.size() < kHeadRoomBytes / 2, "the log's metadata is too large");
  std::size_t room = kHeadRoomBytes;
  for (const raft::Entry& entry : entries) room += RoomOf(entry);
  wal::Batch batch;
  batch.Begin({.rolling = previous.crc, .frames = 0}, room);
  batch.AddCrc();
  batch.AddRecord(wal::RecordType::kMetadata, metadata);
  for (const raft::Entry& entry : entries) batch.AddEntry(entry);
  const raft::HardState state = {
      .term = entries.back().term, .vote = raft::kNone, .commit = entries.back().index};
  batch.AddRecord(wal::RecordType::kState, raft::Encode(state));

  std::string content;
  content.reserve(batch.size_bytes());
  for (const std::string_view part : batch.Parts()) content += part;

  const TimeMark last = times.back();
  if (times.size() > kMaxTimes) {
    // Every n-th, and the last one.
    const std::size_t step = (times.size() + kMaxTimes - 2) / (kMaxTimes - 1);
    std::vector<TimeMark> kept;
    for (std::size_t i = step - 1; i + 1 < times.size(); i += step) kept.push_back(times[i]);
    kept.push_back(last);
    times = std::move(kept);
  }
  const LogHeader header = {.history = history,
                            .name = {.first = entries.front().index,
                                     .last = entries.back().index,
                                     .revision = last.revision,
                                     .time_ms = last.time_ms},
                            .first_term = entries.front().term,
                            .last_term = entries.back().term,
                            .previous = previous.key,
                            .previous_crc = previous.crc,
                            .end_crc = batch.checksums().rolling,
                            .raw_bytes = content.size(),
                            .sha256 = Sha256Hex(content),
                            .times = std::move(times)};
  const ObjectKey key = {.history = history, .name = header.name};
  return {.key = key,
          .bytes = Frame(ToJson(header), content),
          .end = {.key = KeyText(key), .last = header.name.last, .crc = header.end_crc}};
}

Result<LogContent> ReadLogObject(const ObjectKey& key, std::string_view bytes) {
  const auto framed = ReadFrame(bytes);
  if (!framed) return FailLog(key, framed.error().message);
  auto header = ParseLogHeader(framed->header);
  if (!header) return FailLog(key, header.error().message);
  if (!Fits(*header, key)) return FailLog(key, "its header is that of another object");
  auto content = Unpack(*framed, header->raw_bytes, header->sha256);
  if (!content) return FailLog(key, content.error().message);

  const SharedBytes shared = SharedBytes::Own(*std::move(content));
  LogContent read = {.header = *std::move(header), .entries = {}};
  Records records(shared.view());
  const auto first = records.Next();
  if (!first || first->type != wal::RecordType::kCrc || first->crc != read.header.previous_crc)
    return FailLog(key, "its content does not begin with the CRC of its predecessor");
  while (!records.at_end()) {
    const auto record = records.Next();
    if (!record) return FailLog(key, "a record does not fit its CRC");
    if (record->type != wal::RecordType::kEntry) continue;
    const auto offset = static_cast<std::size_t>(record->data.data() - shared.view().data());
    auto entry = raft::DecodeEntry(shared.Slice(offset, record->data.size()));
    if (!entry || !Follows(read.entries, *entry, read.header))
      return FailLog(key, "an entry is not the one that should be there");
    read.entries.push_back(*std::move(entry));
  }
  if (read.entries.empty() || read.entries.back().index != read.header.name.last ||
      read.entries.back().term != read.header.last_term || records.crc() != read.header.end_crc)
    return FailLog(key, "its entries are not those that its header says");
  return read;
}

}  // namespace kvorum::archive
