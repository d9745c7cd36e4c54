// Runs the conversations in tests/raft/scripts: each command with its expected output.
//
// tests/conversation.h says how a file is read, and written anew.
//
// - bootstrap <id>... [option=value]...: members of a new cluster; refuses_v2=<id>: this one
//   accepts no changes of the second kind
// - join <id> [option=value]...: a member with an empty disk, yet to be added
// - log <id> <n> <term>... [option=value]...: a member of 1 to n with such a log, which has
//   heard of the last term
// - tick <id> [n]: time passes there
// - campaign|ready|status|compact <id>
// - propose <id> <data>...
// - change <id> [implicit|explicit] [v|l|r<id>]...: a configuration change; without any: leave the
//   joint one
// - read <id> <context>
// - persist <id> [number]: its disk is done with the writes up to this Ready, or all
// - apply <id>: its state machine is done
// - deliver|drop [<id>]: the messages in flight to this member, or all
// - keep <id>: they are taken off the network, to come late
// - late <id>: the kept messages arrive
// - stabilize [<id>...]: these members work until nothing is left to do
// - crash <id> [steps]: this many steps of unsynced writes survive
// - start <id>
// - transfer <id> <to>
// - unreachable <id> <peer>
// - snapshot <id> <peer> ok|failed: the outcome of sending a snapshot
// - hold <id> <peer>: the peer is to get a snapshot though its log could go on; send_held <id>
//   <peer>: now
// `quiet` before a command prints nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "raft/bootstrap.h"
#include "tests/conversation.h"
#include "tests/raft/cluster.h"
#include "tests/raft/describe.h"

namespace kvorum::raft {
namespace {

class Script {
 public:
  std::string Run(const std::string& line) {
    std::istringstream words(line);
    std::vector<std::string> args;
    for (std::string word; words >> word;) args.push_back(word);
    out_.clear();
    const bool is_quiet = args.front() == "quiet";
    if (is_quiet) args.erase(args.begin());
    Command(args.front(), {args.begin() + 1, args.end()});
    cluster_.CheckInvariants();
    return is_quiet || out_.empty() ? "ok\n" : out_;
  }

 private:
  using Args = std::vector<std::string>;

  static std::uint64_t Number(const std::string& text) { return std::stoull(text); }
  Member& member(const Args& args) { return cluster_.member(MemberId{Number(args.at(0))}); }
  Node& node(const Args& args) { return member(args).node(); }
  static std::uint64_t OptionalNumber(const Args& args, std::size_t i, std::uint64_t otherwise) {
    return i < args.size() ? Number(args[i]) : otherwise;
  }

  void Print(Dropped dropped) {
    if (dropped != Dropped::kNot) out_ += "dropped: " + std::string(Name(dropped)) + "\n";
  }

  void Command(const std::string& name, const Args& args) {
    if (name == "bootstrap" || name == "join") return Add(name == "bootstrap", args);
    if (name == "log") return AddWithLog(args);
    if (name == "keep") return Keep(args);
    if (name == "late") return DeliverLate(args);
    if (name == "deliver") return Deliver(args);
    if (name == "drop") return Drop(args);
    if (name == "stabilize") return Stabilize(args);
    if (name == "propose") return Propose(args);
    if (name == "change") return Change(args);
    if (name == "campaign") return node(args).Campaign();
    if (name == "status") {
      out_ = DescribeStatus(node(args));
    } else if (name == "ready") {
      TakeReady(member(args));
    } else if (name == "tick") {
      for (std::uint64_t i = OptionalNumber(args, 1, 1); i > 0; --i) node(args).Tick();
    } else if (name == "read") {
      Print(node(args).ReadIndex(Number(args.at(1))));
    } else if (name == "persist") {
      member(args).Persist(OptionalNumber(args, 1, 0));
    } else if (name == "apply") {
      member(args).ApplyAll();
    } else if (name == "compact") {
      member(args).Checkpoint();
    } else if (name == "crash") {
      member(args).Crash(OptionalNumber(args, 1, 0));
    } else if (name == "start") {
      member(args).Start();
    } else if (name == "transfer") {
      Print(node(args).TransferLeadership(MemberId{Number(args.at(1))}));
    } else if (name == "unreachable") {
      node(args).ReportUnreachable(MemberId{Number(args.at(1))});
    } else if (name == "hold") {
      if (!node(args).HoldForSnapshot(MemberId{Number(args.at(1))})) out_ = "refused\n";
    } else if (name == "send_held") {
      node(args).SendHeldSnapshot(MemberId{Number(args.at(1))});
    } else if (name == "snapshot") {
      node(args).ReportSnapshot(MemberId{Number(args.at(1))}, args.at(2) == "ok");
    } else {
      out_ = "unknown command\n";
    }
  }

