#include "server/peer/io/peer_links.h"

#include <algorithm>

#include "api/member_id.h"
#include "rpc/http/http1_parser.h"
#include "server/apply/entry_check.h"

namespace kvorum::server {

bool PeerUrls::Are(const std::vector<Url>& urls) const {
  return std::ranges::equal(urls_, urls, {}, &Url::text, &Url::text);
}

std::string HostOf(const Url& url) {
  if (url.unix_socket()) return "localhost";
  const bool is_v6 = url.host().find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + url.host() + "]" : url.host();
  return url.port_text().empty() ? host : host + ":" + url.port_text();
}

bool SaysRemoved(const rpc::HttpHead& head, std::string_view body, std::uint64_t cluster_id) {
  if (head.Header("x-etcd-cluster-id") != IdText(cluster_id)) return false;
  return head.status == 410 ||
         (head.status == 403 && body.find("removed member") != std::string_view::npos);
}

std::string_view RefusalOf(const raft::Message& message, raft::MemberId sender,
                           bool sender_is_member, raft::MemberId local) {
  using raft::MessageType;
  if (!raft::IsFromPeer(message.type)) return "of a type that is not for members to send";
  if (message.type == MessageType::kSnap) return "a snapshot without content";
  // A request for a leadership transfer names the member that is to lead as its sender, also when
  // another member forwards it.
  const bool is_forwarded = message.type == MessageType::kTransferLeader;
  if (message.from != sender && !is_forwarded) return "of another sender";
  if (message.to != local) return "for another member";
  const bool may_be_ahead =
      message.type == MessageType::kApp || message.type == MessageType::kHeartbeat ||
      message.type == MessageType::kVote || message.type == MessageType::kPreVote;
  if (!sender_is_member && !may_be_ahead) return "of a sender that is not a member";
  const bool brings_entries =
      message.type == MessageType::kProp || message.type == MessageType::kApp;
  if (brings_entries && !std::ranges::all_of(message.entries, [](const raft::Entry& entry) {
        return CheckPeersEntry(entry).has_value();
      })) {
    return "an entry that no member could apply";
  }
  return {};
}

}  // namespace kvorum::server
