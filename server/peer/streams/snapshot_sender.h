// Sends one snapshot to a peer: POST /raft/snapshot, on a separate connection, so that no heartbeat
// waits behind it. The body, in chunks: a frame with the kSnap (as in the `message` stream), then
// the source's bytes to the end.
//
// Used on the loop's thread; the source is read on the disk executor, at most one chunk ahead of
// the connection. `done` is called once, later, unless the sender is destroyed before.
#pragma once

#include <functional>
#include <memory>

#include "mvcc/transfer/snapshot_stream.h"
#include "server/peer/io/http_client.h"
#include "server/peer/io/peer_links.h"

namespace kvorum::server {

class SnapshotSender {
 public:
  using Done = std::move_only_function<void(Result<std::uint64_t> sent_bytes)>;

  SnapshotSender(PeerLinks& links, PeerUrls& urls, raft::Message message,
                 std::unique_ptr<mvcc::SnapshotSource> source, Done done);
  ~SnapshotSender();
  SnapshotSender(const SnapshotSender&) = delete;
  SnapshotSender& operator=(const SnapshotSender&) = delete;

 private:
  class Transfer;
  std::shared_ptr<Transfer> transfer_;
};

}  // namespace kvorum::server
