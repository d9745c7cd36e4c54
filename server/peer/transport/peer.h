// One other member, as we reach it: two streams that it reads from us, two that we read from it,
// the pipeline for when there is no stream, probes, requests, and snapshots being sent.
//
// Used on the loop's thread. A peer that is not a member as far as we know (we may lag behind, or
// have just joined) has no streams: it is answered by the pipeline.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/peer/io/peer_links.h"
#include "server/peer/streams/pipeline.h"
#include "server/peer/streams/snapshot_sender.h"
#include "server/peer/streams/stream_reader.h"
#include "server/peer/streams/stream_writer.h"
#include "server/peer/transport/peer_requests.h"
#include "server/peer/transport/prober.h"

namespace kvorum::server {

class Peer {
 public:
  struct Hooks {
    std::function<void(std::vector<raft::Message> messages)> on_messages;
    // Called when messages from it start or stop arriving by a stream.
    std::function<void(bool is_active)> on_activity;
    std::function<void(Duration round_trip)> on_round_trip;
  };

  Peer(PeerLinks& links, raft::MemberId id, std::vector<Url> urls, Hooks hooks);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  raft::MemberId id() const { return id_; }
  bool is_member() const { return is_member_; }
  void BecomeMember();
  void SetUrls(std::vector<Url> urls);

  // Queues until Flush. A message without room is dropped and reported, once until something gets
  // through again.
  void Push(raft::Message message);
  void Flush();
  // The peer has opened a stream to read from.
  void Attach(StreamKind kind, std::unique_ptr<PeerSocket> socket);
  // It has sent us something by another way than a stream: a stream that pauses is dialled.
  void Hurry();
  // Sends one at a time; the receiver hears of each once.
  void SendSnapshot(raft::Message message, std::unique_ptr<mvcc::SnapshotSource> content);
  void Post(std::string path, SharedBytes body, Duration timeout, PeerPoster::Done done) {
    requests_.Post(std::move(path), std::move(body), timeout, std::move(done));
  }

  // The streams that it reads from us, and those that we read from it.
  std::size_t standing_writers() const;
  std::size_t standing_readers() const;
  // Aborts if one does not hold: those of its parts; only a member is read from and probed; its
  // activity is that of the streams that we read.
  void CheckInvariants() const;

 private:
  StreamWriter& writer(StreamKind kind) { return *writers_[static_cast<std::size_t>(kind)]; }
  void PushWhole(raft::Message message);
  void OnState(bool stands);
  void Lost(std::uint64_t messages);

  PeerLinks& links_;
  const raft::MemberId id_;
  const Hooks hooks_;
  PeerUrls urls_;
  bool is_member_ = false;
  bool is_losing_ = false;  // reported, and nothing got through since
  int standing_readers_ = 0;
  Pipeline pipeline_;
  PeerRequests requests_;
  std::array<std::unique_ptr<StreamWriter>, 2> writers_;  // by StreamKind
  std::array<std::unique_ptr<StreamReader>, 2> readers_;  // by StreamKind; only of a member
  std::unique_ptr<Prober> prober_;                        // only of a member
  std::unique_ptr<SnapshotSender> snapshot_;
};

}  // namespace kvorum::server
