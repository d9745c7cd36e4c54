#include "server/peer/io/client_address.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <utility>
#include <vector>

namespace kvorum::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// The maximum for one certificate. Names are looked up one after another, and each may take a
// while.
constexpr std::size_t kMaxNames = 32;

std::string Listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list;
}

std::string HostOfAddress(std::string_view remote) {
  std::string_view host = remote.substr(0, remote.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

// Looks up one certificate's names, one after another, then the address's own name.
class Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  Lookup(PeerLoop& loop, asio::ip::address address, std::vector<std::string> names,
         std::weak_ptr<const void> wanted, ClientAddressCheck::Done done)
      : resolver_(loop.context()),
        address_(std::move(address)),
        names_(std::move(names)),
        wanted_(std::move(wanted)),
        done_(std::move(done)) {}

  void Next() {
    if (wanted_.expired()) return;
    while (next_ < names_.size() && names_[next_].starts_with("*.")) ++next_;
    if (next_ == std::min(names_.size(), kMaxNames)) return AskBack();
    resolver_.async_resolve(
        names_[next_++], "", tcp::resolver::numeric_service,
        [self = shared_from_this()](const error_code& error,
                                    const tcp::resolver::results_type& results) {
          if (error) self->last_error_ = error;
          const bool is_its = std::ranges::any_of(results, [&](const auto& result) {
            return result.endpoint().address() == self->address_;
          });
          if (is_its) return self->done_({});
          self->Next();
        });
  }

 private:
  void AskBack() {
    resolver_.async_resolve(
        tcp::endpoint(address_, 0),
        [self = shared_from_this()](const error_code& error,
                                    const tcp::resolver::results_type& results) {
          if (error) self->last_error_ = error;
          for (const auto& result : results) {
            if (NamesHost(self->names_, result.host_name())) return self->done_({});
          }
          self->Refuse();
        });
  }

  void Refuse() {
    std::string quoted;
    for (const std::string& name : names_) quoted += (quoted.empty() ? "\"" : " \"") + name + "\"";
    std::string text =
        "tls: \"" + address_.to_string() + "\" does not match any of DNSNames [" + quoted + "]";
    if (last_error_) text += " (" + last_error_.message() + ")";
    done_(Fail(Code::kUnauthenticated, std::move(text)));
  }

  tcp::resolver resolver_;
  const asio::ip::address address_;
  const std::vector<std::string> names_;
  const std::weak_ptr<const void> wanted_;
  ClientAddressCheck::Done done_;
  std::size_t next_ = 0;
  error_code last_error_;
};

}  // namespace

bool NamesHost(const std::vector<std::string>& dns_names, std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return std::ranges::any_of(dns_names, [&](std::string_view name) {
    if (name.starts_with("*.")) return host.ends_with(name.substr(1));
    return host == name;
  });
}

void ClientAddressCheck::Run(const rpc::TlsIdentity& identity, const std::string& remote,
                             std::weak_ptr<const void> wanted, Done done) {
  if (identity.ip_addresses.empty() && identity.dns_names.empty()) return done({});
  error_code error;
  const std::string host = HostOfAddress(remote);
  asio::ip::address address = asio::ip::make_address(host, error);
  if (error) return done(Fail(Code::kUnauthenticated, "tls: no address: " + remote));
  const bool is_named = std::ranges::any_of(identity.ip_addresses, [&](const std::string& named) {
    error_code malformed;
    return asio::ip::make_address(named, malformed) == address && !malformed;
  });
  if (is_named) return done({});
  if (identity.dns_names.empty()) {
    return done(Fail(Code::kUnauthenticated, "x509: certificate is valid for " +
                                                 Listed(identity.ip_addresses) + ", not " +
                                                 address.to_string()));
  }
  std::make_shared<Lookup>(loop_, std::move(address), identity.dns_names, std::move(wanted),
                           std::move(done))
      ->Next();
}

}  // namespace kvorum::server
