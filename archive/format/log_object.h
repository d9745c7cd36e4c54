// A log object: committed entries, one after the other, as a segment of the log has them
// (wal/format.h). The running CRC goes on from object to object, so that each says which one it
// follows. Laid in a folder behind a head, the records are a log that etcd-dump-logs
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "archive/format/names.h"
#include "archive/format/records.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

// The end of the object before the next one.
struct LogEnd {
  std::string key;  // empty before the first object
  raft::Index last = 0;
  std::uint32_t crc = 0;

  friend bool operator==(const LogEnd&, const LogEnd&) = default;
};

struct LogObject {
  ObjectKey key;
  std::string bytes;
  LogEnd end;
};

// An upper bound of the entry's size in an object, before it is packed.
std::size_t RoomOf(const raft::Entry& entry);
// The room for entries: what is left of kMaxFrameBytes beside a header and an incompressible
// content's growth.
std::size_t MaxEntriesRoom();

// The entries are committed, at least one, without a gap, and fit MaxEntriesRoom. `times` are in
// order and within them; the last one is the last entry's. Metadata: that of the member's log.
LogObject MakeLogObject(HistoryId history, const LogEnd& previous,
                        const std::vector<raft::Entry>& entries, std::vector<TimeMark> times,
                        std::string_view metadata);

struct LogContent {
  LogHeader header;
  std::vector<raft::Entry> entries;
};
// kDataLoss unless the bytes are the object of this key, whole, and its entries those that its
// header and its name say. Whether it follows its predecessor is the caller's to check.
Result<LogContent> ReadLogObject(const ObjectKey& key, std::string_view bytes);

}  // namespace kvorum::archive
