#include "server/process/bootstrap/find_cluster.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/member.h"
#include "api/member_id.h"
#include "base/file_system.h"
#include "base/log/logging.h"
#include "base/net/url.h"
#include "base/words.h"
#include "server/process/bootstrap/cluster_discovery.h"
#include "server/process/bootstrap/discovery_client.h"
#include "server/process/bootstrap/srv_bootstrap.h"
#include "wal/wal.h"

namespace kvorum::server {
namespace {

Result<void> FindByDns(Options& options) {
  auto cluster = InitialClusterFromDns(options, SystemNames());
  if (!cluster.has_value())
    return Fail(cluster.error().code,
                "error setting up initial cluster: " + cluster.error().message);
  options.initial_cluster = *std::move(cluster);
  options.peer_server_name = PeerServerName(options);
  return {};
}

Result<void> Register(const Options& options, std::string& cluster) {
  KV_TRY(const std::vector<Url> urls, ParseUrls(options.initial_advertise_peer_urls));
  std::vector<std::string> texts;
  DiscoveringMember member{.token = options.discovery_token,
                           .endpoints = Join(options.discovery_endpoints, ","),
                           .id = {},
                           .peer_urls = {}};
  for (const Url& url : urls) {
    texts.push_back(url.text());
    member.peer_urls += (member.peer_urls.empty() ? "" : ",") + options.name + "=" + url.text();
  }
  member.id = IdText(ComputeMemberId(std::move(texts), options.discovery_token, std::nullopt));
  KV_TRY(const auto service, DiscoveryClient::Open(options));
  const auto sleep = [](Duration pause) { std::this_thread::sleep_for(pause); };
  KV_TRY(cluster, JoinByDiscovery(*service, member, sleep));
  return {};
}

Result<void> FindByDiscovery(Options& options) {
  if (options.initial_cluster_state == "existing") {
    return Fail(Code::kInvalidArgument,
                "discovery URL should not be set when joining existing initial cluster");
  }
  KV_INFO("Bootstrapping cluster using v3 discovery.");
  std::string cluster;
  if (const auto registered = Register(options, cluster); !registered.has_value()) {
    const std::string error =
        "failed to join discovery cluster (" + registered.error().message + ")";
    KV_WARN("failed to bootstrap; discovery token was already used",
            {"discovery-token", options.discovery_token},
            {"discovery-endpoints", Join(options.discovery_endpoints, ",")}, {"error", error});
    KV_WARN("do not reuse discovery token; generate a new one to bootstrap a cluster");
    return Fail(registered.error().code, error);
  }
  options.initial_cluster = std::move(cluster);
  return {};
}

}  // namespace

Result<void> FindCluster(Options& options) {
  const bool discovers = !options.discovery_endpoints.empty();
  if (options.discovery_srv.empty() && !discovers) return {};
  const std::string log =
      options.wal_dir.empty() ? options.data_dir + "/member/wal" : options.wal_dir;
  KV_TRY(const bool has_begun, wal::Exists(PosixFileSystem(), log));
  if (discovers && has_begun) {
    KV_WARN("discovery token is ignored since cluster already initialized; valid logs are found",
            {"wal-dir", log});
    return {};
  }
  if (discovers) return FindByDiscovery(options);
  if (has_begun && !options.force_new_cluster) return {};
  return FindByDns(options);
}

}  // namespace kvorum::server
