// kvorumctl snapshot-server run: a control plane over prefixes of the store.
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/executor.h"
#include "base/text/go_quote.h"
#include "base/utf8.h"
#include "sync/delta/control_plane.h"
#include "sync/delta/delta_service.h"
#include "sync/informer/source_types.h"
#include "sync/kernel/bus.h"
#include "sync/kernel/loop.h"
#include "sync/store/client_store.h"
#include "tools/run/long_run.h"
#include "tools/sync/snapshot_events.h"
#include "tools/sync/snapshot_server.h"
#include "tools/sync/snapshot_status.h"

namespace kvorum::ctl {
namespace {

constexpr std::chrono::milliseconds kShortest(10);  // of what the flags may ask for

using Prefixes = std::map<std::string, std::string>;  // by type

Outcome<Prefixes> PrefixesFrom(const FlagSet& flags) {
  Prefixes prefixes;
  for (const std::string& text : flags.Strings("type")) {
    const std::size_t sign = text.find('=');
    const auto refuse = [&](std::string_view why) {
      return BadArguments("--type " + GoQuote(text) + ": " + std::string(why));
    };
    if (sign == std::string::npos) return refuse("it is not NAME=PREFIX");
    const std::string name = text.substr(0, sign);
    const std::string prefix = text.substr(sign + 1);
    if (name.empty()) return refuse("the name is empty");
    if (!IsValidUtf8(name)) return refuse("the name is not UTF-8");
    if (prefix.empty()) return refuse("the prefix is empty");
    if (!prefixes.emplace(name, prefix).second) return refuse("the name is given twice");
  }
  if (prefixes.empty()) return BadArguments("--type is empty");
  return prefixes;
}

Outcome<sync::WatchdogOptions> RhythmFrom(const FlagSet& flags) {
  const sync::WatchdogOptions rhythm{.flush_interval = flags.Duration("flush"),
                                     .full_interval = flags.Duration("full")};
  if (rhythm.flush_interval < kShortest) return BadArguments("--flush must be at least 10ms");
  if (rhythm.full_interval < rhythm.flush_interval)
    return BadArguments("--full must be at least --flush");
  return rhythm;
}

Outcome<sync::DeltaServiceOptions> ListenerFrom(const FlagSet& flags) {
  sync::DeltaServiceOptions listener{
      .address = flags.String("listen"),
      .certificate_file = flags.String("cert-file"),
      .key_file = flags.String("key-file"),
      .client_ca_file = flags.String("trusted-ca-file"),
      .node_from_certificate = flags.Switch("node-from-certificate")};
  if (listener.certificate_file.empty() != listener.key_file.empty())
    return BadArguments("--cert-file and --key-file need each other");
  if (listener.certificate_file.empty() && !listener.client_ca_file.empty())
    return BadArguments("--trusted-ca-file needs --cert-file and --key-file");
  if (listener.node_from_certificate && listener.client_ca_file.empty())
    return BadArguments("--node-from-certificate needs --trusted-ca-file");
  return listener;
}

// The plane with its store, in the order in which they have to end.
class Server {
 public:
  Server(client::Client& client, const Prefixes& prefixes, sync::ControlPlaneOptions options,
         sync::Metrics& metrics)
      : store_(client),
        types_(store_, executor_,
               {.prefixes = prefixes,
                .on_changed = [this](const std::string& type) { changes_.Publish(type); },
                .on_error = options.on_error,
                .metrics = &metrics}),
        plane_(executor_, types_, metrics, std::move(options)) {
    plane_.Follow(changes_);
    types_.Start();
  }

  // Returns the address, with its port.
  Result<std::string> Listen(const sync::DeltaServiceOptions& options) {
    KV_TRY(service_, sync::DeltaService::Listen(plane_, options));
    return service_->address();
  }
  Executor& executor() { return executor_; }
  sync::ControlPlane& plane() { return plane_; }

