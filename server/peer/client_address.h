// Whether a member comes from where its certificate says that it lives: the address that it comes
// from is one of the certificate's, or one of those that its DNS names stand for, or has one of
// these names itself. A certificate that names neither is good for any address. The rule, and its
// texts, are etcd's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rpc/tls_context.h"
#include "server/peer/peer_loop.h"

namespace kvorum::server {

// Of the loop's thread; it calls back there, maybe before it returns.
class ClientAddressCheck {
 public:
  using Done = std::move_only_function<void(Result<void> outcome)>;

  explicit ClientAddressCheck(PeerLoop& loop) : loop_(loop) {}
  // `remote` is "10.0.0.1:40312" or "[::1]:40312". Once `wanted` is gone no further name is looked
  // up, and nothing called back.
  void Run(const rpc::TlsIdentity& identity, const std::string& remote,
           std::weak_ptr<const void> wanted, Done done);

 private:
  PeerLoop& loop_;
};

// Whether a name of the certificate is this host name; "*.example.com" is any name below, as etcd
// takes it here.
bool NamesHost(const std::vector<std::string>& dns_names, std::string_view host);

}  // namespace kvorum::server
