#include "rpc/session/rejection_log.h"

#include <string>
#include <vector>

#include "base/log/logging.h"

namespace kvorum::rpc {
namespace {

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

void RejectionLog::Add(TimePoint now, TlsFailure kind, std::string_view peer, const ssl_st* ssl,
                       std::string_view why) {
  const LogLevel level = kind == TlsFailure::kGone ? LogLevel::kDebug : LogLevel::kWarn;
  if (!LogEnabled(level)) return;
  if (!rate_.Takes(now)) return;
  const std::string_view server_name = ssl == nullptr ? std::string_view() : RequestedName(ssl);
  if (const std::uint64_t suppressed = rate_.TakeSuppressed(); suppressed > 0)
    KV_WARN("rejected more connections on client endpoint", {"connections", suppressed});
  const auto shown = ssl == nullptr ? std::nullopt : ShownIdentity(ssl);
  if (!shown.has_value()) {
    KV_LOG(level, "rejected connection on client endpoint", {"remote-addr", peer},
           {"server-name", server_name}, {"error", why});
    return;
  }
  KV_LOG(level, "rejected connection on client endpoint", {"remote-addr", peer},
         {"server-name", server_name}, {"ip-addresses", Joined(shown->ip_addresses)},
         {"dns-names", Joined(shown->dns_names)}, {"error", why});
}

}  // namespace kvorum::rpc
