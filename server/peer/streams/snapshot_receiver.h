// Passes the body of POST /raft/snapshot (snapshot_sender.h has its layout) to a sink.
//
// Used on the loop's thread; the sink is created, written, finished, part after part, and dropped
// on the disk executor. The answers are etcd's: 204 once the sink has it all, 400 for a body that
// is not a snapshot message, from any sender, 403 for a message of a removed member or for another
// member, 5xx if it could not be taken.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mvcc/transfer/snapshot_stream.h"
#include "server/peer/io/peer_links.h"
#include "server/peer/streams/peer_server.h"

namespace kvorum::server {

class SnapshotReceiver final : public BodyReceiver {
 public:
  // `refusal`: the answer to any well-formed message.
  SnapshotReceiver(PeerLinks& links, raft::MemberId sender,
                   std::optional<rpc::HttpResponse> refusal);
  ~SnapshotReceiver() override;
  void Take(std::string bytes, bool last, Next next) override;
  // The message, from when its length is known.
  std::size_t held_bytes() const override;

 private:
  struct Incoming;
  struct Taking;

  // Returns the answer if the message is refused; nullopt otherwise, also while it is incomplete.
  std::optional<rpc::HttpResponse> TakeMessage(std::string& bytes);

  PeerLinks& links_;
  const raft::MemberId sender_;
  std::optional<rpc::HttpResponse> refusal_;
  std::string head_;                    // of the body, until the message is whole
  std::shared_ptr<Incoming> incoming_;  // once the message is complete
  TimePoint begun_;                     // then
};

// The length of the message at the front of a body, including its length field. nullopt: more bytes
// are needed. kDataLoss if it is too long.
Result<std::optional<std::size_t>> SnapshotMessageBytes(std::string_view body);
Result<raft::Message> DecodeSnapshotMessage(std::string_view front);

}  // namespace kvorum::server
