#include "server/call/reads.h"

#include "server/call/access.h"

namespace kvorum::server {

Result<HeldView> Reads::ReadFor(const rpc::Caller& caller,
                                const mvcc::RangeRequest& request) const {
  return access.ReadFor(caller, request);
}

Result<HeldView> Reads::ReadFor(const rpc::Caller& caller, const mvcc::TxnRequest& request) const {
  return access.ReadFor(caller, request);
}

}  // namespace kvorum::server
