// Our end of a stream that a peer has opened to read from us: a bounded queue of messages, encoded
// and written as it takes them, everything queued in one write.
//
// Used on the loop's thread. A message that finds the queue full, or that was queued or being
// written when the connection broke, is lost; `on_lost` reports it.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "server/peer/codec/stream_codec.h"
#include "server/peer/io/peer_links.h"
#include "server/peer/io/peer_socket.h"

namespace kvorum::server {

class StreamWriter {
 public:
  struct Hooks {
    std::function<void()> on_lost;
    std::function<void()> on_written;
  };

  StreamWriter(PeerLinks& links, raft::MemberId peer, StreamKind kind, Hooks hooks);
  ~StreamWriter();
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  bool stands() const { return connection_ != nullptr; }
  // Replaces the previous connection.
  void Attach(std::unique_ptr<PeerSocket> socket);
  // Queues until Flush; false if there is no room.
  bool Push(raft::Message message);
  void Flush();
  void Close();

  // Aborts if one does not hold: the queue's bytes are those of its messages, within their bounds
  // (one message may exceed the bytes), and without a stream there are none.
  void CheckInvariants() const;

 private:
  struct Connection;

  void WatchForEnd();
  void Write(ByteChain chain);
  void OnWritten(const Result<std::size_t>& written);
  void ArmHeartbeat();
  void Broken(const Error& error);
  void DropQueue();
  void ShowQueue() { queued_.Set(queue_.size(), queued_bytes_); }

  PeerLinks& links_;
  const raft::MemberId peer_;
  const StreamKind kind_;
  const Hooks hooks_;
  PeerTimer heartbeat_;
  std::shared_ptr<Connection> connection_;  // null: there is no stream
  std::deque<raft::Message> queue_;
  std::size_t queued_bytes_ = 0;
  PeerMetrics::Queued& queued_;
  bool was_idle_ = true;  // since the last heartbeat was due
};

}  // namespace kvorum::server
