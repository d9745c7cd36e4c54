// The members of etcd that decide otherwise than this one what an entry does (etcd_patches.h):
// known by their versions, which every member asks all others for, again and again.
//
// While auth is on such a member applies transactions that the others refuse, and nothing else
// tells that their keys part. So this member says so, in its log and a metric; and by default it
// does not start, or join, beside one, and does not enable auth.
//
// Runs on the executor, which it blocks while it asks, for a second at most. The owner stops the
// executor, then destroys this.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/member.h"
#include "api/version_number.h"
#include "base/clock.h"
#include "base/task.h"
#include "server/call/member_patches.h"
#include "server/peer/transport/peer_request.h"

namespace kvorum::server {

// --older-etcd-members
enum class OlderMembersAction : std::uint8_t { kRefuse, kWarn };
std::optional<OlderMembersAction> ParseOlderMembersAction(std::string_view text);

struct OlderMember {
  raft::MemberId id = raft::kNone;
  std::string name;
  Version version;
};

// Blocks. Those of the members that answer and decide transactions otherwise.
std::vector<OlderMember> FindOlderMembers(PeerRequester& peers, const std::vector<Member>& members);
// Why a member does not run beside them, and what to do.
std::string OlderMembersRefusal(const std::vector<OlderMember>& older);

struct Reads;

class OlderMembers {
 public:
  OlderMembers(Executor& executor, const Reads& reads, PeerRequester& peers,
               OlderMembersAction action, MemberPatches& found)
      : executor_(executor), reads_(reads), peers_(peers), action_(action), found_(found) {}
  void Start();

 private:
  void Look();
  void Say(const std::vector<OlderMember>& older, bool is_auth_on);

  Executor& executor_;
  const Reads& reads_;
  PeerRequester& peers_;
  const OlderMembersAction action_;
  MemberPatches& found_;
  // The last known versions of the members; a member that does not answer keeps its version.
  std::map<raft::MemberId, Version> versions_;
  std::vector<raft::MemberId> said_;
  bool said_while_auth_ = false;
  TimePoint say_again_;
};

}  // namespace kvorum::server
