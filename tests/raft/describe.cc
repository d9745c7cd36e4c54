#include "tests/raft/describe.h"

#include <string_view>

#include "raft/conf_change.h"

namespace kvorum::raft {

namespace {

template <class... Parts>
std::string Join(const Parts&... parts) {
  std::string text;
  (text.append(std::string_view(parts)), ...);
  return text;
}

std::string Number(std::string_view name, std::uint64_t value) {
  return Join(" ", name, "=", std::to_string(value));
}

std::string NumberIfAny(std::string_view name, std::uint64_t value) {
  return value == 0 ? std::string() : Number(name, value);
}

std::string Position(Term term, Index index) {
  return Join(std::to_string(term.value()), "/", std::to_string(index.value()));
}

std::string List(std::string_view name, const std::vector<MemberId>& ids) {
  if (ids.empty()) return "";
  std::string text = Join(" ", name, "=(");
  for (const MemberId id : ids) text += Join(std::to_string(id.value()), " ");
  text.back() = ')';
  return text;
}

std::string DescribeChange(const ConfChangeV2& change) {
  if (LeavesJoint(change)) return " leave";
  std::string text;
  if (change.transition == ConfChangeTransition::kJointImplicit) text += " implicit";
  if (change.transition == ConfChangeTransition::kJointExplicit) text += " explicit";
  for (const ConfChangeSingle& single : change.changes) {
    constexpr std::string_view kLetters = "vrul";
    text += ' ';
    text += kLetters[static_cast<std::size_t>(single.type)];
    text += std::to_string(single.node_id.value());
  }
  return text;
}

std::string DescribeSnapshot(const Snapshot& snapshot) {
  const SnapshotMetadata& metadata = snapshot.metadata;
  return Join("snapshot ", Position(metadata.term, metadata.index), " ",
              Describe(metadata.conf_state));
}

}  // namespace

std::string Describe(const Entry& entry) {
  const std::string position = Position(entry.term, entry.index);
  if (entry.type == EntryType::kNormal) return Join(position, " \"", entry.data.view(), "\"");
  const auto change = DecodeConfChangeEntry(entry.type, entry.data);
  return Join(position, " ", Name(entry.type),
              change.has_value() ? DescribeChange(*change) : " malformed");
}

std::string Describe(const ConfState& conf) {
  const std::string text =
      Join(List("voters", conf.voters), List("outgoing", conf.voters_outgoing),
           List("learners", conf.learners), List("learners_next", conf.learners_next),
           conf.auto_leave ? " auto_leave" : "");
  return text.empty() ? "none" : text.substr(1);
}

std::string Describe(const HardState& state) {
  return Join("term=", std::to_string(state.term.value()), Number("vote", state.vote.value()),
              Number("commit", state.commit.value()));
}

std::string Describe(const Message& message) {
  std::string text =
      Join(std::to_string(message.from.value()), "->", std::to_string(message.to.value()), " ",
           Name(message.type), NumberIfAny("term", message.term.value()));
  switch (message.type) {
    case MessageType::kApp:
    case MessageType::kVote:
    case MessageType::kPreVote:
      text += Join(" log=", Position(message.log_term, message.index));
      break;
    default:
      text += NumberIfAny("log_term", message.log_term.value()) +
              NumberIfAny("index", message.index.value());
  }
  text += NumberIfAny("commit", message.commit.value());
  if (message.reject) text += " reject";
  text += NumberIfAny("hint", message.reject_hint.value());
  if (message.context.size() == sizeof(std::uint64_t)) {
    text += Number("round", DecodeContext(message.context));
  } else if (!message.context.empty()) {
    text += Join(" ", message.context.view());
  }
  if (message.snapshot != nullptr) text += Join(" ", DescribeSnapshot(*message.snapshot));
  const bool is_read =
      message.type == MessageType::kReadIndex || message.type == MessageType::kReadIndexResp;
  if (is_read) return text + Number("context", DecodeContext(message.entries.front().data));
  for (const Entry& entry : message.entries) text += Join(" [", Describe(entry), "]");
  return text;
}

std::string Describe(const Event& event) {
  return Join(Name(event.type), Number("term", event.term.value()),
              NumberIfAny("peer", event.peer.value()), NumberIfAny("index", event.index.value()));
}

std::string Describe(const Ready& ready) {
  std::string text =
      Join("Ready ", std::to_string(ready.number), ready.must_sync ? " must sync\n" : "\n");
  for (const Event& event : ready.events) text += Join("  event: ", Describe(event), "\n");
  if (ready.soft_state.has_value()) {
    text += Join("  soft state: ", Name(ready.soft_state->role),
                 Number("leader", ready.soft_state->leader.value()), "\n");
  }
  if (ready.snapshot != nullptr) text += Join("  write: ", DescribeSnapshot(*ready.snapshot), "\n");
  for (const Entry& entry : ready.entries) text += Join("  write: ", Describe(entry), "\n");
  if (ready.hard_state.has_value()) text += Join("  write: ", Describe(*ready.hard_state), "\n");
  for (const Message& message : ready.messages) text += Join("  send: ", Describe(message), "\n");
  for (const Entry& entry : ready.committed) text += Join("  apply: ", Describe(entry), "\n");
  for (const ReadState& state : ready.read_states)
    text += Join("  read:", Number("context", state.context), Number("index", state.index.value()),
                 "\n");
  return text;
}

std::string DescribeStatus(const Node& node) {
  const Log& log = node.log();
  std::string text =
      Join(Name(node.role()), Number("term", node.term().value()),
           Number("leader", node.leader().value()),
           "\n  log:", Number("first", log.first_index().value()),
           Number("last", log.last_index().value()), Number("persisted", log.persisted().value()),
           Number("committed", log.committed().value()), Number("applied", log.applied().value()),
           "\n  conf: ", Describe(node.conf_state()), "\n");
  if (node.role() != Role::kLeader) return text;
  for (const auto& [id, progress] : node.tracker().progress()) {
    text +=
        Join("  ", std::to_string(id.value()), ": ", Name(progress.state),
             Number("match", progress.match.value()), Number("next", progress.next.value()),
             NumberIfAny("inflight", progress.inflights.size()),
             NumberIfAny("snapshot", progress.pending_snapshot.value()),
             progress.is_probe_sent ? " waiting" : "", progress.is_active ? "" : " inactive", "\n");
  }
  return text;
}

}  // namespace kvorum::raft
