// Checks whether a member's address fits its certificate: it must be one of the certificate's
// addresses, or one to which its DNS names resolve, or resolve to one of these names itself. A
// certificate with neither is valid for any address. The rule, and its texts, are etcd's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rpc/tls/tls_context.h"
#include "server/peer/io/peer_loop.h"

namespace kvorum::server {

// Used on the loop's thread; it calls back there, perhaps before it returns.
class ClientAddressCheck {
 public:
  using Done = std::move_only_function<void(Result<void> outcome)>;

  explicit ClientAddressCheck(PeerLoop& loop) : loop_(loop) {}
  // `remote` is "10.0.0.1:40312" or "[::1]:40312". Once `wanted` is gone no further name is looked
  // up, and there is no callback.
  void Run(const rpc::TlsIdentity& identity, const std::string& remote,
           std::weak_ptr<const void> wanted, Done done);

 private:
  PeerLoop& loop_;
};

// True if a name of the certificate is this host name; "*.example.com" matches any name below, as
// in etcd.
bool NamesHost(const std::vector<std::string>& dns_names, std::string_view host);

}  // namespace kvorum::server
