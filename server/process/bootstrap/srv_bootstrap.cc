#include "server/process/bootstrap/srv_bootstrap.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <map>
#include <optional>

#include "base/log/logging.h"
#include "base/net/uri.h"
#include "base/net/url.h"

namespace kvorum::server {
namespace {

// The first address, one of IPv4 where there is one.
Result<std::string> SystemAddress(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0)
    return Fail(Code::kUnavailable, fmt::format("lookup {}: {}", host, gai_strerror(error)));
  std::optional<std::string> best;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address = nullptr;
    if (each->ai_family == AF_INET)
      address = &reinterpret_cast<const sockaddr_in*>(each->ai_addr)->sin_addr;
    if (each->ai_family == AF_INET6 && !best)
      address = &reinterpret_cast<const sockaddr_in6*>(each->ai_addr)->sin6_addr;
    if (address == nullptr) continue;
    best = inet_ntop(each->ai_family, address, text.data(), text.size());
    if (each->ai_family == AF_INET) break;
  }
  freeaddrinfo(found);
  if (!best) return Fail(Code::kUnavailable, fmt::format("lookup {}: no address", host));
  return JoinHostPort(*best, port);
}

class Finder {
 public:
  Finder(const Options& options, const NameService& names) : options_(options), names_(names) {}

  Result<std::string> Run() {
    const std::string suffix =
        options_.discovery_srv_name.empty() ? "" : "-" + options_.discovery_srv_name;
    const auto with_tls = MembersOf("etcd-server-ssl" + suffix, "https");
    const auto without = MembersOf("etcd-server" + suffix, "http");
    std::vector<std::string> members = with_tls.value_or(std::vector<std::string>{});
    if (without.has_value()) members.insert(members.end(), without->begin(), without->end());
    if (members.empty())
      return Fail(Code::kUnavailable, ErrorOf(with_tls) + "\n" + ErrorOf(without));
    bool knows_self = false;
    std::string cluster;
    for (const std::string& member : members) {
      KV_INFO("got bootstrap from DNS for etcd-server", {"node", member});
      knows_self = knows_self || member.starts_with(options_.name + "=");
      cluster += (cluster.empty() ? "" : ",") + member;
    }
    if (!knows_self) {
      return Fail(Code::kInvalidArgument,
                  "cannot find local etcd member \"" + options_.name + "\" in SRV records");
    }
    return cluster;
  }

 private:
  using Members = Result<std::vector<std::string>>;

  static std::string ErrorOf(const Members& members) {
    return members.has_value() ? "" : members.error().message;
  }

  Members MembersOf(const std::string& service, std::string_view scheme) {
    Members members = LookUpMembers(service, scheme);
    KV_INFO("get cluster for " +
                std::string(scheme == "https" ? "etcd-server-ssl" : "etcd-server") + " SRV",
            {"service-scheme", scheme}, {"service-name", service}, {"server-name", options_.name},
            {"discovery-srv", options_.discovery_srv},
            {"advertise-peer-urls", options_.initial_advertise_peer_urls},
            {"found-cluster", std::uint64_t{members.has_value() ? members->size() : 0}},
            {"error", ErrorOf(members)});
    return members;
  }

  // A record whose address cannot be found is left out, unless all are.
  Members LookUpMembers(const std::string& service, std::string_view scheme) {
    KV_TRY(const std::vector<Url> urls, ParseUrls(options_.initial_advertise_peer_urls));
    std::map<std::string, const Url*> own;  // by address
    for (const Url& url : urls) {
      KV_TRY(const std::string address, names_.address(url.host(), url.dial_port()));
      own[address] = &url;
    }
    const auto fail = [&service](const std::string& why) {
      return Fail(Code::kUnavailable,
                  fmt::format("error querying DNS SRV records for _{} {}", service, why));
    };
    const auto records = names_.records(service, options_.discovery_srv);
    if (!records.has_value()) return fail(records.error().message);
    std::vector<std::string> members;
    std::string last_fault;
    int number = 0;
    for (const SrvRecord& record : *records) {
      const auto address = names_.address(record.target, record.port);
      if (!address.has_value()) {
        last_fault = address.error().message;
        continue;
      }
      const auto self = own.find(*address);
      const std::string url =
          fmt::format("{}://{}", scheme, JoinHostPort(record.target, record.port));
      const bool is_self = self != own.end();
      if (is_self && self->second->tls() != (scheme == "https")) {
        last_fault =
            fmt::format("bootstrap at {} from DNS for {} has scheme mismatch with expected peer {}",
                        url, service, self->second->text());
        continue;
      }
      members.push_back((is_self ? options_.name : std::to_string(number++)) + "=" + url);
    }
    if (members.empty() && !last_fault.empty()) return fail(last_fault);
    return members;
  }

  const Options& options_;
  const NameService& names_;
};

}  // namespace

NameService SystemNames() { return {.records = LookUpSrv, .address = SystemAddress}; }

Result<std::string> InitialClusterFromDns(const Options& options, const NameService& names) {
  return Finder(options, names).Run();
}

std::string PeerServerName(const Options& options) {
  const bool uses_tls = options.initial_cluster.find("https://") != std::string::npos;
  return uses_tls && options.peer_trusted_ca_file.empty() ? options.discovery_srv : "";
}

}  // namespace kvorum::server
