#include "raft/conf_change.h"

#include <algorithm>
#include <set>
#include <string>

namespace kvorum::raft {

namespace {

// The member lists while a change is applied.
struct Members {
  std::set<MemberId> voters;
  std::set<MemberId> outgoing;
  std::set<MemberId> learners;
  std::set<MemberId> learners_next;

  void AddVoter(MemberId id) {
    learners.erase(id);
    learners_next.erase(id);
    voters.insert(id);
  }
  void AddLearner(MemberId id) {
    voters.erase(id);
    // A member that still votes in the outgoing half becomes a learner when that half is left.
    (outgoing.contains(id) ? learners_next : learners).insert(id);
  }
  void Remove(MemberId id) {
    voters.erase(id);
    learners.erase(id);
    learners_next.erase(id);
  }
};

std::vector<MemberId> List(const std::set<MemberId>& ids) { return {ids.begin(), ids.end()}; }

void ApplySingle(Members& members, const ConfChangeSingle& single) {
  if (single.node_id == kNone) return;  // a refused change becomes this
  switch (single.type) {
    case ConfChangeType::kAddNode:
      members.AddVoter(single.node_id);
      return;
    case ConfChangeType::kAddLearnerNode:
      members.AddLearner(single.node_id);
      return;
    case ConfChangeType::kRemoveNode:
      members.Remove(single.node_id);
      return;
    case ConfChangeType::kUpdateNode:  // of its addresses, which are not ours
      return;
  }
}

std::unexpected<Error> Refuse(std::string_view why) {
  return Fail(Code::kFailedPrecondition, "raft: configuration change: " + std::string(why));
}

}  // namespace

bool LeavesJoint(const ConfChangeV2& change) {
  return change.transition == ConfChangeTransition::kAuto && change.changes.empty();
}

bool EntersJoint(const ConfChangeV2& change) {
  return change.transition != ConfChangeTransition::kAuto || change.changes.size() > 1;
}

// Raft: thesis 4.1; thesis 4.3
Result<ConfState> ApplyChange(const ConfState& conf, const ConfChangeV2& change) {
  const bool is_joint = IsJoint(conf);
  Members members{.voters = {conf.voters.begin(), conf.voters.end()},
                  .outgoing = {conf.voters_outgoing.begin(), conf.voters_outgoing.end()},
                  .learners = {conf.learners.begin(), conf.learners.end()},
                  .learners_next = {conf.learners_next.begin(), conf.learners_next.end()}};
  bool auto_leave = conf.auto_leave;
  if (LeavesJoint(change)) {
    if (!is_joint) return Refuse("leaving a joint configuration that is not there");
    members.learners.insert(members.learners_next.begin(), members.learners_next.end());
    members.learners_next.clear();
    members.outgoing.clear();
    auto_leave = false;
  } else if (EntersJoint(change)) {
    if (is_joint) return Refuse("already joint");
    if (members.voters.empty()) return Refuse("no voters to start from");
    members.outgoing = members.voters;
    auto_leave = change.transition != ConfChangeTransition::kJointExplicit;
    for (const ConfChangeSingle& single : change.changes) ApplySingle(members, single);
  } else {
    if (is_joint) return Refuse("the joint configuration has to be left first");
    for (const ConfChangeSingle& single : change.changes) ApplySingle(members, single);
  }
  if (members.voters.empty()) return Refuse("no voters would be left");
  return ConfState{.voters = List(members.voters),
                   .learners = List(members.learners),
                   .voters_outgoing = List(members.outgoing),
                   .learners_next = List(members.learners_next),
                   .auto_leave = auto_leave};
}

bool IsJoint(const ConfState& conf) { return !conf.voters_outgoing.empty(); }

bool IsVoterOf(const ConfState& conf, MemberId id) {
  return std::ranges::binary_search(conf.voters, id) ||
         std::ranges::binary_search(conf.voters_outgoing, id);
}

Result<ConfState> CheckConfState(ConfState conf) {
  const auto overlap = [](const std::vector<MemberId>& a, const std::vector<MemberId>& b) {
    return std::ranges::any_of(a, [&](MemberId id) { return std::ranges::binary_search(b, id); });
  };
  for (std::vector<MemberId>* list :
       {&conf.voters, &conf.learners, &conf.voters_outgoing, &conf.learners_next}) {
    std::ranges::sort(*list);
    if (std::ranges::adjacent_find(*list) != list->end()) return Refuse("a member is named twice");
    if (!list->empty() && list->front() == kNone) return Refuse("a member without an id");
  }
  if (overlap(conf.voters, conf.learners) || overlap(conf.voters_outgoing, conf.learners) ||
      overlap(conf.voters, conf.learners_next)) {
    return Refuse("a member is both voter and learner");
  }
  if (!std::ranges::includes(conf.voters_outgoing, conf.learners_next))
    return Refuse("a member of learners_next is not an outgoing voter");
  if (conf.voters.empty() && !conf.voters_outgoing.empty())
    return Refuse("a joint configuration without incoming voters");
  if (conf.auto_leave && !IsJoint(conf))
    return Refuse("a joint configuration that is not there is to be left");
  return conf;
}

Result<ConfChangeV2> DecodeConfChangeEntry(EntryType type, const SharedBytes& data) {
  switch (type) {
    case EntryType::kConfChange: {
      KV_TRY(const ConfChange change, DecodeConfChange(data));
      return AsV2(change);
    }
    case EntryType::kConfChangeV2:
      return DecodeConfChangeV2(data);
    case EntryType::kNormal:
      break;
  }
  return Fail(Code::kInvalidArgument, "raft: not an entry of a configuration change");
}

}  // namespace kvorum::raft
