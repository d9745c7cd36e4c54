// kvorumctl snapshot-server subscribe: a subscriber that shows its responses.
#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>

#include "base/executor.h"
#include "base/rng.h"
#include "base/text/go_quote.h"
#include "base/utf8.h"
#include "sync/delta/delta_client.h"
#include "tools/run/long_run.h"
#include "tools/sync/snapshot_events.h"
#include "tools/sync/snapshot_server.h"

namespace kvorum::ctl {
namespace {

// Holds nothing but what the client knows of the resources: their versions.
class NoSink final : public sync::DeltaSink {
 public:
  std::map<std::string, Held> Load(const std::string&) override { return {}; }
  Result<void> Put(const std::string&, const sync::DeltaResource&) override { return {}; }
  void Remove(const std::string&, const std::string&) override {}
};

// The end of the command, which is decided once.
class Ending {
 public:
  void Decide(Outcome<void> outcome) {
    std::call_once(once_, [&] { decided_.set_value(std::move(outcome)); });
  }
  Outcome<void> Wait() { return decided_.get_future().get(); }

 private:
  std::once_flag once_;
  std::promise<Outcome<void>> decided_;
};

// The server would say the same to the next stream.
bool IsFinal(Code code) { return code == Code::kInvalidArgument || code == Code::kUnimplemented; }

Outcome<sync::DeltaClientOptions> DeltaOptionsFrom(const FlagSet& flags, const Session& session) {
  sync::DeltaClientOptions options{.endpoint = flags.String("address"),
                                   .tls = session.options().tls,
                                   .node = flags.String("node"),
                                   .types = flags.Strings("type"),
                                   .seed = EntropySeed()};
  if (options.types.empty()) return BadArguments("--type is empty");
  if (options.endpoint.empty()) return BadArguments("--address is empty");
  const auto check = [](std::string_view flag, const std::string& text) -> Outcome<void> {
    if (text.empty()) return BadArguments(std::string(flag) + " is empty");
    if (!IsValidUtf8(text)) return BadArguments(std::string(flag) + " is not UTF-8");
    return {};
  };
  KV_RETURN_IF_ERROR(check("--node", options.node));
  for (const std::string& type : options.types) KV_RETURN_IF_ERROR(check("--type", type));
  std::ranges::sort(options.types);
  if (const auto twice = std::ranges::adjacent_find(options.types); twice != options.types.end())
    return BadArguments("--type " + GoQuote(*twice) + ": it is given twice");
  if (flags.IsSet("nack")) {
    KV_RETURN_IF_ERROR(check("--nack", flags.String("nack")));
    options.refusal = flags.String("nack");
  }
  return options;
}

// The terminal's line: how the stream is.
struct Progress {
  const std::string node;
  std::atomic<bool> is_connected = false;
  std::atomic<std::uint64_t> responses = 0;

  std::string Line() const {
    return OneLine(node) + (is_connected ? ": connected, " : ": not connected, ") +
           std::to_string(responses) + (responses == 1 ? " response" : " responses");
  }
};

// The stream as the metrics tell it.
class Counted {
 public:
  Counted(sync::Metrics& metrics, std::string node)
      : metrics_(metrics),
        node_(std::move(node)),
        streams_(metrics.Get(sync::GaugeName::kStreams, {node_})) {}

  void Respond(const std::string& type, bool is_refused) {
    streams_->Set(1);
    if (!is_refused) return;
    auto& refusals = refusals_[type];
    if (refusals == nullptr) refusals = metrics_.Get(sync::CounterName::kWdNacks, {node_, type});
    refusals->Add();
  }
  void End() { streams_->Set(0); }

 private:
  sync::Metrics& metrics_;
  const std::string node_;
  const std::shared_ptr<sync::Gauge> streams_;
  std::map<std::string, std::shared_ptr<Counter>> refusals_;  // by type
};

Outcome<void> RunSnapshotServerSubscribe(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (!invocation.args.empty()) return BadArguments("snapshot-server subscribe takes no arguments");
  Progress progress{.node = flags.String("node")};
  KV_TRY(const auto run, LongRun::Open(invocation, {.progress = [&] { return progress.Line(); }}));
  KV_TRY(sync::DeltaClientOptions options, DeltaOptionsFrom(flags, run->session()));

  Reporter& reporter = run->reporter();
  Counted counted(run->metrics(), options.node);
  Ending ending;
  options.on_response = [&](const sync::DeltaResponse& response, const sync::DeltaRequest& answer) {
    progress.is_connected = true;
    ++progress.responses;
    counted.Respond(response.type, answer.refusal.has_value());
    ReportResponse(reporter, response, answer);
  };
  options.on_end = [&](const Error& why, Duration) {
    progress.is_connected = false;
    counted.End();
    if (IsFinal(why.code)) return ending.Decide(Fail(ExitCode::kError, OneLine(why.message)));
    reporter.Warn("the stream ended: " + OneLine(why.message));
  };
  ThreadExecutor executor("subscriber");
  NoSink sink;
  KV_TRY(const auto client,
         OfThisMachine(sync::DeltaClient::Start(executor, sink, std::move(options))));
  const std::stop_callback stop(run->token(), [&] { ending.Decide({}); });
  return ending.Wait();
}

}  // namespace

Command SnapshotServerSubscribeCommand() {
  return {
      .use = "subscribe --node <name> --type <name>",
      .brief = "Subscribes to a snapshot server and shows its responses",
      .description =
          R"(Subscribes to types of a snapshot server, or of another server of the delta discovery protocol,
as a node, until it is interrupted. Each response is a line with its type and nonce, then the names
that are gone behind a minus and the new values behind a plus; with -w json it is an object a line,
whose values are in base64.

A lost stream is begun anew with the versions that are held. The global TLS flags are of this
connection; no cluster is asked.
)",
      .flags = {{.name = "node",
                 .type = FlagType::kString,
                 .help = "the node to subscribe as",
                 .required = true},
                {.name = "type",
                 .type = FlagType::kStrings,
                 .help = "a type to subscribe to; may be given again",
                 .required = true},
                {"address", FlagType::kString, "127.0.0.1:18000",
                 "address of the server, as host:port or unix:path"},
                {"nack", FlagType::kString, "",
                 "refuse every response with this text and keep nothing"},
                LongRun::MetricsFlag()},
      .run = RunSnapshotServerSubscribe};
}

}  // namespace kvorum::ctl
