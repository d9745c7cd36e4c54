// Lease.LeaseKeepAlive: one answer for each request, in order. Requests are read ahead, so that a
// client with many leases does not wait for a round between members for each.
//
// A session owns itself: pending operations hold it. Thread-safe. Bound: 256 unanswered requests;
// then the client is not read. An unknown or expired lease is answered with a time to live of 0,
// and the stream goes on; any other error ends it, after the earlier answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "rpc/call/service.h"
#include "server/services/lease/lease_access.h"

namespace kvorum::server {

class KeepAliveStream final : public std::enable_shared_from_this<KeepAliveStream> {
 public:
  // Both outlive the session.
  KeepAliveStream(const Reads& reads, LeaseAccess& access,
                  std::shared_ptr<rpc::ServerStream> stream)
      : reads_(reads), access_(access), stream_(std::move(stream)) {}
  void Start() { Read(); }

 private:
  // A request, or the end of the requests.
  struct Slot {
    lease::LeaseId id = lease::kNoLease;
    ResponseHeader header;                        // as it was when the request came
    std::optional<Result<std::int64_t>> outcome;  // an error ends the stream
  };

  void Read();
  void OnRead(Result<std::optional<SharedBytes>> message);
  void Admit(std::uint64_t number, lease::LeaseId id);
  void Renew(std::uint64_t number, lease::LeaseId id);
  void OnEnd();
  void Renewed(std::uint64_t number, Result<std::int64_t> ttl_s);
  // Writes the first answer if it is there and no write is pending, or ends the stream.
  void Write();
  void OnWritten(const Result<void>& written);

  const Reads& reads_;
  LeaseAccess& access_;
  const std::shared_ptr<rpc::ServerStream> stream_;

  std::mutex mutex_;  // guards what follows
  std::deque<Slot> slots_;
  std::uint64_t first_number_ = 0;  // of slots_.front()
  bool reading_ = false;
  bool writing_ = false;
  bool client_ended_ = false;
  bool finished_ = false;
};

}  // namespace kvorum::server
