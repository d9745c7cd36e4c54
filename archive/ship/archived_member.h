// The member as the archive in it sees it: committed entries as its log's segments have them,
// images of its state, and when the state had which entry.
//
// Threading: thread-safe. Calls may wait for the disk, and never for the network; none makes a
// client wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/format/names.h"
#include "archive/format/records.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

// The state of one moment, in the form that etcdutl opens. Used by one thread at a time.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual raft::Index index() const = 0;  // of the last entry in it
  virtual raft::Term term() const = 0;    // of that entry
  virtual std::int64_t revision() const = 0;
  // The next bytes, at most 1 MiB or one record; empty at the end. kUnavailable: the reader's place
  // was needed, and a new image has to be opened.
  virtual Result<SharedBytes> Next() = 0;
  // To be called several times a second while a store is waited for: gives the database's reader
  // up where it stands in a writer's way, and then fails for good.
  virtual Result<void> Look() = 0;
};

// Why the member's data does not go on with the history that other data of this cluster began.
struct Departure {
  std::string reason;  // `restore`, `force-new-cluster`
  // The place that was left. Of a restore: the history that was restored from. Otherwise the
  // history is 0: the newest one of the same cluster.
  Origin origin;
};

class ArchivedMember {
 public:
  struct Identity {
    std::uint64_t cluster_id = 0;
    std::uint64_t member_id = 0;
    std::string wal_metadata;  // the record at the head of the log's segments
    std::optional<Departure> departure;
  };

  virtual ~ArchivedMember() = default;

  virtual const Identity& identity() const = 0;
  virtual bool IsLeader() const = 0;
  // When the state had which entry, oldest first, behind this one: at most `limit` of them. Each
  // is of the member's own clock. The place at which the member started is one of them, so that
  // between two of them there can be any number of entries. Old ones are thinned out.
  virtual std::vector<TimeMark> MarksBehind(raft::Index index, std::size_t limit) = 0;
  // The newest of them.
  virtual TimeMark NewestMark() = 0;
  // Applied entries, some from `from` on and none past `to`; none is added once they have
  // `max_size_bytes`. kNotFound if the log begins later.
  virtual Result<std::vector<raft::Entry>> Read(raft::Index from, raft::Index to,
                                                std::size_t max_size_bytes) = 0;
  // The first entry that the log's segments have.
  virtual Result<raft::Index> FirstIndex() = 0;
  virtual Result<std::unique_ptr<ImageSource>> OpenImage() = 0;
  // Entries behind this one will still be read: the segments that have them stay, up to the
  // member's own bounds. 0: none is needed.
  virtual void KeepBehind(raft::Index index) = 0;
};

}  // namespace kvorum::archive