 private:
  sync::ClientStore store_;
  ThreadExecutor executor_{"snapshot-server"};
  sync::Bus<std::string> changes_;
  sync::SourceTypes types_;
  sync::ControlPlane plane_;
  std::unique_ptr<sync::DeltaService> service_;
};

ControlHandlers HandlersOf(sync::ControlPlane& plane) {
  ControlHandlers handlers;
  handlers.emplace(kSnapshotStatusCommand, [&plane](const sync::Json&, ControlReply reply) {
    plane.Ask([reply = std::move(reply)](std::vector<sync::NodeState> states) mutable {
      reply.Stream([states = std::move(states), next = std::size_t{0}]() mutable {
        return next < states.size() ? std::optional(SnapshotStatusItem(states[next++]))
                                    : std::nullopt;
      });
    });
  });
  return handlers;
}

// The terminal's line: how the subscribers were a second ago.
class Overview {
 public:
  // Until the loop is stopped, on the server's executor.
  std::unique_ptr<sync::Loop> Follow(Server& server) {
    auto loop = std::make_unique<sync::Loop>(server.executor(), [this, &server](TimePoint now) {
      server.plane().Ask([this](const std::vector<sync::NodeState>& states) {
        const std::lock_guard lock(mutex_);
        line_ = SnapshotStatusLine(states);
      });
      return now + std::chrono::seconds(1);
    });
    loop->Wake();
    return loop;
  }
  std::string Line() {
    const std::lock_guard lock(mutex_);
    return line_;
  }

 private:
  std::mutex mutex_;
  std::string line_ = "starting";
};

Outcome<void> RunSnapshotServer(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (!invocation.args.empty()) return BadArguments("snapshot-server run takes no arguments");
  KV_TRY(const Prefixes prefixes, PrefixesFrom(flags));
  KV_TRY(const sync::WatchdogOptions rhythm, RhythmFrom(flags));
  KV_TRY(const sync::DeltaServiceOptions listener, ListenerFrom(flags));
  if (flags.Duration("send-timeout") < kShortest)
    return BadArguments("--send-timeout must be at least 10ms");
  Overview overview;
  KV_TRY(const auto run, LongRun::Open(invocation, {.progress = [&] { return overview.Line(); }}));
  KV_TRY(const auto client, run->session().Connect());

  Reporter& reporter = run->reporter();
  sync::ControlPlaneOptions options{.watchdog = rhythm,
                                    .send_timeout = flags.Duration("send-timeout")};
  for (const auto& [type, prefix] : prefixes) options.types.push_back(type);
  options.on_error = [&](const Error& error) { reporter.Warn(OneLine(error.message)); };
  options.on_refusal = [&](const std::string& node, const sync::SubscriptionState& state) {
    ReportRefusal(reporter, node, state);
  };
  Server server(*client, prefixes, std::move(options), run->metrics());
  const auto followed = overview.Follow(server);
  KV_TRY(const std::string address, OfThisMachine(server.Listen(listener)));
  ReportListening(reporter, address);
  KV_RETURN_IF_ERROR(run->Serve(server.executor(), HandlersOf(server.plane())));
  run->WaitForStop();
  run->StopServing();
  return {};
}

}  // namespace

Command SnapshotServerRunCommand() {
  return {
      .use = "run --type <name>=<prefix>",
      .brief = "Serves prefixes of the store to subscribers",
      .description =
          R"(Serves each type, which is a prefix of the store, by the delta discovery protocol
(envoy.service.discovery.v3, DeltaAggregatedResources) until it is interrupted. Keys behind the
prefix are the resources' names, and a version is the hash of a value's bytes.

What changes within --flush is one pass, in which each subscriber is sent what differs from what it
holds. A subscriber that comes back with its versions gets nothing that it has. One that does not
read within --send-timeout is ended; a second stream of a node ends the first. With
--node-from-certificate a subscriber is the node that its certificate names, and no other; without
it a node has the name that it gives.
)",
      .flags = {{.name = "type",
                 .type = FlagType::kStrings,
                 .help = "a type and its prefix, as dp=/dp/; may be given again",
                 .required = true},
                {"listen", FlagType::kString, "127.0.0.1:18000",
                 "address for subscribers, as host:port or unix:path (port 0: any)"},
                {"flush", FlagType::kDuration, "1s",
                 "time to collect changes before they are sent"},
                {"full", FlagType::kDuration, "60s", "interval at which all snapshots are rebuilt"},
                {"send-timeout", FlagType::kDuration, "60s",
                 "time after which a subscriber that does not read a response is disconnected"},
                {"cert-file", FlagType::kString, "", "server certificate for subscribers, in PEM"},
                {"key-file", FlagType::kString, "", "key of the server certificate, in PEM"},
                {"trusted-ca-file", FlagType::kString, "",
                 "CA certificates, in PEM; subscribers need a certificate issued by one of them"},
                {.name = "node-from-certificate",
                 .help = "take a subscriber's node name from the common name of its certificate"},
                LongRun::ServedSocketFlag(),
                LongRun::MetricsFlag()},
      .run = RunSnapshotServer};
}

}  // namespace kvorum::ctl