  void Add(bool is_bootstrap, const Args& args) {
    Config config;
    std::vector<FirstMember> members;
    for (const std::string& arg : args) {
      if (!SetOption(config, arg)) members.push_back({.id = MemberId{Number(arg)}, .context = {}});
    }
    const Bootstrap bootstrap = MakeBootstrap(members);
    for (const FirstMember& first : members) {
      config.id = first.id;
      config.seed = first.id.value();
      config.takes_conf_change_v2 = first.id != refuses_v2_;
      cluster_.Add(config, is_bootstrap ? Disk{.hard_state = bootstrap.hard_state,
                                               .entries = bootstrap.entries}
                                        : Disk{});
    }
  }

  void AddWithLog(const Args& args) {
    const MemberId id = MemberId{Number(args.at(0))};
    Config config{.id = id,
                  .seed = id.value(),
                  .pre_vote = false,
                  .check_quorum = false,
                  .takes_conf_change_v2 = true};
    Disk disk;
    for (MemberId voter = 1; voter.value() <= Number(args.at(1)); ++voter)
      disk.conf_state.voters.push_back(voter);
    for (std::size_t i = 2; i < args.size(); ++i) {
      if (SetOption(config, args[i])) continue;
      disk.entries.push_back({.term = Term{Number(args[i])}, .index = Index{i - 1}});
    }
    disk.hard_state.term = disk.entries.back().term;
    cluster_.Add(config, std::move(disk));
  }

  // Returns false if it is not an option.
  bool SetOption(Config& config, const std::string& arg) {
    const std::size_t equals = arg.find('=');
    if (equals == std::string::npos) return false;
    SetOption(config, arg.substr(0, equals), Number(arg.substr(equals + 1)));
    return true;
  }

  void SetOption(Config& config, const std::string& name, std::uint64_t value) {
    if (name == "pre_vote") {
      config.pre_vote = value != 0;
    } else if (name == "check_quorum") {
      config.check_quorum = value != 0;
    } else if (name == "refuses_v2") {
      refuses_v2_ = MemberId{value};
    } else if (name == "lease_reads") {
      config.read_mode = value != 0 ? ReadMode::kLease : ReadMode::kQuorum;
    } else if (name == "max_append") {
      config.max_append_size_bytes = value;
    } else if (name == "max_inflight") {
      config.max_inflight_messages = value;
    } else if (name == "max_uncommitted") {
      config.max_uncommitted_size_bytes = value;
    } else if (name == "catch_up") {
      config.catch_up_entries = value;
    } else {
      out_ += "unknown option " + name + "\n";
    }
  }

  void Propose(const Args& args) {
    std::vector<SharedBytes> batch;
    for (std::size_t i = 1; i < args.size(); ++i) batch.push_back(SharedBytes::Copy(args[i]));
    const ProposeResult result = node(args).Propose(batch);
    if (result.dropped == Dropped::kNot) return;
    out_ += "accepted " + std::to_string(result.accepted) + "; ";
    Print(result.dropped);
  }

