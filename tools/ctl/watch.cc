#include <cstdlib>
#include <istream>
#include <memory>
#include <mutex>
#include <ostream>
#include <thread>
#include <utility>

#include "base/api_errors.h"
#include "base/text/go_quote.h"
#include "client/error_text.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/session/txn_input.h"
#include "tools/session/watch_args.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/run_program.h"

namespace kvorum::ctl {
namespace {

std::string QuotedList(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + GoQuote(word);
  return "[" + text + "]";
}

std::string WhyCanceled(const etcdserverpb::WatchResponse& response) {
  if (response.compact_revision() != 0) return std::string(kErrCompacted.message);
  if (!response.cancel_reason().empty()) return response.cancel_reason();
  return std::string(kErrFutureRev.message);
}

// Prints the responses of watches. Several may print at a time; each response is printed whole.
class WatchOutput {
 public:
  WatchOutput(World& world, Printer& printer) : world_(world), printer_(printer) {}

  Outcome<void> Show(const etcdserverpb::WatchResponse& response,
                     const std::vector<std::string>& command) {
    const std::lock_guard lock(mutex_);
    if (response.canceled())
      world_.err << "watch was canceled (" << WhyCanceled(response) << ")" << std::endl;
    const bool is_progress =
        response.events().empty() && !response.canceled() && !response.created();
    if (is_progress) world_.out << "progress notify: " << response.header().revision() << '\n';
    // A created response is not shown, as in etcdctl.
    if (!response.created() || response.canceled()) {
      KV_RETURN_IF_ERROR(printer_.Watch(response));
    }
    world_.out.flush();
    if (command.empty()) return {};
    for (const mvccpb::Event& event : response.events()) {
      const auto ran =
          RunForEvent(command, world_.environment, response.header().revision(), event);
      if (ran) continue;
      world_.err << "command " << QuotedList(command) << " error (" << ran.error() << ")\n";
      return Fail(ExitCode::kError, "");
    }
    return {};
  }

 private:
  World& world_;
  Printer& printer_;
  std::mutex mutex_;
};

// Follows the watch until the server ends it, or something fails.
Outcome<void> Follow(client::Watch& watch, const std::vector<std::string>& command,
                     WatchOutput& output, World& world) {
  Outcome<void> shown;
  const auto ended = watch.Run([&](const etcdserverpb::WatchResponse& response) -> Result<void> {
    shown = output.Show(response, command);
    if (shown.has_value()) return {};
    return kvorum::Fail(Code::kCanceled, "");
  });
  if (!shown.has_value()) return shown;
  if (!ended.has_value())
    world.err << "watch was canceled (" << client::ErrorText(ended.error()) << ")" << std::endl;
  return Fail(ExitCode::kInterrupted, "watch is canceled by the server");
}

client::CallOptions WithLeader() { return {.require_leader = true}; }

struct Running {
  std::unique_ptr<client::Watch> watch;
  std::thread thread;
};

// One line of the interactive mode; a malformed line is reported and skipped.
Outcome<void> TakeLine(const std::string& text, Invocation& invocation,
                       const WatchEnvironment& environment, client::Client& client,
                       WatchOutput& output, std::vector<Running>& running) {
  World& world = invocation.world;
  KV_TRY(const auto words, SplitWords(text));
  if (words.empty()) {
    world.err << "Invalid command: " << text << " (watch and progress supported)" << std::endl;
    return {};
  }
  if (words.front() == "progress") {
    for (const Running& each : running) each.watch->RequestProgress();
    return {};
  }
  if (words.front() != "watch") {
    world.err << "Invalid command " << text << " (only support watch)" << std::endl;
    return {};
  }
  if (words.size() < 2 && environment.key.empty()) {
    world.err << "Invalid command " << text << " (command type or key is not provided)"
              << std::endl;
    return {};
  }
  FlagSet flags;
  for (const Flag& flag : WatchFlags()) flags.Add(flag);
  std::optional<std::size_t> separator;
  const auto args = flags.Parse(std::span(words).subspan(1), &separator);
  if (!args) return BadArguments(args.error().message);
  auto line = MakeWatch(flags, *args, separator, environment);
  if (!line && line.error().message == kRangeAndPrefix) {
    world.err << "Invalid command " << text << " (" << kRangeAndPrefix << ")" << std::endl;
    return {};
  }
  if (!line) return std::unexpected(line.error());
  Running& started = running.emplace_back();
  started.watch = client.NewWatch(line->request, WithLeader());
  started.thread = std::thread(
      [&world, &output, watch = started.watch.get(), command = std::move(line->command)] {
        const auto ended = Follow(*watch, command, output, world);
        if (ended.error().code != ExitCode::kError) return;
        world.out.flush();
        std::_Exit(static_cast<int>(ended.error().code));  // a command failed: the others end too
      });
  return {};
}

Outcome<void> RunInteractive(Invocation& invocation, const WatchEnvironment& environment,
                             client::Client& client, Printer& printer) {
  // Reading must not flush what a watch is writing on its own thread.
  invocation.world.in.tie(nullptr);
  WatchOutput output(invocation.world, printer);
  std::vector<Running> running;
  Outcome<void> result = Fail(ExitCode::kInvalidInput, "error reading watch request line: EOF");
  std::string line;
  while (std::getline(invocation.world.in, line) && !invocation.world.in.eof()) {
    auto taken = TakeLine(line, invocation, environment, client, output, running);
    if (taken.has_value()) continue;
    result = std::move(taken);
    break;
  }
  for (Running& each : running) {
    each.watch->Cancel();
    each.thread.join();
  }
  return result;
}

Outcome<void> RunWatch(Invocation& invocation) {
  KV_TRY(const auto environment, ReadWatchEnvironment(invocation.world.environment));
  const bool interactive = invocation.flags.Switch("interactive");
  Outcome<WatchLine> line;
  if (!interactive) {
    line = MakeWatch(invocation.flags, invocation.args, invocation.separator, environment);
    if (!line) return std::unexpected(line.error());
  }
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  if (interactive) return RunInteractive(invocation, environment, *client, session.printer());
  WatchOutput output(invocation.world, session.printer());
  const auto watch = client->NewWatch(line->request, WithLeader());
  return Follow(*watch, line->command, output, invocation.world);
}

}  // namespace

Command WatchCommand() {
  return {
      .use = "watch [options] [key or prefix] [range_end] [--] [exec-command arg1 arg2 ...]",
      .brief = "Watches events stream on keys or prefixes",
      .description =
          R"(Prints each event on a key, a range, or the keys with a prefix, until it is interrupted.

What follows `--` is a command, run for each event with ETCD_WATCH_REVISION, ETCD_WATCH_EVENT_TYPE,
ETCD_WATCH_KEY and ETCD_WATCH_VALUE in its environment. The environment variables ETCDCTL_WATCH_KEY
and ETCDCTL_WATCH_RANGE_END may stand for the arguments.

With --interactive, lines of `watch` with its arguments and flags are read from standard input, and
`progress` asks how far the watches are.
)",
      .group = kKeyValueGroup,
      .flags = WatchFlags(),
      .run = RunWatch};
}

}  // namespace kvorum::ctl
