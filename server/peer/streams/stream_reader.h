// A stream that we open at a peer to read its messages, for as long as it is a member: dials,
// reads, and dials again, with growing pauses while it fails.
//
// Used on the loop's thread. Silence past the read time-out breaks the connection: the peer sends
// link heartbeats when it has nothing else.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "server/peer/codec/stream_codec.h"
#include "server/peer/io/peer_links.h"
#include "server/peer/io/peer_socket.h"

namespace kvorum::server {

class StreamReader {
 public:
  struct Hooks {
    // Gets all messages of one read.
    std::function<void(std::vector<raft::Message> messages)> on_messages;
    std::function<void(bool stands)> on_state;
  };

  // `urls` are shared by all connections to this peer.
  StreamReader(PeerLinks& links, raft::MemberId peer, StreamKind kind, PeerUrls& urls, Hooks hooks);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  bool stands() const;
  // The peer calls, so it is alive and can be dialled now.
  void Hurry();

 private:
  struct Connection;

  void Dial();
  void DialAt(TimePoint when, TimePoint now);
  void OnDialed(std::unique_ptr<PeerSocket> socket);
  void Read();
  void OnRead(std::size_t bytes);
  Result<void> TakeHead(std::size_t& used);
  Result<void> OnAnswer();
  Result<void> TakeBody(std::string_view bytes);
  void Failed(const Error& error);
  void Close();

  PeerLinks& links_;
  const raft::MemberId peer_;
  const StreamKind kind_;
  PeerUrls& urls_;
  const Hooks hooks_;
  PeerTimer timer_;                         // for dialling again, or for the read time-out
  std::shared_ptr<Connection> connection_;  // null: pausing
  Duration pause_;
  TimePoint dialled_at_{};
  TimePoint redial_at_{};  // while it pauses
  LogLimit failures_;
};

}  // namespace kvorum::server
