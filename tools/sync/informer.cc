// kvorumctl informer: a cached copy of a prefix, and questions to it.
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/base64.h"
#include "tools/run/control.h"
#include "tools/run/control_client.h"
#include "tools/run/long_run.h"
#include "tools/shell/command_groups.h"
#include "tools/sync/informer_run.h"
#include "tools/sync/sync_commands.h"

namespace kvorum::ctl {
namespace {

using sync::Json;

Outcome<bool> WantsJson(const Invocation& invocation) {
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  return format == "json";
}

// The form of `get`: the key on a line, and the value on the next.
Outcome<void> ShowObject(World& world, const Json& object, bool in_json) {
  if (in_json) {
    world.out << ControlText(object) << '\n';
    return {};
  }
  KV_TRY(const std::string key, sync::BytesOf(object, "key"));
  world.out << key << '\n';
  if (!object.contains("value") && !object.contains("value_base64")) return {};
  KV_TRY(const std::string value, sync::BytesOf(object, "value"));
  world.out << value << '\n';
  return {};
}

Outcome<void> GetObject(Invocation& invocation) {
  if (invocation.args.size() != 1) return BadArguments("informer get takes one key");
  KV_TRY(const bool in_json, WantsJson(invocation));
  Json request{{"command", "get"}, {"consistent", invocation.flags.Switch("consistent")}};
  sync::SetBytes(request, "key", invocation.args.front());
  KV_TRY(const Json answer, AskControl(invocation.flags.String("socket"), request));
  const auto kv = answer.find("kv");
  return kv == answer.end() ? Outcome<void>() : ShowObject(invocation.world, *kv, in_json);
}

Outcome<void> ListObjects(Invocation& invocation) {
  if (!invocation.args.empty()) return BadArguments("informer list takes no arguments");
  KV_TRY(const bool in_json, WantsJson(invocation));
  Json request{{"command", "list"}, {"keys_only", invocation.flags.Switch("keys-only")}};
  if (const std::string& by = invocation.flags.String("by"); !by.empty()) {
    const std::size_t equals = by.find('=');
    if (equals == std::string::npos) return BadArguments("--by is not name=value: " + by);
    request["index"] = by.substr(0, equals);
    request["value"] = by.substr(equals + 1);
  }
  Outcome<void> shown;
  KV_RETURN_IF_ERROR(
      AskControl(invocation.flags.String("socket"), request, {.on_item = [&](const Json& item) {
                   shown = ShowObject(invocation.world, item, in_json);
                   return shown.has_value();
                 }}));
  return shown;
}

Outcome<void> Status(Invocation& invocation) {
  if (!invocation.args.empty()) return BadArguments("informer status takes no arguments");
  KV_TRY(const bool in_json, WantsJson(invocation));
  KV_TRY(const Json status, AskControl(invocation.flags.String("socket"), {{"command", "status"}}));
  if (in_json) {
    invocation.world.out << ControlText(status) << '\n';
    return {};
  }
  for (const auto& [name, value] : status.items()) {
    invocation.world.out << name << '\t'
                         << (value.is_string() ? value.get<std::string>() : ControlText(value))
                         << '\n';
  }
  return {};
}

}  // namespace

Command InformerCommand() {
  return {
      .use = "informer <subcommand>",
      .brief = "A cached copy of a prefix",
      .group = kSyncGroup,
      .children = {
          {.use = "run [options] <prefix>",
           .brief = "Keeps a copy of a prefix and reports its changes",
           .description =
               R"(Lists the keys that begin so, follows them until it is interrupted, and shows each change as a
line: add, update, delete, and resync for an object that is sent again. With `-w json` a line has
the value too. A reader that is slow sees the newest value of each key.

The command of --exec is run for one change at a time, with the value (of a deleted key the last
one) on its standard input and KVORUM_EVENT, KVORUM_KEY, KVORUM_KEY_BASE64 and KVORUM_MOD_REVISION
in its environment; KVORUM_KEY is empty if the key has a zero byte. A key that changes while it
waits is run once, with its newest value. A failure is shown, and the next change follows. Its
output goes to the error stream.

An index has the text that stands at a JSON pointer (RFC 6901), of a list each of its elements.
Values that are not JSON are in no index.
)",
           .flags = InformerRunFlags(),
           .run = RunInformer},
          {.use = "get [options] <key>",
           .brief = "Shows a key in the copy of a running informer",
           .flags = {{.name = "consistent",
                      .help = "see every put that returned before: ask the server for its revision "
                              "and wait until the copy has it"},
                     SocketFlag()},
           .run = GetObject},
          {.use = "list [options]",
           .brief = "Lists the content of a running informer",
           .flags = {{"by", FlagType::kString, "",
                      "name=value: only objects with this value in this index"},
                     {.name = "keys-only", .help = "no values"},
                     SocketFlag()},
           .run = ListObjects},
          {.use = "status",
           .brief = "Shows the progress of a running informer",
           .flags = {SocketFlag()},
           .run = Status}}};
}

}  // namespace kvorum::ctl
