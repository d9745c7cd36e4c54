// kvorumctl agent: keeps what runs on this node in the catalog.
#include <signal.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "consul/agent/tag_override.h"
#include "sync/agent/state_file.h"
#include "tools/run/long_run.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/signal_watch.h"
#include "tools/sync/agent_ask.h"
#include "tools/sync/running_agent.h"
#include "tools/sync/sync_commands.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

Outcome<sync::SyncerOptions> SyncerOptionsFrom(const FlagSet& flags) {
  sync::SyncerOptions options{.root = flags.String("root"), .node = flags.String("node")};
  if (const auto valid = sync::ValidateName("--node", options.node); !valid)
    return BadArguments(valid.error().message);
  options.node_value = flags.String("node-value");
  options.ttl_s = std::chrono::duration_cast<std::chrono::seconds>(flags.Duration("ttl")).count();
  if (options.ttl_s < 1) return BadArguments("--ttl is below one second");
  if (flags.Duration("reap-after") < std::chrono::nanoseconds::zero())
    return BadArguments("--reap-after is below zero");
  options.keeps_records = flags.IsSet("reap-after") && flags.Duration("reap-after").count() > 0;
  while (options.root.ends_with('/')) options.root.pop_back();
  return options;
}

// The folder as a start wants it: without a fault.
Outcome<ServiceFolder> ReadSoundFolder(const std::string& path, const std::string& node_address) {
  KV_TRY(ServiceFolder folder, OfThisMachine(ReadServiceFolder(path, node_address)));
  if (!folder.bad.empty()) return Fail(ExitCode::kError, folder.bad.front().problem);
  return folder;
}

// The file of --state and what it says.
struct Remembered {
  std::unique_ptr<sync::StateFile> file;
  sync::AgentState state;
};
// A copied file would give this node another one's lease and services.
Outcome<Remembered> OpenState(const std::string& path, const std::string& node) {
  Remembered remembered;
  if (path.empty()) return remembered;
  KV_TRY(remembered.file, OfThisMachine(sync::StateFile::Open(path)));
  KV_TRY(remembered.state, OfThisMachine(remembered.file->Load()));
  const std::string& owner = remembered.state.node;
  if (!owner.empty() && owner != node)
    return Fail(ExitCode::kError, path + ": it is the state of node " + owner + ", not of " + node);
  return remembered;
}

// The agent's state as a line for a terminal; empty while there is no agent.
class Glance {
 public:
  void Show(const AgentControl* control) {
    const std::lock_guard lock(mutex_);
    control_ = control;
  }
  std::string Line() const {
    const std::lock_guard lock(mutex_);
    return control_ == nullptr ? std::string() : StatusLine(control_->Status());
  }

 private:
  mutable std::mutex mutex_;
  const AgentControl* control_ = nullptr;
};

Outcome<void> RunAgent(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (!invocation.args.empty()) return BadArguments("agent run takes no arguments");
  KV_TRY(DnsService::Settings dns, DnsService::SettingsFrom(flags));
  KV_TRY(sync::SyncerOptions options, SyncerOptionsFrom(flags));
  KV_TRY(const ConsulService::Settings http, ConsulService::SettingsFrom(flags, options.node));
  dns.datacenter = http.datacenter;
  if (!http.address.empty()) options.keeps_records = true;
  options.node_details = consul::EncodeNodeDetails(http.node);
  options.registry.take_over = consul::WithCatalogTags;
  SignalWatch hang_up({SIGHUP});
  Glance glance;
  KV_TRY(const auto run, LongRun::Open(invocation, {.about = {{"node", JsonString(options.node)}},
                                                    .prefix = options.node + ": ",
                                                    .progress = [&] { return glance.Line(); }}));
  const std::string& path = flags.String("services");
  ServiceFolder folder;
  if (!path.empty()) {
    KV_TRY(folder, ReadSoundFolder(path, http.node.address));
  }
  KV_TRY(const Remembered remembered, OpenState(flags.String("state"), options.node));
  if (remembered.file != nullptr) {
    options.save = [&](std::string text, sync::SyncerOptions::OnSaved on_saved) {
      remembered.file->Save(std::move(text), std::move(on_saved));
    };
  }
  KV_TRY(const auto client, run->session().Connect());
  RunningAgent agent(*run, *client, std::move(options), remembered.state, path);
  KV_RETURN_IF_ERROR(agent.Start(folder, dns, http));
  glance.Show(&agent.control());
  hang_up.Listen([&](int) { agent.ReloadLater(); });
  agent.WaitForEnd();
  hang_up.Stop();
  glance.Show(nullptr);
  KV_RETURN_IF_ERROR(agent.Stop(flags.Switch("leave-on-stop")));
  return {};
}

std::vector<Flag> RunFlags() {
  std::vector<Flag> flags = {
      {.name = "node", .type = FlagType::kString, .help = "the node's name", .required = true},
      {"node-value", FlagType::kString, "", "value of the node's key, such as an address"},
      {"root", FlagType::kString, "/kvorum", "key prefix of the catalog"},
      {"services", FlagType::kString, "",
       "directory of service definitions, one JSON object in each *.json file"},
      {"state", FlagType::kString, "",
       "state file: a restart within the time to live continues from it without a visible "
       "change"},
      {"ttl", FlagType::kDuration, "30s", "time that the node's keys outlive an agent that died"},
      {"reap-after", FlagType::kDuration, "72h",
       "time that the services of a dead node are kept as records, if given or with --http-address "
       "(0: for ever with --http-address, else not at all)"},
      {.name = "leave-on-stop",
       .help =
           "remove the node's keys at a clean stop instead of letting their time to live expire"},
      LongRun::ServedSocketFlag(),
      LongRun::MetricsFlag()};
  for (Flag& flag : DnsService::Flags()) flags.push_back(std::move(flag));
  for (Flag& flag : ConsulService::Flags()) flags.push_back(std::move(flag));
  return flags;
}

Command RunCommand() {
  return {
      .use = "run --node <name>",
      .brief = "Registers this node's services in the catalog and keeps them current",
      .description =
          R"(Registers the services of a folder, runs their checks, and keeps the catalog equal to both
until it is interrupted. What others change there is set right again. All keys hang on one lease:
they vanish when the agent dies. A second agent of the same name waits until the first is gone.

The folder is read again on SIGHUP and `agent reload`. With --socket, other commands register
services, report and ask.

A service is a JSON object, whose checks are of the kinds ttl, http, tcp and exec:
  {"id":"web1","name":"web","value":"10.0.0.1:80","checks":[
    {"id":"up","kind":"http","target":"http://10.0.0.1/health","interval":"5s"}]}
)",
      .flags = RunFlags(),
      .run = RunAgent};
}

}  // namespace

Command AgentCommand() {
  std::vector<Command> children = {RunCommand()};
  for (Command& command : AgentAskCommands()) children.push_back(std::move(command));
  return {.use = "agent <subcommand>",
          .brief = "Service agents",
          .group = kSyncGroup,
          .children = std::move(children)};
}

}  // namespace kvorum::ctl
