// The network between small members: messages go through their encoding, arrive in order after a
// latency, and are lost only where a test cuts a link. A message to a member that is down is lost
// and reported, like a refused connection; one sent over a cut link is lost silently.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/peer/codec/transport.h"
#include "server/peer/io/incarnation.h"
#include "tests/server/replica/lanes.h"

namespace kvorum::server {

class SmallNetwork {
 public:
  static constexpr Duration kLatency = std::chrono::milliseconds(1);

  explicit SmallNetwork(Scheduler& scheduler) : scheduler_(scheduler), lane_(scheduler) {}

  // The transport of one member, for as long as the network lives.
  Transport& PortOf(raft::MemberId id) {
    auto& port = ports_[id];
    if (port == nullptr) port = std::make_unique<Port>(*this, id);
    return *port;
  }
  // Connects the member that is up behind a port; nullptr when it went down.
  void Plug(raft::MemberId id, TransportReceiver* receiver, IncarnationGuard* guard = nullptr) {
    PortOf(id);
    ports_[id]->receiver = receiver;
    ports_[id]->guard = guard;
    std::erase_if(admitted_,
                  [&](const auto& link) { return link.first == id || link.second == id; });
    std::erase_if(active_since_, [&](const auto& item) {
      return item.first.first == id || item.first.second == id;
    });
    if (receiver == nullptr) return;
    // Connections are opened at once.
    const TimePoint now = scheduler_.clock().Now();
    for (const auto& [other, port] : ports_) {
      if (other == id || port->receiver == nullptr) continue;
      if (!cut_.contains({id, other})) active_since_[{id, other}] = now;
      if (!cut_.contains({other, id})) active_since_[{other, id}] = now;
      if (!cut_.contains({id, other}) && !cut_.contains({other, id})) {
        static_cast<void>(IsAdmitted(id, other));
        static_cast<void>(IsAdmitted(other, id));
      }
    }
  }

  // One way.
  void Cut(raft::MemberId from, raft::MemberId to) {
    cut_.emplace(from, to);
    active_since_.erase({from, to});
  }
  bool IsCut(raft::MemberId from, raft::MemberId to) const { return cut_.contains({from, to}); }
  void Mend(raft::MemberId from, raft::MemberId to) { cut_.erase({from, to}); }
  // Both ways, from everybody.
  void Isolate(raft::MemberId id) {
    for (const auto& [other, port] : ports_) {
      if (other == id) continue;
      Cut(id, other);
      Cut(other, id);
    }
  }
  void MendAll() { cut_.clear(); }
  // Messages for which it returns true are lost; it may also look on, or change them.
  void SetFilter(std::function<bool(raft::Message&)> loses) { loses_ = std::move(loses); }

  // Snapshots travel as etcd's members send them.
  void SendSnapshotsAsEtcd() { as_etcd_ = true; }
  // The time for each chunk of a snapshot.
  void SetChunkTime(Duration time) { chunk_time_ = time; }
  // Snapshots that arrived whole.
  std::size_t snapshots_delivered() const { return snapshots_delivered_; }

 private:
  struct Port final : Transport {
    Port(SmallNetwork& owner, raft::MemberId own_id) : network(owner), id(own_id) {}
    void Send(std::vector<raft::Message> messages) override {
      for (raft::Message& message : messages) network.Send(id, std::move(message));
    }
    void SendSnapshot(raft::Message message,
                      std::unique_ptr<mvcc::SnapshotSource> content) override {
      network.SendSnapshot(id, std::move(message), std::move(content));
    }
    void SetMembers(std::shared_ptr<const MembershipView> view) override {
      members = std::move(view);
    }
    std::optional<TimePoint> ActiveSince(raft::MemberId peer) const override {
      const auto found = network.active_since_.find({peer, id});
      if (found == network.active_since_.end()) return std::nullopt;
      return found->second;
    }
    SmallNetwork& network;
    const raft::MemberId id;
    TransportReceiver* receiver = nullptr;
    IncarnationGuard* guard = nullptr;
    std::shared_ptr<const MembershipView> members;
  };

  TransportReceiver* ReceiverOf(raft::MemberId id) {
    const auto found = ports_.find(id);
    return found == ports_.end() ? nullptr : found->second->receiver;
  }
  void ReportUnreachable(raft::MemberId from, raft::MemberId to) {
    if (TransportReceiver* sender = ReceiverOf(from); sender != nullptr) sender->Unreachable(to);
  }

