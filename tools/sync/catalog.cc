// kvorumctl catalog: what agents have registered.
#include "sync/agent/catalog.h"

#include <map>
#include <optional>
#include <ostream>

#include "base/executor.h"
#include "sync/store/client_store.h"
#include "tools/run/long_run.h"
#include "tools/session/key_pager.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/sync/catalog_rows.h"
#include "tools/sync/catalog_watch.h"
#include "tools/sync/dns_service.h"
#include "tools/sync/sync_commands.h"

namespace kvorum::ctl {
namespace {

sync::CatalogKeys CatalogKeysOf(const Invocation& invocation) {
  std::string root = invocation.flags.String("root");
  while (root.ends_with('/')) root.pop_back();
  return sync::CatalogKeys(std::move(root));
}

// A listing in progress: the keys of a prefix, and rows as text between tabs or JSON objects.
struct Listing {
  Session session;
  std::unique_ptr<client::Client> client;
  World& world;
  bool in_json = false;

  KeyPager Pages(const std::string& prefix, bool keys_only) const {
    return KeyPager(*client, {.prefix = prefix, .keys_only = keys_only},
                    [this] { return session.Call(); });
  }
  void Add(const CatalogRow& row) const {
    world.out << (in_json ? RowJson(row) : RowText(row)) << '\n';
  }
};

Outcome<Listing> OpenListing(Invocation& invocation) {
  KV_TRY(auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  const bool in_json = format == "json";
  KV_TRY(auto client, session.Connect());
  return Listing{.session = std::move(session),
                 .client = std::move(client),
                 .world = invocation.world,
                 .in_json = in_json};
}

// The listing, or with --watch the list and its changes.
Outcome<void> ListOrWatch(Invocation& invocation, const CatalogWatch& watch,
                          Outcome<void> (*list)(const Listing& listing, const Invocation& line,
                                                const std::string& prefix)) {
  if (invocation.flags.Switch("watch")) {
    KV_TRY(const auto run, LongRun::Open(invocation, {}));
    return WatchCatalog(*run, watch);
  }
  KV_TRY(const Listing listing, OpenListing(invocation));
  return list(listing, invocation, watch.prefix);
}

// Calls `visit` with the key behind the prefix, and the value.
template <class Visit>
void ForEach(const sync::ObjectMap& objects, std::size_t prefix_bytes, Visit visit) {
  for (auto place = objects.Begin(); place.get() != nullptr; place.Next()) {
    const auto& object = static_cast<const sync::TypedObject<std::string>&>(*place.get());
    visit(object.key().substr(prefix_bytes), object.value());
  }
}

Outcome<void> ListNodes(const Listing& listing, const Invocation&, const std::string& prefix) {
  KeyPager pager = listing.Pages(prefix, /*keys_only=*/false);
  while (true) {
    KV_TRY(const bool is_there, pager.Next());
    if (!is_there) return {};
    listing.Add(NodeRow(pager.kv().key().substr(prefix.size()), pager.kv().value()));
  }
}

Outcome<void> Nodes(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "catalog nodes takes no arguments"));
  const std::string prefix = CatalogKeysOf(invocation).Nodes();
  const auto rows = [&](const sync::ObjectMap& objects) {
    CatalogRows all;
    ForEach(objects, prefix.size(), [&](std::string_view node, std::string_view value) {
      all.emplace(node, NodeRow(node, value));
    });
    return all;
  };
  return ListOrWatch(invocation, {.prefix = prefix, .rows = rows}, ListNodes);
}

Outcome<void> ListServices(const Listing& listing, const Invocation&, const std::string& prefix) {
  KeyPager pager = listing.Pages(prefix, /*keys_only=*/true);
  // Keys come in the order of the names.
  std::optional<std::string> name;
  std::int64_t instances = 0;
  while (true) {
    KV_TRY(const bool is_there, pager.Next());
    const std::string rest = is_there ? pager.kv().key().substr(prefix.size()) : std::string();
    if (name && (!is_there || ServiceOf(rest) != *name)) {
      listing.Add(ServiceRow(*name, instances));
      instances = 0;
    }
    if (!is_there) return {};
    name = ServiceOf(rest);
    ++instances;
  }
}

Outcome<void> Services(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "catalog services takes no arguments"));
  const std::string prefix = CatalogKeysOf(invocation).Services();
  const auto rows = [&](const sync::ObjectMap& objects) {
    std::map<std::string, std::int64_t> instances;
    ForEach(objects, prefix.size(), [&](std::string_view rest, std::string_view) {
      ++instances[std::string(ServiceOf(rest))];
    });
    CatalogRows all;
    for (const auto& [name, count] : instances) all.emplace(name, ServiceRow(name, count));
    return all;
  };
  return ListOrWatch(invocation, {.prefix = prefix, .rows = rows}, ListServices);
}

