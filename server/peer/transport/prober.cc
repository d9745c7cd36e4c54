#include "server/peer/transport/prober.h"

#include <cstdlib>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "server/peer/transport/probe.h"

namespace kvorum::server {
namespace {

constexpr Duration kMaxClockDifference = std::chrono::seconds(1);

}  // namespace

Prober::Prober(PeerLinks& links, raft::MemberId peer, PeerUrls& urls,
               std::function<void(Duration round_trip)> on_answer)
    : links_(links),
      peer_(peer),
      urls_(urls),
      on_answer_(std::move(on_answer)),
      client_(links.dialer),
      timer_(links.loop) {
  Probe();
}

void Prober::Arm() {
  timer_.Arm(links_.options.probe_interval, [this] { Probe(); });
}

void Prober::Probe() {
  const Url& url = urls_.current();
  const TimePoint asked = links_.loop.clock().Now();
  client_.Ask(
      url, {SharedBytes::Own(RequestHead(links_.identity, "GET", HostOf(url), kProbingPath, ""))},
      links_.options.answer_timeout, [this, asked](const Result<HttpReceived>& answer) {
        // The streams report a peer that is down.
        if (answer.has_value() && answer->head.status == 200) OnAnswer(asked, *answer);
        Arm();
      });
}

void Prober::OnAnswer(TimePoint asked, const HttpReceived& answer) {
  const auto its_time = DecodeProbeAnswer(answer.body);
  if (!its_time.has_value()) return;
  const Duration round_trip = links_.loop.clock().Now() - asked;
  on_answer_(round_trip);
  // Its clock was read at some time in between.
  const Duration half = round_trip / 2;
  const Duration difference = Duration(links_.loop.clock().WallNanos() - *its_time) - half;
  const Duration limit = kMaxClockDifference + half;
  const bool is_far = difference > limit || difference < -limit;
  if (is_far && differences_.Allows(links_.loop.clock().Now())) {
    KV_WARN("a peer's clock is far from ours", {"peer", IdText(peer_)},
            {"difference-ms",
             std::chrono::duration_cast<std::chrono::milliseconds>(difference).count()},
            {"round-trip-us",
             std::chrono::duration_cast<std::chrono::microseconds>(round_trip).count()});
  }
}

}  // namespace kvorum::server
