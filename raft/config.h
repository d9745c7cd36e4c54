// The settings with which a Node is created.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::raft {

enum class ReadMode : std::uint8_t {
  kQuorum,  // a quorum confirms the leader for each round of reads
  kLease,   // check-quorum is trusted: cheaper, and wrong if clocks run at different speeds
};

struct Config {
  MemberId id = kNone;
  std::uint64_t seed = 0;  // for the random election time-outs; different on each member
  int heartbeat_ticks = 1;
  int election_ticks = 10;
  bool pre_vote = true;
  bool check_quorum = true;
  ReadMode read_mode = ReadMode::kQuorum;
  // True if the driver can apply entries of kConfChangeV2, which joint configurations need.
  // Otherwise such entries never get into the log, nor does a peer's snapshot with a joint
  // configuration that only such an entry leaves (docs/decisions/0018-joint-changes.md).
  bool takes_conf_change_v2 = false;

  // Replication: the bounds of one App message (but at least one entry), and of the messages in
  // flight to one follower.
  std::size_t max_append_size_bytes = 1 << 20;
  std::size_t max_inflight_messages = 512;
  std::size_t max_inflight_size_bytes = 64 << 20;
  // The bound of the leader's uncommitted entries; further proposals are dropped.
  std::size_t max_uncommitted_size_bytes = 256 << 20;
  // The bound of entries that are committed and not applied by this member (but at least one
  // entry). Past it a leader drops proposals; a follower drops further entries as if they were lost
  // on the way, and is sent them again.
  std::size_t max_unapplied_size_bytes = 128 << 20;
  // The bound of entries that were given out to be applied and are not Applied yet (but at least
  // one entry).
  std::size_t max_applying_size_bytes = 64 << 20;
  // The bound of linearizable reads waiting for a quorum; further ones are dropped.
  std::size_t max_pending_reads = 4096;
  // Entries that Compact keeps in memory for lagging followers: as many as both bounds allow.
  std::size_t catch_up_entries = 5000;
  std::size_t catch_up_size_bytes = 64 << 20;
};

// The state that the member found on its disk.
struct Restart {
  HardState hard_state{};
  Index snapshot_index = 0;  // of the snapshot before the entries; 0 if the log is complete
  Term snapshot_term = 0;
  std::vector<Entry> entries{};
  Index applied = 0;       // the last entry in the state machine, snapshot_index at least
  ConfState conf_state{};  // as of `applied`
  // Nonzero if the member knew that it lacked entries up to here which it had acknowledged.
  Index lost_data = 0;
};

}  // namespace kvorum::raft