  void Change(const Args& args) {
    ConfChangeV2 change;
    for (std::size_t i = 1; i < args.size(); ++i) {
      if (args[i] == "implicit") {
        change.transition = ConfChangeTransition::kJointImplicit;
      } else if (args[i] == "explicit") {
        change.transition = ConfChangeTransition::kJointExplicit;
      } else {
        const ConfChangeType type = args[i][0] == 'v'   ? ConfChangeType::kAddNode
                                    : args[i][0] == 'l' ? ConfChangeType::kAddLearnerNode
                                                        : ConfChangeType::kRemoveNode;
        change.changes.push_back({.type = type, .node_id = MemberId{Number(args[i].substr(1))}});
      }
    }
    Print(node(args)
              .ProposeConfChange(EntryType::kConfChangeV2, SharedBytes::Own(Encode(change)))
              .dropped);
  }

  // Prints only the non-empty parts.
  void TakeReady(Member& member) {
    if (!member.node().HasReady()) return;
    out_ += std::to_string(member.id().value()) + ": " + Describe(member.TakeReady());
  }

  // The messages to a member, in their order.
  std::vector<Message> TakeMessages(const std::set<MemberId>& receivers) {
    std::vector<Message> taken;
    std::vector<Message> left;
    for (Message& message : cluster_.network())
      (receivers.contains(message.to) ? taken : left).push_back(std::move(message));
    cluster_.network() = std::move(left);
    return taken;
  }
  std::set<MemberId> Ids(const Args& args) {
    std::set<MemberId> ids;
    for (const std::string& arg : args) ids.insert(MemberId{Number(arg)});
    if (!ids.empty()) return ids;
    for (auto& [id, member] : cluster_.members()) ids.insert(id);
    return ids;
  }

  void DeliverOne(const Message& message) {
    out_ += Describe(message) + "\n";
    const Result<void> taken = cluster_.Deliver(message);
    if (!taken.has_value()) out_ += "  refused: " + taken.error().message + "\n";
  }

  void Deliver(const Args& args) {
    for (const Message& message : TakeMessages(Ids(args))) {
      DeliverOne(message);
    }
  }

  void Keep(const Args& args) {
    for (Message& message : TakeMessages(Ids(args))) {
      out_ += Describe(message) + "\n";
      kept_.push_back(std::move(message));
    }
  }

  void DeliverLate(const Args& args) {
    const std::set<MemberId> ids = Ids(args);
    for (const Message& message : std::exchange(kept_, {})) {
      if (!ids.contains(message.to)) {
        kept_.push_back(message);
        continue;
      }
      DeliverOne(message);
    }
  }

  void Drop(const Args& args) {
    for (const Message& message : TakeMessages(Ids(args))) out_ += Describe(message) + "\n";
  }

  void Stabilize(const Args& args) {
    const std::set<MemberId> ids = Ids(args);
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (const MemberId id : ids) {
        Member& member = cluster_.member(id);
        if (!member.is_up()) continue;
        is_busy |= member.node().HasReady() || member.HasWrites() || member.HasToApply();
        TakeReady(member);
        if (member.HasWrites()) member.Persist();
        member.ApplyAll();
      }
      for (const Message& message : TakeMessages(ids)) {
        is_busy = true;
        cluster_.Deliver(message);
      }
    }
  }

  Cluster cluster_;
  std::vector<Message> kept_;
  MemberId refuses_v2_ = kNone;  // who takes no changes of the second kind
  std::string out_;
};

class RaftScriptTest : public testing::TestWithParam<std::string> {};

TEST_P(RaftScriptTest, PrintsWhatItSays) {
  Script script;
  RunConversation(std::filesystem::path(KVORUM_RAFT_SCRIPTS) / (GetParam() + ".txt"),
                  [&](const std::string& line) { return script.Run(line); });
}

INSTANTIATE_TEST_SUITE_P(Scripts, RaftScriptTest,
                         testing::ValuesIn(ConversationsIn(KVORUM_RAFT_SCRIPTS)),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kvorum::raft
