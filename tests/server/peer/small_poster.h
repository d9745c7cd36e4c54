// The posts between the services of a small cluster: they arrive at the other member's peer port
// after the network's latency, unless a link is cut or the member is down.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "server/peer/transport/peer_poster.h"
#include "server/replica/upkeep/defragment_turns.h"
#include "server/services/cluster/peer_http.h"
#include "tests/server/member_services.h"
#include "tests/server/replica/small_cluster.h"

namespace kvorum::server {

class SmallPosts {
 public:
  explicit SmallPosts(SmallCluster& cluster) : cluster_(cluster), lane_(cluster.scheduler()) {}

  // The services of member i answers from now on, and may ask; nullptr: it is down.
  void Plug(std::size_t i, MemberServices* services) {
    Port& port = ports_[cluster_.id(i)];
    if (services == nullptr) {
      port.handler = nullptr;
      return;
    }
    port.machine = i;
    port.poster = std::make_unique<Poster>(*this, cluster_.id(i));
    port.handler =
        std::make_shared<rpc::HttpHandler>(MakePeerHttpHandler(services->peer_parts(port.turns)));
    services->poster().plug = port.poster.get();
  }

  // Requests that were posted.
  std::size_t posted() const { return posted_; }

 private:
  // Called once: with the answer, or that none came in time.
  struct Outcome {
    PeerPoster::Done done;
    void Tell(Result<PeerPoster::Answer> answer) {
      if (done != nullptr) std::exchange(done, nullptr)(std::move(answer));
    }
  };
  struct Sink final : rpc::HttpSink {
    std::move_only_function<void(rpc::HttpResponse)> tell;
    void Complete(rpc::HttpResponse response) override { tell(std::move(response)); }
  };
  class Poster final : public PeerPoster {
   public:
    Poster(SmallPosts& posts, raft::MemberId from) : posts_(posts), from_(from) {}
    void Post(raft::MemberId to, std::string path, SharedBytes body, Duration timeout,
              Done done) override {
      posts_.Post(from_, to, std::move(path), std::move(body), timeout, std::move(done));
    }

   private:
    SmallPosts& posts_;
    const raft::MemberId from_;
  };
  struct Port {
    std::size_t machine = 0;
    DefragmentTurns turns;
    std::unique_ptr<Poster> poster;
    std::shared_ptr<rpc::HttpHandler> handler;
  };

  void Post(raft::MemberId from, raft::MemberId to, std::string path, SharedBytes body,
            Duration timeout, PeerPoster::Done done) {
    ++posted_;
    auto outcome = std::make_shared<Outcome>(std::move(done));
    const TimePoint now = cluster_.scheduler().clock().Now();
    lane_.PostAt(now + timeout,
                 [outcome] { outcome->Tell(Fail(Code::kUnavailable, "no answer in time")); });
    lane_.PostAt(now + SmallNetwork::kLatency, [this, from, to, outcome, path = std::move(path),
                                                body = std::move(body)]() mutable {
      Deliver(from, to, std::move(path), std::move(body), outcome);
    });
  }
  void Deliver(raft::MemberId from, raft::MemberId to, std::string path, SharedBytes body,
               std::shared_ptr<Outcome> outcome) {
    if (cluster_.network().IsCut(from, to)) return;
    const Port& port = ports_[to];
    if (port.handler == nullptr) return outcome->Tell(Fail(Code::kUnavailable, "refused"));
    auto sink = std::make_shared<Sink>();
    sink->tell = [this, from, to, outcome](rpc::HttpResponse response) {
      lane_.PostAt(cluster_.scheduler().clock().Now() + SmallNetwork::kLatency,
                   [this, from, to, outcome, response = std::move(response)] {
                     if (cluster_.network().IsCut(to, from)) return;
                     outcome->Tell(PeerPoster::Answer{.status = response.status,
                                                      .body = Join(response.body)});
                   });
    };
    // A stopped member takes it when it resumes.
    cluster_.member(port.machine)
        .lanes()
        .io()
        .Post([handler = port.handler, path = std::move(path), body = std::move(body),
               sink = std::move(sink)]() mutable {
          rpc::HttpRequest request;
          request.method = "POST";
          request.target = std::move(path);
          request.body = std::move(body);
          (*handler)(std::move(request), rpc::HttpReply(std::move(sink)));
        });
  }

  SmallCluster& cluster_;
  Scheduler::Lane lane_;
  std::map<raft::MemberId, Port> ports_;
  std::size_t posted_ = 0;
};

}  // namespace kvorum::server
