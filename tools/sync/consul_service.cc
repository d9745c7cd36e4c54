#include "tools/sync/consul_service.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <stop_token>
#include <utility>

#include "base/executor.h"
#include "consul/agent/agent_routes.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/catalog_routes.h"
#include "consul/http/catalog_writes.h"
#include "consul/http/listener.h"
#include "consul/http/other_routes.h"
#include "consul/http/reading.h"
#include "consul/http/registration.h"
#include "consul/http/router.h"
#include "consul/http/store_access.h"
#include "consul/http/token_guard.h"
#include "consul/kv/janitor.h"
#include "consul/kv/kv_changes.h"
#include "consul/kv/kv_routes.h"
#include "consul/kv/session_routes.h"
#include "consul/model/api_json.h"
#include "proto/rpc.pb.h"
#include "sync/kernel/loop.h"
#include "sync/store/client_store.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

constexpr std::chrono::minutes kCloseIdleEvery(1);
constexpr int kCallThreads = 4;
// The level of Consul's API that clients may expect; they decide on features by it.
constexpr std::string_view kVersion = "1.20.0";

// The first address of this machine that others can reach, of IPv4 if there is one.
std::string OwnAddress() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "127.0.0.1";
  std::string four;
  std::string six;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> text{};
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(each->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) !=
        0)
      continue;
    const std::string address = text.data();
    if (address.starts_with("127.") || address == "::1" || address.starts_with("fe80")) continue;
    std::string& best = family == AF_INET ? four : six;
    if (best.empty()) best = address;
  }
  freeifaddrs(list);
  if (!four.empty()) return four;
  return six.empty() ? "127.0.0.1" : six;
}

// The server that leads, and all, by the hosts of their client URLs.
Result<consul::ServerList> AskServers(client::Client& client, std::stop_token stop) {
  auto call = client::CallOptions::Within(std::chrono::seconds(5));
  call.stop = std::move(stop);
  KV_TRY(const auto members, client.MemberList({}, call));
  KV_TRY(const auto status, client.Status(call));
  consul::ServerList servers;
  for (const auto& member : members.members()) {
    if (member.clienturls().empty()) continue;
    std::string address = consul::ServerAddress(member.clienturls(0));
    if (address.empty()) continue;
    if (member.id() == status.leader()) servers.leader = address;
    servers.peers.push_back(std::move(address));
  }
  return servers;
}

Outcome<consul::NodeDetails> NodeFrom(const FlagSet& flags, const std::string& node) {
  consul::NodeDetails details{.id = flags.String("node-id"),
                              .address = flags.String("node-address")};
  if (details.id.empty()) details.id = consul::NodeIdOf(node);
  if (!consul::IsUuid(details.id)) return BadArguments("--node-id is not a UUID");
  if (details.address.empty()) {
    const std::string& value = flags.String("node-value");
    details.address = consul::IpVersion(value) != 0 ? value : OwnAddress();
  }
  details.tagged_addresses = consul::TaggedAddressesOf(details.address);
  details.meta["consul-network-segment"] = "";
  for (const std::string& text : flags.Strings("node-meta")) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos)
      return BadArguments("--node-meta is not KEY=VALUE: " + text);
    details.meta[text.substr(0, sign)] = text.substr(sign + 1);
  }
  return details;
}

}  // namespace

std::vector<Flag> ConsulService::Flags() {
  return {
      {"http-address", FlagType::kString, "",
       "answer Consul's HTTP API at this ADDRESS:PORT, such as 127.0.0.1:8500"},
      {"http-cert-file", FlagType::kString, "", "server certificate of the HTTP API, in PEM"},
      {"http-key-file", FlagType::kString, "", "key of that certificate, in PEM"},
      {"http-trusted-ca-file", FlagType::kString, "",
       "CA certificates, in PEM; clients of the HTTP API need a certificate issued by one of them"},
      {"http-max-conns-per-client", FlagType::kUint, "200",
       "connections to the HTTP API from one client address; more are answered 429 (0: no limit)"},
      {.name = "http-read-only", .help = "refuse everything over HTTP that writes"},
      {"http-kv-root", FlagType::kString, "",
       "key prefix of /v1/kv (default: kv/ below the catalog's root)"},
      {"datacenter", FlagType::kString, "dc1", "the data center's name in the HTTP API"},
      {"node-id", FlagType::kString, "",
       "the node's UUID in the HTTP API (default: made of its name)"},
      {"node-address", FlagType::kString, "",
       "the node's address in the HTTP API (default: --node-value if it is an IP, else this "
       "machine's first)"},
      {"node-meta", FlagType::kStrings, "",
       "KEY=VALUE about the node in the HTTP API; may be given again"}};
}

