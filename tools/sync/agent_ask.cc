#include "tools/sync/agent_ask.h"

#include <charconv>
#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "base/file_system.h"
#include "sync/agent/entry.h"
#include "tools/run/control_client.h"
#include "tools/run/long_run.h"

namespace kvorum::ctl {
namespace {

constexpr std::uint64_t kMaxEntryBytes = std::uint64_t{1} << 20U;

// True if answers are shown as JSON objects.
Outcome<bool> InJson(Invocation& invocation) {
  KV_TRY(const Session session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  return format == "json";
}

Outcome<sync::Json> AskAgent(Invocation& invocation, const sync::Json& request,
                             const AskOptions& options = {}) {
  return AskControl(invocation.flags.String("socket"), request, options);
}

// Asks, and says nothing but, in JSON, that it is done.
Outcome<void> AskAndShow(Invocation& invocation, const sync::Json& request) {
  KV_TRY(const bool in_json, InJson(invocation));
  KV_TRY(const sync::Json answer, AskAgent(invocation, request));
  if (in_json) {
    invocation.world.out << ControlText(answer) << '\n';
    return {};
  }
  for (const auto& [name, value] : answer.items())
    invocation.world.out << name << '\t' << ControlText(value) << '\n';
  return {};
}

Outcome<std::string> ReadEntryText(Invocation& invocation, const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(invocation.world.in), {});
  return OfThisMachine(ReadWholeFile(PosixFileSystem(), file, kMaxEntryBytes));
}

Outcome<void> Register(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "agent register takes one file, or -"));
  const std::string& file = invocation.args.front();
  KV_TRY(const std::string text, ReadEntryText(invocation, file));
  auto entry = sync::ParseObject(file, text);
  if (!entry) return Fail(ExitCode::kError, entry.error().message);
  return AskAndShow(invocation, {{"command", "register"}, {"entry", *std::move(entry)}});
}

Outcome<void> Deregister(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "agent deregister takes an entry's id"));
  return AskAndShow(invocation, {{"command", "deregister"}, {"id", invocation.args.front()}});
}

// id, name, status, sync, value
std::string RowOf(const sync::Json& item) {
  std::string row;
  for (const char* member : {"id", "name", "status", "sync", "value"}) {
    if (!row.empty()) row += '\t';
    // A value of other bytes stands in base64.
    const auto bytes = sync::BytesOf(item, member);
    row += sync::CleanOutput(bytes.value_or(std::string()));
  }
  return row;
}

Outcome<void> ListEntries(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "agent list takes no arguments"));
  KV_TRY(const bool in_json, InJson(invocation));
  const sync::Json request{{"command", "list"}, {"all", invocation.flags.Switch("all")}};
  const auto show = [&](const sync::Json& item) {
    invocation.world.out << (in_json ? ControlText(item) : RowOf(item)) << '\n';
    return invocation.world.out.good();
  };
  KV_TRY(const sync::Json end, AskAgent(invocation, request, {.on_item = show}));
  return {};
}

Outcome<void> Check(Invocation& invocation) {
  KV_RETURN_IF_ERROR(
      CheckCount(invocation, 3, "agent check takes an entry's id, a check's id and a status"));
  sync::Json request{{"command", "check"},
                     {"id", invocation.args[0]},
                     {"check", invocation.args[1]},
                     {"status", invocation.args[2]}};
  sync::SetBytes(request, "output", invocation.flags.String("output"));
  return AskAndShow(invocation, request);
}

std::string LeaseHex(std::int64_t number) {
  std::string text(16, '\0');
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), static_cast<std::uint64_t>(number), 16);
  return text.substr(0, static_cast<std::size_t>(end - text.data()));
}

// A member as people read it: the lease as `lease list` shows it, and what there is none of as "-".
std::string Shown(const std::string& name, const sync::Json& value) {
  if (name == "lease" && value.is_number_integer() && value != 0)
    return LeaseHex(value.get<std::int64_t>());
  if (value.is_null() || (name == "lease" && value == 0)) return "-";
  if (value.is_string()) {
    const std::string text = sync::CleanOutput(value.get<std::string>());
    return text.empty() ? "-" : text;
  }
  return ControlText(value);
}

Outcome<void> AskForStatus(Invocation& invocation, const char* command) {
  KV_TRY(const bool in_json, InJson(invocation));
  KV_TRY(const sync::Json status, AskAgent(invocation, {{"command", command}}));
  if (in_json) {
    invocation.world.out << ControlText(status) << '\n';
    return {};
  }
  for (const auto& [name, value] : status.items())
    invocation.world.out << name << '\t' << Shown(name, value) << '\n';
  return {};
}

// A command without arguments.
std::function<Outcome<void>(Invocation&)> Plain(const char* name, bool shows_status) {
  return [name, shows_status](Invocation& invocation) -> Outcome<void> {
    KV_RETURN_IF_ERROR(
        CheckCount(invocation, 0, std::string("agent ") + name + " takes no arguments"));
    if (shows_status) return AskForStatus(invocation, name);
    return AskAndShow(invocation, {{"command", name}});
  };
}

Command Asking(Command command) {
  command.flags.insert(command.flags.begin(), SocketFlag());
  return command;
}

}  // namespace

std::vector<Command> AgentAskCommands() {
  std::vector<Command> commands = {
      {.use = "register <file>",
       .brief = "Registers a service at a running agent",
       .description =
           R"(Reads a service, a JSON object as `agent run --help` shows it, from the file or, for -, from the
standard input. It takes the place of the one with its id.
)",
       .run = Register},
      {.use = "deregister <id>", .brief = "Removes a service from an agent", .run = Deregister},
      {.use = "list [options]",
       .brief = "Lists an agent's services",
       .description =
           R"(Shows id, name, status, sync and value of each. sync is synced, dirty (still to be written), blocked
(refused for want of permission until the next full sync) or deleting.
)",
       .flags = {{.name = "all", .help = "include services that are being removed"}},
       .run = ListEntries},
      {.use = "check <id> <check> <pass|warn|fail>",
       .brief = "Reports the status of a ttl check",
       .flags = {{"output", FlagType::kString, "", "output of the check"}},
       .argument_choices = {"pass", "warn", "fail"},
       .choices_at = 2,
       .run = Check},
      {.use = "pause",
       .brief = "Holds back an agent's writes",
       .description =
           R"(What changes until `agent resume` becomes visible together. The lease is renewed meanwhile.
)",
       .run = Plain("pause", false)},
      {.use = "resume", .brief = "Lets a paused agent write", .run = Plain("resume", false)},
      {.use = "sync",
       .brief = "Runs a full sync of an agent with the store now",
       .description = R"(Waits until that has succeeded or failed, and shows the agent's status.
)",
       .run = Plain("sync", true)},
      {.use = "reload",
       .brief = "Reloads an agent's directory of services",
       .description =
           R"(As SIGHUP does. A file that does not parse is named, and its service stays as it was.
)",
       .run = Plain("reload", false)},
      {.use = "status", .brief = "Shows the state of an agent", .run = Plain("status", true)},
      {.use = "leave",
       .brief = "Removes an agent's keys and stops it",
       .run = Plain("leave", false)}};
  for (Command& command : commands) command = Asking(std::move(command));
  return commands;
}

}  // namespace kvorum::ctl
