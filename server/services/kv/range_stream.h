// KV.RangeStream: one range in chunks of disjoint rows, all at the revision that the first chunk
// saw. Header, more and count come with the last chunk.
//
// A session owns itself: each step on the readers' executor holds it until its chunk has passed the
// client's flow control, so a slow client costs one chunk of memory and no pinned view.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mvcc/records/requests.h"
#include "rpc/call/service.h"

namespace kvorum::server {

struct Reads;

class RangeStreamSession final : public std::enable_shared_from_this<RangeStreamSession> {
 public:
  // `bytes` owns the bytes that the request refers to.
  RangeStreamSession(const Reads& reads, std::shared_ptr<rpc::ServerStream> stream,
                     SharedBytes bytes, const mvcc::RangeRequest& request);
  void Start();
  void Fail(const Error& error);

 private:
  void Step();
  void SendCount();
  void Send(SharedBytes chunk, bool last);

  const Reads& reads_;
  std::shared_ptr<rpc::ServerStream> stream_;
  const SharedBytes bytes_;
  mvcc::RangeRequest request_;
  const std::int64_t total_limit_;
  std::int64_t header_revision_ = 0;
  std::int64_t sent_rows_ = 0;
  std::string next_key_;
};

}  // namespace kvorum::server