Outcome<ConsulService::Settings> ConsulService::SettingsFrom(const FlagSet& flags,
                                                             const std::string& node) {
  Settings settings{.address = flags.String("http-address"),
                    .certificate_file = flags.String("http-cert-file"),
                    .key_file = flags.String("http-key-file"),
                    .client_ca_file = flags.String("http-trusted-ca-file"),
                    .is_read_only = flags.Switch("http-read-only"),
                    .kv_root = flags.String("http-kv-root"),
                    .datacenter = flags.String("datacenter")};
  if (settings.certificate_file.empty() != settings.key_file.empty())
    return BadArguments("--http-cert-file and --http-key-file need each other");
  if (settings.certificate_file.empty() && !settings.client_ca_file.empty())
    return BadArguments("--http-trusted-ca-file needs --http-cert-file and --http-key-file");
  const std::uint64_t most = flags.Uint("http-max-conns-per-client");
  if (most > consul::Listener::kMostConnections)
    return BadArguments("--http-max-conns-per-client is more than " +
                        std::to_string(consul::Listener::kMostConnections));
  settings.max_connections_per_client = static_cast<std::uint32_t>(most);
  if (settings.datacenter.empty()) return BadArguments("--datacenter is empty");
  if (!settings.kv_root.empty() && !settings.kv_root.ends_with('/')) settings.kv_root += '/';
  settings.reap_after = flags.Duration("reap-after");
  KV_TRY(settings.node, NodeFrom(flags, node));
  return settings;
}

// Late answers of the store may still come when the routes are gone; they find the loops, which
// begin first and end last, and nothing else.
class ConsulService::Impl {
 public:
  Impl(const Settings& settings, Parts its_parts)
      : parts_(std::move(its_parts)),
        kv_root_(settings.kv_root.empty() ? parts_.root + "/kv/" : settings.kv_root),
        store_(parts_.client, {.call_threads = kCallThreads}),
        tokens_(store_, consul::ConnectWith(parts_.run.session().options()), executor_.clock(), {}),
        copy_(store_, executor_, {.root = parts_.root, .on_report = Reporting()}),
        reading_({.copy = copy_,
                  .access = tokens_,
                  .executor = executor_,
                  .registry_prefix = consul::RegistryKeys(parts_.root).prefix(),
                  .datacenter = settings.datacenter}),
        changes_(store_, executor_,
                 {.prefix = kv_root_,
                  .on_error = [report = Reporting()](
                                  const Error& error) { report("KV's watch: " + error.message); }}),
        kv_({.copy = copy_,
             .reading = reading_,
             .access = tokens_,
             .changes = changes_,
             .executor = executor_,
             .root = parts_.root,
             .kv_root = kv_root_,
             .datacenter = settings.datacenter}),
        sessions_({.copy = copy_,
                   .reading = reading_,
                   .access = tokens_,
                   .store = store_,
                   .executor = executor_,
                   .node = parts_.node,
                   .root = parts_.root,
                   .kv_root = kv_root_,
                   .datacenter = settings.datacenter}),
        janitor_({.copy = copy_,
                  .store = store_,
                  .executor = executor_,
                  .node = parts_.node,
                  .root = parts_.root,
                  .kv_root = kv_root_,
                  .reap_after = settings.reap_after,
                  .on_report = Reporting()}),
        agent_(AgentPartsOf(settings)),
        router_({.is_read_only = settings.is_read_only}),
        idle_(executor_, [this](TimePoint now) {
          tokens_.CloseIdle();
          return now + kCloseIdleEvery;
        }) {
    AddRoutes(settings);
  }

  ~Impl() {
    parts_.aliases.SetCatalog(nullptr);
    // The waiting requests are answered, and then no handler runs any more.
    copy_.Stop();
    changes_.Stop();
    if (listener_ != nullptr) listener_->Stop();
    janitor_.Stop();
    idle_.Stop();
    stop_calls_.request_stop();
    calls_.Stop();
  }