Outcome<void> ListInstances(const Listing& listing, const Invocation& line,
                            const std::string& prefix) {
  KeyPager pager = listing.Pages(prefix, /*keys_only=*/false);
  while (true) {
    KV_TRY(const bool is_there, pager.Next());
    if (!is_there) return {};
    const auto row = InstanceRow(pager.kv().key().substr(prefix.size()), pager.kv().value());
    if (!row) {
      line.world.err << "Warning: " << sync::CleanOutput(pager.kv().key()) << ": "
                     << row.error().message << '\n';
    } else if (!line.flags.Switch("healthy") || !IsCritical(*row)) {
      listing.Add(*row);
    }
  }
}

Outcome<void> Service(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "catalog service takes one service's name"));
  if (const auto valid = sync::ValidateName("the service's name", invocation.args.front()); !valid)
    return BadArguments(valid.error().message);
  const std::string prefix = CatalogKeysOf(invocation).Service(invocation.args.front());
  const bool healthy_alone = invocation.flags.Switch("healthy");
  const auto rows = [&](const sync::ObjectMap& objects) {
    CatalogRows all;
    ForEach(objects, prefix.size(), [&](std::string_view rest, std::string_view record) {
      auto row = InstanceRow(rest, record);
      if (row && (!healthy_alone || !IsCritical(*row))) all.emplace(rest, *std::move(row));
    });
    return all;
  };
  const auto check = [](std::string_view rest, std::string_view record) -> Result<void> {
    const auto row = InstanceRow(rest, record);
    return row ? Result<void>() : Fail(row.error());
  };
  return ListOrWatch(invocation, {.prefix = prefix, .rows = rows, .check = check}, ListInstances);
}

Outcome<void> Dns(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "catalog dns takes no arguments"));
  KV_TRY(DnsService::Settings settings, DnsService::SettingsFrom(invocation.flags));
  KV_TRY(const auto run, LongRun::Open(invocation, {}));
  KV_TRY(const auto client, run->session().Connect());
  settings.datacenter = invocation.flags.String("datacenter");
  settings.root = invocation.flags.String("root");
  while (settings.root.ends_with('/')) settings.root.pop_back();
  ThreadExecutor executor("catalog");
  sync::ClientStore store(*client);
  KV_TRY(const auto dns, DnsService::Open(settings, *run, store, executor));
  run->WaitForStop();
  return {};
}

std::vector<Flag> CatalogWatchFlags() {
  return {{.name = "watch", .help = "keep showing changes until interrupted"},
          LongRun::MetricsFlag()};
}

Command DnsCommand() {
  std::vector<Flag> flags = DnsService::Flags();
  flags.front().required = true;
  flags.push_back({"datacenter", FlagType::kString, "dc1",
                   "the data center's name in the names below --dns-domain"});
  flags.push_back(LongRun::MetricsFlag());
  return {
      .use = "dns --dns-address <address:port>",
      .brief = "Answers DNS questions about the catalog",
      .description =
          R"(Answers A, AAAA and SRV for NAME.service.kvorum, and SRV for _NAME._tcp.service.kvorum, with the
instances whose status is not critical, until it is interrupted. `agent run` does so too.
)",
      .flags = flags,
      .run = Dns};
}

Command ServiceCommand() {
  std::vector<Flag> flags = CatalogWatchFlags();
  flags.push_back({.name = "healthy", .help = "leave out instances whose status is critical"});
  return {
      .use = "service [options] <name>",
      .brief = "Lists the instances of a service",
      .description =
          R"(Shows node, id, status and value of each instance. The status is the worst of its checks'.
)",
      .flags = flags,
      .run = Service};
}

}  // namespace

Command CatalogCommand() {
  return {.use = "catalog <subcommand>",
          .brief = "Shows the nodes and services that agents have registered",
          .group = kSyncGroup,
          .inherited_flags = {{"root", FlagType::kString, "/kvorum", "key prefix of the catalog"}},
          .children = {{.use = "nodes [options]",
                        .brief = "Lists the nodes with a running agent",
                        .flags = CatalogWatchFlags(),
                        .run = Nodes},
                       {.use = "services [options]",
                        .brief = "Lists the services and their number of instances",
                        .flags = CatalogWatchFlags(),
                        .run = Services},
                       ServiceCommand(),
                       DnsCommand()}};
}

}  // namespace kvorum::ctl
