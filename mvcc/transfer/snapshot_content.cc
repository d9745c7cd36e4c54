#include "mvcc/transfer/snapshot_content.h"

#include <string_view>
#include <utility>

namespace kvorum::mvcc {

Result<std::string> ContentWalk::NextBody() {
  std::string body;
  while (body.empty() && tag_index_ < snapshot_format::kTags.size()) {
    bool full = false;
    const auto tag = static_cast<std::uint8_t>(tag_index_ + 1);
    KV_RETURN_IF_ERROR(content_.Scan(
        snapshot_format::kTags[tag_index_], last_key_, {},
        [&](std::string_view key, std::string_view value) {
          if (key == last_key_) return true;  // where the previous body ended
          const std::size_t size = snapshot_format::kRecordHeadBytes + key.size() + value.size();
          if (!body.empty() && body.size() + size > snapshot_format::kChunkBytes) {
            full = true;
            return false;
          }
          snapshot_format::AppendRecord(body, tag, key, value);
          ++records_;
          next_key_.assign(key);
          return true;
        }));
    last_key_ = next_key_;
    if (full) break;
    ++tag_index_;
    last_key_.clear();
    next_key_.clear();
  }
  totals_.AddBody(body, std::exchange(records_, 0));
  return body;
}

Result<snapshot_format::Totals> ComputeSnapshotTotals(Snapshot& content) {
  ContentWalk walk(content);
  while (true) {
    KV_TRY(const std::string body, walk.NextBody());
    if (body.empty()) return walk.totals();
  }
}

}  // namespace kvorum::mvcc
