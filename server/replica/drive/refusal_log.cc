#include "server/replica/drive/refusal_log.h"

#include "api/member_id.h"
#include "base/log/logging.h"

namespace kvorum::server {

bool RefusalLog::Refused(raft::MemberId from, const Error& error, TimePoint now) {
  if (senders_.size() >= kMaxSenders && !senders_.contains(from)) senders_.clear();
  Sender& sender = senders_[from];
  if (++sender.count != 1 && now < sender.logged + kPause) return false;
  sender.logged = now;
  KV_WARN("refused a peer's message", {"from", IdText(from)}, {"error", error.message},
          {"refused-so-far", sender.count});
  return true;
}

}  // namespace kvorum::server
