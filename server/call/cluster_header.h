// The cluster's id in the headers of members' questions over HTTP and of the answers: two clusters
// may share a host, or a member may have been added to another one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/member_id.h"
#include "rpc/http/http.h"
#include "server/call/cluster_facts.h"

namespace kvorum::server {

inline constexpr std::string_view kClusterIdHeader = "X-Etcd-Cluster-Id";

// The line of a question's headers.
inline std::string ClusterIdLine(std::uint64_t cluster_id) {
  return std::string(kClusterIdHeader) + ": " + IdText(cluster_id) + "\r\n";
}

inline rpc::HttpResponse WithClusterId(const ClusterFacts& cluster, rpc::HttpResponse response) {
  response.headers.push_back({std::string(kClusterIdHeader), IdText(cluster.cluster_id)});
  return response;
}

// `named` is the header's value. Members of older versions leave it out.
inline bool IsOtherCluster(std::string_view named, std::uint64_t cluster_id) {
  return !named.empty() && named != IdText(cluster_id);
}
inline bool IsOtherCluster(const rpc::HttpRequest& request, std::uint64_t cluster_id) {
  return IsOtherCluster(request.Header("x-etcd-cluster-id").value_or(""), cluster_id);
}

}  // namespace kvorum::server
