#include "rpc/session/rejection_log.h"

#include <string>
#include <vector>

#include "base/log/logging.h"
#include "base/words.h"

namespace kvorum::rpc {
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
         {"server-name", server_name}, {"ip-addresses", Join(shown->ip_addresses, ",")},
         {"dns-names", Join(shown->dns_names, ",")}, {"error", why});
}

}  // namespace kvorum::rpc
