#include "server/peer/io/request_checks.h"

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "api/version.h"
#include "api/version_number.h"

namespace kvorum::server {
namespace {

// The version of a member that does not state one: members of that age did not.
constexpr std::string_view kUnsaidVersion = "2.0.0";

using MajorMinor = std::pair<unsigned, unsigned>;

// Parses "major.minor.patch", with or without the suffixes of semantic versions.
std::optional<MajorMinor> ParseVersion(std::string_view text) {
  const auto version = Version::Parse(text.substr(0, text.find_first_of("-+")));
  if (!version.has_value()) return std::nullopt;
  return MajorMinor(version->major, version->minor);
}

MajorMinor Ours(std::string_view version) { return ParseVersion(version).value(); }

bool IsCompatible(const rpc::HttpHead& head) {
  const auto said = [&](std::string_view name) {
    const std::string_view value = head.Header(name);
    return ParseVersion(value.empty() ? kUnsaidVersion : value);
  };
  const auto server = said("x-server-version");
  const auto least = said("x-min-cluster-version");
  return server.has_value() && least.has_value() && *server >= Ours(kMinClusterVersion) &&
         *least <= Ours(kApiVersion);
}

}  // namespace

std::optional<rpc::HttpResponse> RefuseRequest(const rpc::HttpHead& head, std::string_view method,
                                               std::uint64_t cluster_id) {
  if (head.method != method) return rpc::WrongMethod(method);
  if (!IsCompatible(head)) return HttpError(412, "incompatible version");
  if (head.Header("x-etcd-cluster-id") != IdText(cluster_id))
    return HttpError(412, "cluster ID mismatch");
  return std::nullopt;
}

std::expected<StreamRequest, StreamRefusal> CheckStreamRequest(const rpc::HttpHead& head,
                                                               raft::MemberId local,
                                                               const MembershipView& view) {
  const auto refuse = [](unsigned status, std::string_view text,
                         raft::MemberId unknown = raft::kNone) {
    return std::unexpected(
        StreamRefusal{.response = HttpError(status, text), .unknown_sender = unknown});
  };
  std::string_view path = head.Path();
  path.remove_prefix(std::min(path.size(), kStreamPrefix.size()));
  const std::size_t slash = path.find('/');
  StreamRequest request;
  const std::string_view kind = path.substr(0, slash);
  if (slash == std::string_view::npos || path.find('/', slash + 1) != std::string_view::npos ||
      (kind != PathName(StreamKind::kMessage) && kind != PathName(StreamKind::kAppend))) {
    return refuse(404, "invalid path");
  }
  request.kind = kind == PathName(StreamKind::kAppend) ? StreamKind::kAppend : StreamKind::kMessage;
  const auto from = ParseMemberId(path.substr(slash + 1));
  if (!from.has_value()) return refuse(404, "invalid from");
  request.from = *from;
  if (view.removed.contains(*from)) return refuse(410, "removed member");
  if (*from == local || !view.members.contains(*from))
    return refuse(404, "error sender not found", *from);
  if (head.Header("x-raft-to") != IdText(local)) return refuse(412, "to field mismatch");
  return request;
}

}  // namespace kvorum::server