  void Send(raft::MemberId from, raft::Message message) {
    if (loses_ && loses_(message)) return;
    auto bytes = SharedBytes::Own(raft::Encode(message));
    lane_.PostAt(scheduler_.clock().Now() + kLatency,
                 [this, from, to = message.to, bytes = std::move(bytes)]() mutable {
                   Deliver(from, to, std::move(bytes));
                 });
  }
  void Deliver(raft::MemberId from, raft::MemberId to, SharedBytes bytes) {
    if (cut_.contains({from, to})) return;
    TransportReceiver* receiver = ReceiverOf(to);
    if (receiver == nullptr) return ReportUnreachable(from, to);
    // A removed member is not listened to, as by the real transport.
    const auto& members = ports_.at(to)->members;
    if (members != nullptr && members->removed.contains(from)) return;
    if (!IsAdmitted(from, to)) return;
    Result<raft::Message> message = raft::DecodeMessage(bytes);
    KV_CHECK(message.has_value(), "a message that no peer can read");
    // A connection does not outlive its sender.
    if (ReceiverOf(from) != nullptr)
      active_since_.emplace(std::pair(from, to), scheduler_.clock().Now());
    receiver->Receive(*std::move(message));
  }

  // Judged once for as long as both run, as when a stream is opened.
  bool IsAdmitted(raft::MemberId from, raft::MemberId to) {
    IncarnationGuard* sender = ports_.at(from)->guard;
    IncarnationGuard* receiver = ports_.at(to)->guard;
    if (sender == nullptr || receiver == nullptr || admitted_.contains({from, to})) return true;
    if (!receiver->Admits(from, sender->Own(), IncarnationGuard::Told::kByItsUrl)) {
      sender->ToldOfLoss(to, receiver->Own());
      return false;
    }
    admitted_.emplace(from, to);
    return true;
  }

  struct Transfer {
    raft::MemberId from;
    raft::Message message;
    std::unique_ptr<mvcc::SnapshotSource> source;
    std::unique_ptr<mvcc::SnapshotSink> sink;
  };
  void SendSnapshot(raft::MemberId from, raft::Message message,
                    std::unique_ptr<mvcc::SnapshotSource> content) {
    if (as_etcd_) KV_CHECK(content->Use(mvcc::SnapshotFormat::kEtcd).has_value(), "no image");
    auto transfer = std::make_shared<Transfer>(
        Transfer{.from = from, .message = message, .source = std::move(content), .sink = {}});
    lane_.PostAt(scheduler_.clock().Now() + kLatency, [this, transfer] { Continue(transfer); });
  }
  // One chunk after another; any failure ends it.
  void Continue(const std::shared_ptr<Transfer>& transfer) {
    const Result<bool> more = Move(*transfer);
    if (more.has_value() && *more) {
      lane_.PostAt(scheduler_.clock().Now() + chunk_time_,
                   [this, transfer] { Continue(transfer); });
      return;
    }
    transfer->sink.reset();
    transfer->source.reset();
    if (more.has_value()) ++snapshots_delivered_;
    TransportReceiver* sender = ReceiverOf(transfer->from);
    if (sender != nullptr) sender->SnapshotSent(transfer->message.to, more.has_value());
  }
  Result<bool> Move(Transfer& transfer) {
    const raft::MemberId to = transfer.message.to;
    TransportReceiver* receiver = ReceiverOf(to);
    if (receiver == nullptr || cut_.contains({transfer.from, to}) ||
        cut_.contains({to, transfer.from}))
      return Fail(Code::kUnavailable, "the connection broke");
    if (transfer.sink == nullptr) {
      KV_TRY(transfer.sink, receiver->ReceiveSnapshot(transfer.message));
    }
    KV_TRY(const SharedBytes chunk, transfer.source->Next());
    if (chunk.empty()) {
      KV_RETURN_IF_ERROR(transfer.sink->Finish());
      return false;
    }
    KV_RETURN_IF_ERROR(transfer.sink->Write(chunk.view()));
    return true;
  }

  Scheduler& scheduler_;
  Duration chunk_time_ = kLatency;
  Scheduler::Lane lane_;
  std::map<raft::MemberId, std::unique_ptr<Port>> ports_;
  std::set<std::pair<raft::MemberId, raft::MemberId>> cut_;  // from, to
  std::map<std::pair<raft::MemberId, raft::MemberId>, TimePoint> active_since_;
  std::set<std::pair<raft::MemberId, raft::MemberId>> admitted_;  // from, to
  std::function<bool(raft::Message&)> loses_;
  std::size_t snapshots_delivered_ = 0;
  bool as_etcd_ = false;
};

}  // namespace kvorum::server
