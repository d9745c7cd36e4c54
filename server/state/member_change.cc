#include "server/state/member_change.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/member_id.h"
#include "base/api_errors.h"

namespace kvorum::server {
namespace {

using raft::ConfChangeType;

constexpr const char* kIsPromote = "isPromote";
// Our own field; members of etcd ignore it, and leave it out.
constexpr const char* kMaxLearners = "maxLearners";
// etcd's limit unless its flag says otherwise, which no entry tells.
constexpr std::size_t kEtcdsMaxLearners = 1;

bool UrlsAreTaken(const MembershipView& view, const MemberChange& change) {
  return std::ranges::any_of(view.members, [&](const auto& entry) {
    const auto& [id, member] = entry;
    if (id == change.id) return false;
    return std::ranges::any_of(change.member.peer_urls, [&](const std::string& url) {
      return std::ranges::find(member.peer_urls, url) != member.peer_urls.end();
    });
  });
}

bool IsOnlyVoter(const MembershipView& view, raft::MemberId id) {
  return std::ranges::none_of(view.members, [&](const auto& entry) {
    return entry.first != id && !entry.second.is_learner;
  });
}

std::size_t CountLearners(const MembershipView& view) {
  return static_cast<std::size_t>(std::ranges::count_if(
      view.members, [](const auto& entry) { return entry.second.is_learner; }));
}

Result<void> CheckAddition(const MembershipView& view, const MemberChange& change) {
  const auto known = view.members.find(change.id);
  if (change.is_promote) {
    if (known == view.members.end()) return kErrMemberNotFound.Fail();
    if (!known->second.is_learner) return kErrMemberNotLearner.Fail();
    return {};
  }
  if (known != view.members.end()) return kErrMemberExist.Fail();
  if (UrlsAreTaken(view, change)) return kErrPeerUrlExist.Fail();
  const bool is_learner = change.type == ConfChangeType::kAddLearnerNode;
  if (is_learner && CountLearners(view) >= change.max_learners.value_or(kEtcdsMaxLearners))
    return kErrTooManyLearners.Fail();
  return {};
}

}  // namespace

MemberChange MemberChange::Add(Member member) {
  const auto type = member.is_learner ? ConfChangeType::kAddLearnerNode : ConfChangeType::kAddNode;
  const raft::MemberId id = member.id;
  return {.type = type, .id = id, .member = std::move(member)};
}

MemberChange MemberChange::Remove(raft::MemberId id) {
  return {.type = ConfChangeType::kRemoveNode, .id = id, .member = {}};
}

MemberChange MemberChange::Update(raft::MemberId id, std::vector<std::string> peer_urls) {
  Member member;
  member.id = id;
  member.peer_urls = std::move(peer_urls);
  return {.type = ConfChangeType::kUpdateNode, .id = id, .member = std::move(member)};
}

MemberChange MemberChange::Promote(raft::MemberId id) {
  Member member;
  member.id = id;
  return {
      .type = ConfChangeType::kAddNode, .id = id, .member = std::move(member), .is_promote = true};
}

raft::ConfChange EncodeMemberChange(std::uint64_t id, const MemberChange& change) {
  raft::ConfChange encoded{.id = id, .type = change.type, .node_id = change.id};
  if (change.type == ConfChangeType::kRemoveNode) return encoded;
  std::string context = EncodeMemberJson(change.member);
  // After the member's own fields, which stay as they were encoded.
  const auto append = [&](std::string_view name, const std::string& value) {
    context.insert(context.size() - 1, ",\"" + std::string(name) + "\":" + value);
  };
  if (change.is_promote) append(kIsPromote, "true");
  if (change.max_learners.has_value()) append(kMaxLearners, std::to_string(*change.max_learners));
  encoded.context = SharedBytes::Own(std::move(context));
  return encoded;
}

Result<MemberChange> DecodeMemberChange(const raft::ConfChange& change) {
  MemberChange decoded{.type = change.type, .id = change.node_id, .member = {}};
  if (change.type == ConfChangeType::kRemoveNode) return decoded;
  KV_TRY(decoded.member, DecodeMemberJson(change.context.view()));
  if (decoded.member.id != change.node_id) {
    return Fail(Code::kDataLoss, "membership: the change is of member " + IdText(change.node_id) +
                                     ", its record of member " + IdText(decoded.member.id));
  }
  // Raft uses the type, so the record does too.
  decoded.member.is_learner = change.type == ConfChangeType::kAddLearnerNode;
  const auto json = nlohmann::json::parse(change.context.view(), nullptr, false);
  const auto promote = json.find(kIsPromote);
  decoded.is_promote = change.type == ConfChangeType::kAddNode && promote != json.end() &&
                       promote->is_boolean() && promote->get<bool>();
  const auto limit = json.find(kMaxLearners);
  if (change.type == ConfChangeType::kAddLearnerNode && limit != json.end() &&
      limit->is_number_unsigned())
    decoded.max_learners = limit->get<std::size_t>();
  return decoded;
}

Result<void> CheckMemberChange(const MembershipView& view, const MemberChange& change) {
  if (change.id == raft::kNone || view.removed.contains(change.id))
    return kErrMemberNotFound.Fail();
  switch (change.type) {
    case ConfChangeType::kAddNode:
    case ConfChangeType::kAddLearnerNode:
      return CheckAddition(view, change);
    case ConfChangeType::kRemoveNode:
      if (!view.members.contains(change.id)) return kErrMemberNotFound.Fail();
      if (!view.members.at(change.id).is_learner && IsOnlyVoter(view, change.id))
        return kErrNotEnoughStarted.Fail();
      return {};
    case ConfChangeType::kUpdateNode:
      if (!view.members.contains(change.id)) return kErrMemberNotFound.Fail();
      if (UrlsAreTaken(view, change)) return kErrPeerUrlExist.Fail();
      return {};
  }
  return {};
}

MembershipView ApplyMemberChange(MembershipView view, const MemberChange& change) {
  switch (change.type) {
    case ConfChangeType::kAddNode:
    case ConfChangeType::kAddLearnerNode:
      if (change.is_promote) {
        view.members[change.id].is_learner = false;
      } else {
        view.members[change.id] = change.member;
      }
      break;
    case ConfChangeType::kRemoveNode:
      view.members.erase(change.id);
      view.removed.insert(change.id);
      break;
    case ConfChangeType::kUpdateNode:
      view.members[change.id].peer_urls = change.member.peer_urls;
      break;
  }
  return view;
}

raft::ConfState ConfStateOf(const MembershipView& view) {
  raft::ConfState state;
  for (const auto& [id, member] : view.members)
    (member.is_learner ? state.learners : state.voters).push_back(id);
  return state;
}

}  // namespace kvorum::server
