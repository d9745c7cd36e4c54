#include "server/integrity/older_members.h"

#include <algorithm>
#include <utility>

#include "api/entries/etcd_patches.h"
#include "api/member_id.h"
#include "base/log/logging.h"
#include "server/call/access.h"
#include "server/call/reads.h"
#include "server/replica/upkeep/cluster_version.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr Duration kLookInterval = std::chrono::seconds(10);
// While the version of a member is unknown.
constexpr Duration kFirstInterval = std::chrono::seconds(1);
constexpr Duration kTellTimeout = std::chrono::seconds(1);
constexpr Duration kSayInterval = std::chrono::hours(1);

std::map<raft::MemberId, Version> AskParsed(PeerRequester& peers,
                                            const std::vector<Member>& members) {
  std::map<raft::MemberId, Version> versions;
  for (const auto& [id, told] : AskVersions(peers, members, kTellTimeout, Unreached::kIsSilent))
    if (const auto version = Version::Parse(told.server); version.has_value())
      versions.emplace(id, *version);
  return versions;
}

std::vector<OlderMember> OlderAmong(const std::vector<Member>& members,
                                    const std::map<raft::MemberId, Version>& versions) {
  std::vector<OlderMember> older;
  for (const Member& member : members) {
    const auto found = versions.find(member.id);
    if (found == versions.end() || DecidesTxnsAlike(found->second)) continue;
    older.push_back({.id = member.id, .name = member.name, .version = found->second});
  }
  return older;
}

}  // namespace

std::optional<OlderMembersAction> ParseOlderMembersAction(std::string_view text) {
  if (text == "refuse") return OlderMembersAction::kRefuse;
  if (text == "warn") return OlderMembersAction::kWarn;
  return std::nullopt;
}

std::vector<OlderMember> FindOlderMembers(PeerRequester& peers,
                                          const std::vector<Member>& members) {
  return OlderAmong(members, AskParsed(peers, members));
}

std::string OlderMembersRefusal(const std::vector<OlderMember>& older) {
  std::string text = "with older etcd members, keys can diverge silently while auth is on (";
  for (const OlderMember& member : older) {
    if (&member != &older.front()) text += ", ";
    text.append(member.name.empty() ? "member " + IdText(member.id) : member.name);
    text.append(" runs ");
    text.append(member.version.text()).append(", which needs ");
    text.append(LowestThatDecidesTxnsAlike(member.version));
  }
  return text +
         "): update them, or start this member with --older-etcd-members=warn "
         "(docs/operations/moving.md)";
}

void OlderMembers::Start() {
  executor_.Post([this] { Look(); });
}

void OlderMembers::Look() {
  const auto view = reads_.cluster.membership.View();
  std::vector<Member> others;
  for (const auto& [id, member] : view->members)
    if (id != reads_.cluster.member_id) others.push_back(member);
  for (const auto& [id, version] : AskParsed(peers_, others)) versions_[id] = version;
  std::erase_if(versions_, [&](const auto& known) { return !view->members.contains(known.first); });

  const std::vector<OlderMember> older = OlderAmong(others, versions_);
  const bool is_auth_on = reads_.access.state()->enabled();
  found_.older_while_auth = is_auth_on ? older.size() : 0;
  found_.forbid_auth = action_ == OlderMembersAction::kRefuse && !older.empty();
  found_.lose_learners = std::ranges::any_of(
      versions_, [](const auto& known) { return !KeepsLearners(known.second); });
  Say(older, is_auth_on);
  const bool is_complete = versions_.size() == others.size();
  executor_.PostAt(executor_.clock().Now() + (is_complete ? kLookInterval : kFirstInterval),
                   [this] { Look(); });
}

void OlderMembers::Say(const std::vector<OlderMember>& older, bool is_auth_on) {
  std::vector<raft::MemberId> ids;
  for (const OlderMember& member : older) ids.push_back(member.id);
  const TimePoint now = executor_.clock().Now();
  const bool is_new = ids != said_ || is_auth_on != said_while_auth_;
  const bool is_due = is_auth_on && now >= say_again_;
  said_ = std::move(ids);
  said_while_auth_ = is_auth_on;
  if (older.empty() || (!is_new && !is_due)) return;
  say_again_ = now + kSayInterval;
  for (const OlderMember& member : older) {
    const LogLevel level = is_auth_on ? LogLevel::kError : LogLevel::kWarn;
    KV_LOG(level, "an older member of etcd decides permissions of transactions otherwise",
           {"auth-enabled", is_auth_on}, {"remote-peer-id", IdText(member.id)},
           {"remote-peer-name", member.name}, {"version", member.version.text()},
           {"lowest-version", LowestThatDecidesTxnsAlike(member.version)});
  }
}

}  // namespace kvorum::server
