// Probes a member every few seconds: keeps the round-trip time, and warns of a clock that is far
// from ours.
//
// Used on the loop's thread.
#pragma once

#include <functional>
#include <optional>

#include "server/peer/io/http_client.h"
#include "server/peer/io/peer_links.h"

namespace kvorum::server {

class Prober {
 public:
  Prober(PeerLinks& links, raft::MemberId peer, PeerUrls& urls,
         std::function<void(Duration round_trip)> on_answer);

 private:
  void Arm();
  void Probe();
  void OnAnswer(TimePoint asked, const HttpReceived& answer);

  PeerLinks& links_;
  const raft::MemberId peer_;
  PeerUrls& urls_;
  const std::function<void(Duration)> on_answer_;
  HttpClient client_;
  PeerTimer timer_;
  LogLimit differences_;
};

}  // namespace kvorum::server
