#include "tests/sim/world/peer_posts.h"

#include <algorithm>
#include <utility>

#include "rpc/http/http.h"

namespace kvorum::sim {

class PeerPosts::Poster final : public server::PeerPoster {
 public:
  Poster(PeerPosts& posts, std::size_t from) : posts_(posts), from_(from) {}
  void Post(raft::MemberId to, std::string path, SharedBytes body, Duration timeout,
            Done done) override {
    posts_.Post(from_, to, std::move(path), std::move(body), timeout, std::move(done));
  }

 private:
  PeerPosts& posts_;
  const std::size_t from_;
};

// The answer's way back, if the process lives that long.
class PeerPosts::Sink final : public rpc::HttpSink {
 public:
  Sink(PeerPosts& posts, std::uint64_t number, std::size_t from, std::size_t to)
      : posts_(posts), number_(number), from_(from), to_(to) {}
  void Complete(rpc::HttpResponse response) override {
    if (!posts_.machines_[to_]->up()) return;
    posts_.Answer(number_, from_, to_, {.status = response.status, .body = Join(response.body)});
  }

 private:
  PeerPosts& posts_;
  const std::uint64_t number_;
  const std::size_t from_;
  const std::size_t to_;
};

PeerPosts::~PeerPosts() = default;

std::unique_ptr<server::PeerPoster> PeerPosts::PosterOf(std::size_t machine) {
  return std::make_unique<Poster>(*this, machine);
}

void PeerPosts::Forget(const Machine& machine) {
  std::erase_if(waiting_,
                [&](const auto& entry) { return entry.second.machine == machine.number(); });
}

void PeerPosts::Post(std::size_t from, raft::MemberId to, std::string path, SharedBytes body,
                     Duration timeout, server::PeerPoster::Done done) {
  world_.faults.Add(Fault::kLeaseForwarded);
  const std::uint64_t number = ++last_number_;
  waiting_.emplace(number, Waiting{.machine = from, .done = std::move(done)});
  Machine& machine = *machines_[from];
  machine.lane(LaneKind::kPeer).PostAt(machine.clock().Now() + timeout, [this, number] {
    Tell(number, Fail(Code::kUnavailable, "no answer in time"));
  });
  const int times = network_.RepeatsQuestion() ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    world_.scheduler.After(network_.Delay(), [this, number, from, to, path, body]() mutable {
      Deliver(number, from, to, std::move(path), std::move(body));
    });
  }
}

void PeerPosts::Deliver(std::uint64_t number, std::size_t from, raft::MemberId to, std::string path,
                        SharedBytes body) {
  const auto found = std::ranges::find(machines_, to, [](const auto& m) { return m->member_id(); });
  if (found == machines_.end() || !network_.Reaches(from, (*found)->number())) return;
  Machine& machine = **found;
  if (!machine.up()) {
    Machine& asker = *machines_[from];
    if (!asker.up()) return;
    return asker.lane(LaneKind::kPeer).Post([this, number] {
      Tell(number, Fail(Code::kUnavailable, "connection refused"));
    });
  }
  auto sink = std::make_shared<Sink>(*this, number, from, machine.number());
  machine.lane(LaneKind::kPeer)
      .Post([&machine, path = std::move(path), body = std::move(body),
             reply = rpc::HttpReply(std::move(sink))]() mutable {
        machine.services().ServePeer(std::move(path), std::move(body), std::move(reply));
      });
}

void PeerPosts::Answer(std::uint64_t number, std::size_t from, std::size_t to,
                       server::PeerPoster::Answer answer) {
  world_.scheduler.After(
      network_.Delay(), [this, number, from, to, answer = std::move(answer)]() mutable {
        Machine& asker = *machines_[from];
        if (!waiting_.contains(number) || !asker.up() || !network_.Reaches(to, from)) return;
        asker.lane(LaneKind::kPeer).Post([this, number, answer = std::move(answer)]() mutable {
          Tell(number, std::move(answer));
        });
      });
}

void PeerPosts::Tell(std::uint64_t number, Result<server::PeerPoster::Answer> answer) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;
  server::PeerPoster::Done done = std::move(found->second.done);
  waiting_.erase(found);
  done(std::move(answer));
}

}  // namespace kvorum::sim
