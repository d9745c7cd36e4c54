#include "server/peer/io/peer_identity.h"

#include "api/member_id.h"
#include "api/version.h"
#include "server/peer/io/incarnation.h"

namespace kvorum::server {

std::string RequestHead(const PeerIdentity& identity, std::string_view method,
                        std::string_view host, std::string_view path, std::string_view more) {
  std::string head;
  const auto line = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  head.append(method).append(" ").append(path).append(" HTTP/1.1\r\n");
  line("Host", host);
  line("X-Server-From", IdText(identity.member_id));
  line("X-Server-Version", kApiVersion);
  line("X-Min-Cluster-Version", kMinClusterVersion);
  line("X-Etcd-Cluster-Id", IdText(identity.cluster_id));
  if (!identity.peer_urls.empty()) line("X-PeerURLs", identity.peer_urls);
  if (identity.incarnations != nullptr) line(kIncarnationHeader, identity.incarnations->Own());
  head.append(more).append("\r\n");
  return head;
}

}  // namespace kvorum::server
