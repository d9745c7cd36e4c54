// The body of POST /raft/snapshot (snapshot_sender.h has its layout) on its way to a sink.
//
// Of the loop's thread; the sink is made, written, finished and dropped on the disk executor. The
// answers are etcd's: 204 once the sink has it all, 400 for what is no snapshot message, whoever
// sent it, 403 for one of a removed member or for another member, 5xx where it could not be taken.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mvcc/snapshot_stream.h"
#include "server/peer/peer_links.h"
#include "server/peer/peer_server.h"

namespace kvorum::server {

class SnapshotReceiver final : public BodyReceiver {
 public:
  // `refusal`: what is answered, whatever message it is, as long as it is one.
  SnapshotReceiver(PeerLinks& links, raft::MemberId sender,
                   std::optional<rpc::HttpResponse> refusal);
  ~SnapshotReceiver() override;
  void Take(std::string bytes, bool last, Next next) override;

 private:
  struct Incoming;

  // The answer if the message is refused; nullopt too while it is incomplete.
  std::optional<rpc::HttpResponse> TakeMessage(std::string& bytes);

  PeerLinks& links_;
  const raft::MemberId sender_;
  std::optional<rpc::HttpResponse> refusal_;
  std::string head_;                    // of the body, until the message is whole
  std::shared_ptr<Incoming> incoming_;  // once it is
};

// Of the front of a body: how long the message is, with its length field. nullopt: more is needed.
// kDataLoss if it is too long.
Result<std::optional<std::size_t>> SnapshotMessageBytes(std::string_view body);
Result<raft::Message> DecodeSnapshotMessage(std::string_view front);

}  // namespace kvorum::server
