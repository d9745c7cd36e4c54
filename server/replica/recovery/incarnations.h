// This member's own incarnation and those that it has seen of others, kept in the file
// `incarnation` of the data directory, with the mark of a member that has lost data. A member that
// loses the directory loses all of them together.
//
//   kvorum incarnation 1
//   own <id> <starts> <recent>,<recent>…
//   lost <index>
//   peer <member> <id> <starts> <start>
//
// Threading: thread-safe; the file is written on the wal executor, behind the log's writes. A file
// that cannot be read or written costs only the guard: a new incarnation is drawn, and the peers
// take this member for one that has lost its data until a leader has made sure of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "base/rng.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "server/peer/io/incarnation.h"

namespace kvorum::server {

class Incarnations final : public IncarnationGuard {
 public:
  struct Hooks {
    // A peer says that this member has lost data. Any thread.
    std::function<void(raft::MemberId peer)> on_own_loss;
    // A peer has lost data, and knows it. Any thread.
    std::function<void(raft::MemberId peer)> on_peers_loss;
    // True if they are a majority of the voters. Any thread.
    std::function<bool(const std::set<raft::MemberId>& peers)> are_majority;
  };

  // Reads the file, if there is one, counts a start, and writes it. `random` draws what has to be
  // unique.
  static Result<std::unique_ptr<Incarnations>> Open(FileSystem& fs, std::string path, Rng random,
                                                    Executor& wal);
  // Before the member runs.
  void SetHooks(Hooks hooks) { hooks_ = std::move(hooks); }

  // ---- IncarnationGuard ----
  std::string Own() const override;
  bool Admits(raft::MemberId peer, std::string_view told, Told how) override;
  void ToldOfLoss(raft::MemberId peer, std::string_view told) override;

  // The index of raft::LostData, kept over restarts; 0: nothing is lacking. Peers learn of a loss
  // when it is on disk. What is remembered of them is as old as the data, and goes; at each start
  // without the data, too.
  raft::Index lost_data() const;
  void SetLostData(raft::Index index);

 private:
  Incarnations(FileSystem& fs, std::string path, Executor& wal)
      : fs_(fs), path_(std::move(path)), wal_(wal) {}

  bool Parse(std::string_view text);
  std::string Content() const;
  // True if it has lost data, as far as is known here, and does not know it. Under the lock.
  bool IsBehind(raft::MemberId peer, const Incarnation& told) const;
  void Remember(raft::MemberId peer, const SeenIncarnation& now);
  void SaveSoon();
  void Save();

  FileSystem& fs_;
  const std::string path_;
  Executor& wal_;
  Hooks hooks_;

  mutable std::mutex mutex_;  // guards the following
  Incarnation own_;           // lacks_data as the file says
  raft::Index lost_data_ = 0;
  std::map<raft::MemberId, SeenIncarnation> seen_;
  // Callers that said that they lack data are admitted once that is made good, too, though their
  // own URLs may not be reached. Not in the file.
  std::map<raft::MemberId, SeenIncarnation> excused_;
  // Peers that do not admit us, nor we them, by what we remember of each other. Not in the file.
  std::set<raft::MemberId> opponents_;
  bool will_save_ = false;
};

}  // namespace kvorum::server