  Outcome<void> Listen(const Settings& settings) {
    auto listener = consul::Listener::Open(
        router_, {.address = settings.address,
                  .certificate_file = settings.certificate_file,
                  .key_file = settings.key_file,
                  .client_ca_file = settings.client_ca_file,
                  .max_connections_per_client = settings.max_connections_per_client});
    if (!listener && listener.error().code == Code::kInvalidArgument)
      return BadArguments(listener.error().message);
    KV_TRY(listener_, OfThisMachine(std::move(listener)));
    copy_.Start();
    parts_.aliases.SetCatalog(&copy_);
    changes_.Start();
    janitor_.Start();
    idle_.Wake();
    const std::string& address = listener_->address();
    Reporter& reporter = parts_.run.reporter();
    reporter.Event("http", {{"address", JsonString(address)}}, "HTTP at " + address);
    if (!listener_->is_loopback() && !listener_->is_secure())
      reporter.Warn("the HTTP API at " + address +
                    " is reached without TLS: everybody on the way reads tokens and values");
    return {};
  }

 private:
  std::function<void(const std::string&)> Reporting() const {
    return [&run = parts_.run](const std::string& text) { run.reporter().Warn(text); };
  }

  consul::AgentParts AgentPartsOf(const Settings& settings) {
    return {.syncer = parts_.syncer,
            .checks = parts_.checks,
            .executor = executor_,
            .node = parts_.node,
            .details = settings.node,
            .datacenter = settings.datacenter,
            .version = std::string(kVersion),
            .scripts = consul::Scripts::kLocal,
            .nodes = [this] { return copy_.Nodes(); },
            .on_reload = parts_.on_reload,
            .on_left = parts_.on_left,
            .copy = &copy_,
            .on_force_leave =
                [this](const std::string& node, consul::AgentParts::OnRemoved on_removed) {
                  janitor_.RemoveNode(node, std::move(on_removed));
                }};
  }

  void AddRoutes(const Settings& settings) {
    const consul::CatalogReadParts reads{
        .copy = copy_, .reading = reading_, .node = parts_.node, .datacenter = settings.datacenter};
    router_.Add(consul::CatalogReadRoutes(reads));
    router_.Add(consul::HealthRoutes(reads));
    router_.Add(consul::CatalogWriteRoutes({.copy = copy_,
                                            .access = tokens_,
                                            .keys = consul::RegistryKeys(parts_.root),
                                            .datacenter = settings.datacenter}));
    router_.Add(consul::OtherRoutes(
        {.ask_servers =
             [this](consul::OtherParts::OnServers on_servers) {
               calls_.Post([this, on_servers = std::move(on_servers)]() mutable {
                 on_servers(AskServers(parts_.client, stop_calls_.get_token()));
               });
             },
         .datacenter = settings.datacenter}));
    router_.Add(consul::GuardedByToken(agent_.Routes(), tokens_,
                                       consul::RegistryKeys(parts_.root).prefix(), executor_));
    router_.Add(kv_.Routes());
    router_.Add(sessions_.Routes());
  }

  const Parts parts_;
  const std::string kv_root_;
  std::unique_ptr<consul::Listener> listener_;
  ThreadExecutor executor_{"http-catalog"};
  ThreadExecutor calls_{"http-calls"};  // of the client, which block
  std::stop_source stop_calls_;
  sync::ClientStore store_;
  consul::TokenStores tokens_;
  consul::CatalogCopy copy_;
  consul::Reading reading_;
  consul::KvChanges changes_;
  consul::KvRoutes kv_;
  consul::SessionRoutes sessions_;
  consul::Janitor janitor_;
  consul::AgentRoutes agent_;
  consul::Router router_;
  sync::Loop idle_;
};

ConsulService::ConsulService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ConsulService::~ConsulService() = default;

Outcome<std::unique_ptr<ConsulService>> ConsulService::Open(const Settings& settings, Parts parts) {
  std::unique_ptr<ConsulService> service(
      new ConsulService(std::make_unique<Impl>(settings, std::move(parts))));
  KV_RETURN_IF_ERROR(service->impl_->Listen(settings));
  return service;
}

}  // namespace kvorum::ctl
