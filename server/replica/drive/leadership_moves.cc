#include "server/replica/drive/leadership_moves.h"

#include <utility>

#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/log/logging.h"

namespace kvorum::server {

void LeadershipMoves::Begin(raft::MemberId self, raft::MemberId to, TimePoint deadline,
                            Callback callback) {
  moves_.push_back({.from = self, .to = to, .deadline = deadline, .callback = std::move(callback)});
}

void LeadershipMoves::End(raft::MemberId leader, TimePoint now) {
  std::vector<Move> ended;
  std::erase_if(moves_, [&](Move& move) {
    if (!move.IsDone(leader) && now < move.deadline) return false;
    ended.push_back(std::move(move));
    return true;
  });
  for (Move& move : ended) {
    if (!move.IsDone(leader)) {
      move.callback(kErrTimeoutLeaderTransfer.Fail());
      continue;
    }
    KV_INFO("leadership transfer finished", {"leader-member-id", IdText(leader)});
    move.callback({});
  }
}

void LeadershipMoves::FailAll(const Error& error) {
  for (Move& move : std::exchange(moves_, {})) move.callback(std::unexpected(error));
}

}  // namespace kvorum::server
