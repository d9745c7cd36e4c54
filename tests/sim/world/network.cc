#include "tests/sim/world/network.h"

#include <fmt/core.h>

#include <algorithm>

#include "tests/sim/judges/forged_changes.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A peer that was not heard of for so long counts as gone.
constexpr Duration kActiveFor = seconds(2);
// The bound of messages that a process has not read: past it its peers' queues are full (4,096 is
// the bound of an etcd peer).
constexpr std::size_t kMostUnread = 4096;
// The values of server/peer/streams/pipeline.h and PeerOptions.
constexpr std::size_t kPostConnections = 4;
constexpr std::size_t kMostPosts = 64;
constexpr Duration kPostTimeout = seconds(5);
constexpr Duration kLongTransfer = seconds(20);
constexpr Duration kLongestTransfer = seconds(28);
// The bound of a part of a snapshot's stream, so that one of a few revisions has several, too.
constexpr std::size_t kMostPartBytes = 8192;
// In runs that forge joint configuration changes.
constexpr std::uint64_t kForgedMessagePermille = 20;
constexpr std::uint64_t kForgedSnapshotPermille = 150;

std::string DescribeMessage(const raft::Message& message) {
  return fmt::format("{} term {} log {}/{} commit {}{}{}", raft::Name(message.type), message.term,
                     message.log_term, message.index, message.commit,
                     message.entries.empty() ? "" : fmt::format(" +{}", message.entries.size()),
                     message.reject ? " reject" : "");
}

}  // namespace

// One machine's end.
class Network::Port final : public server::Transport {
 public:
  Port(Network& network, Machine& machine) : network_(network), machine_(machine) {}

  void Send(std::vector<raft::Message> messages) override {
    for (raft::Message& message : messages) network_.Send(machine_.number(), std::move(message));
  }
  void SendSnapshot(raft::Message message, std::unique_ptr<mvcc::SnapshotSource> source) override {
    network_.SendSnapshot(machine_.number(), message, std::move(source));
  }
  void SetMembers(std::shared_ptr<const server::MembershipView> view) override {
    view_ = std::move(view);
  }
  std::optional<TimePoint> ActiveSince(raft::MemberId peer) const override {
    const auto heard = heard_.find(peer);
    if (heard == heard_.end() || machine_.clock().Now() - heard->second.last > kActiveFor)
      return std::nullopt;
    return heard->second.since;
  }

  void Heard(raft::MemberId peer) {
    const TimePoint now = machine_.clock().Now();
    Hearing& heard = heard_[peer];
    if (now - heard.last > kActiveFor) heard.since = now;
    heard.last = now;
  }
  bool IsRemoved(raft::MemberId id) const {
    return view_ != nullptr && view_->removed.contains(id);
  }
  // Members, and those that have called: the new ones among them are not members here yet.
  bool Knows(raft::MemberId id) const {
    return view_ != nullptr && !IsRemoved(id) &&
           (view_->members.contains(id) || heard_.contains(id));
  }
  void Forget() {
    view_.reset();
    heard_.clear();
  }

 private:
  struct Hearing {
    TimePoint since{};
    TimePoint last{};
  };

  Network& network_;
  Machine& machine_;
  std::shared_ptr<const server::MembershipView> view_;
  std::map<raft::MemberId, Hearing> heard_;
};

Network::Network(World& world)
    : world_(world), admission_(world, machines_, [this](std::size_t from, std::size_t to) {
        return Reaches(from, to);
      }) {}

Network::~Network() = default;

void Network::Connect(Machine& machine) {
  machines_.push_back(&machine);
  ports_.push_back(std::make_unique<Port>(*this, machine));
  machine.transport = [this, number = machine.number()]() -> server::Transport& {
    return *ports_[number];
  };
}

void Network::Cut(std::size_t from, std::size_t to) { links_[{from, to}].cut = true; }

void Network::Heal() {
  for (auto& [ends, link] : links_) link.cut = false;
}

Duration Network::Delay() {
  const bool late = world_.scheduler.Chance(weather_.late_permille);
  return world_.scheduler.Between(weather_.least_delay, weather_.most_delay) +
         (late ? world_.scheduler.Between(milliseconds(0), weather_.late_delay) : Duration(0));
}

void Network::Forget(Machine& machine) {
  ports_[machine.number()]->Forget();
  std::erase_if(pipelines_, [&](const auto& item) { return item.first.first == machine.number(); });
  // A stream may end others' waiting only: its own callbacks come later.
  const std::vector<std::shared_ptr<Stream>> streams = streams_;
  for (const auto& stream : streams) {
    if (stream->from != machine.number() && stream->to != machine.number()) continue;
    if (stream->to == machine.number() && stream->sink != nullptr)
      world_.faults.Add(Fault::kCrashWhileReceiving);
    EndStream(*stream, false);
  }
}

std::optional<std::size_t> Network::FindMachine(raft::MemberId id) const {
  const auto found = std::ranges::find(machines_, id, &Machine::member_id);
  if (found == machines_.end()) return std::nullopt;
  return (*found)->number();
}

bool Network::IsCut(std::size_t from, std::size_t to, bool count) {
  const bool cut = links_[{from, to}].cut;
  if (cut && count) {
    world_.faults.Add(links_[{to, from}].cut ? Fault::kPartition : Fault::kOneWayPartition);
  }
  return cut;
}

void Network::ReportUnreachable(std::size_t at, raft::MemberId peer) {
  world_.scheduler.After(weather_.most_delay, [this, at, peer, life = machines_[at]->life()] {
    if (Stands(at, life)) machines_[at]->local_member().Unreachable(peer);
  });
}

void Network::Send(std::size_t from, raft::Message message) {
  const auto to = FindMachine(message.to);
  Scheduler& scheduler = world_.scheduler;
  const bool stands = to.has_value() && machines_[*to]->up() && ports_[from]->Knows(message.to);
  if (!stands || IsCut(from, *to, true)) {
    if (scheduler.rng().OneIn(3)) ReportUnreachable(from, message.to);
    return;
  }
  if (!world_.has_posts && scheduler.Chance(weather_.lost_permille)) {
    world_.faults.Add(Fault::kMessageLost);
    world_.Note("{} -> {} lost: {}", machines_[from]->name(), machines_[*to]->name(),
                DescribeMessage(message));
    return;
  }
  ForgeChange(from, *to, message);
  const Posted sent{.type = message.type,
                    .receiver = message.to,
                    .bytes = SharedBytes::Own(raft::Encode(message))};
  if (!world_.has_posts) return Arrive(from, *to, sent, ArrivalByStream(links_[{from, *to}]));
  Pipeline& pipeline = pipelines_[{from, *to}];
  if (pipeline.waiting.size() >= kMostPosts) {
    world_.faults.Add(Fault::kMessageLost);
    return ReportUnreachable(from, message.to);
  }
  pipeline.waiting.push_back(sent);
  PostWaiting(from, *to);
}

void Network::ForgeChange(std::size_t from, std::size_t to, const raft::Message& message) {
  if (!world_.has_forged_changes || !world_.scheduler.Chance(kForgedMessagePermille)) return;
  const auto forged = WithForgedChange(message, world_.scheduler.rng());
  if (!forged.has_value()) return;
  world_.faults.Add(Fault::kChangeForged);
  world_.scheduler.After(Delay(), [this, from, to, bytes = SharedBytes::Own(raft::Encode(*forged)),
                                   way = admission_.WayOf(from, to)] {
    if (!IsCut(from, to, true)) Deliver(from, to, links_[{from, to}].last_delivered, bytes, way);
  });
}

raft::Message Network::ForgeConfiguration(const raft::Message& message) {
  if (!world_.has_forged_changes || !world_.scheduler.Chance(kForgedSnapshotPermille))
    return message;
  world_.faults.Add(Fault::kSnapshotForged);
  return WithForgedConfiguration(message, world_.scheduler.rng());
}

TimePoint Network::ArrivalByStream(Link& link) {
  Scheduler& scheduler = world_.scheduler;
  const TimePoint when =
      scheduler.Now() + scheduler.Between(weather_.least_delay, weather_.most_delay);
  if (scheduler.Chance(weather_.late_permille)) {
    world_.faults.Add(Fault::kMessageDelayed);
    return when + scheduler.Between(milliseconds(0), weather_.late_delay);
  }
  link.last_delivery = std::max(when, link.last_delivery);
  return link.last_delivery;
}

// Raft tolerates it for its own messages. A repeated proposal would be two, if the leader did not
// recognise it; members send it once (peer_once_test.cc), proxies between them may not.
bool Network::IsRepeated(raft::MessageType type) {
  if (type == raft::MessageType::kProp && !world_.has_repeated_proposals) return false;
  if (!world_.scheduler.Chance(weather_.repeated_permille)) return false;
  world_.faults.Add(type == raft::MessageType::kProp ? Fault::kProposalRepeated
                                                     : Fault::kMessageDuplicated);
  return true;
}

bool Network::RepeatsQuestion() {
  return world_.has_repeated_proposals && world_.scheduler.Chance(weather_.repeated_permille);
}

void Network::Arrive(std::size_t from, std::size_t to, const Posted& message, TimePoint when) {
  Scheduler& scheduler = world_.scheduler;
  const std::uint64_t number = ++links_[{from, to}].last_sent;
  const auto deliver = [this, from, to, number, bytes = message.bytes,
                        way = admission_.WayOf(from, to)] {
    if (!IsCut(from, to, true)) Deliver(from, to, number, bytes, way);
  };
  scheduler.At(when, deliver);
  if (!IsRepeated(message.type)) return;
  // A connection ends with the process that it leads to, which alone knows the proposals that it
  // took.
  const bool ends = message.type == raft::MessageType::kProp;
  scheduler.At(when + scheduler.Between(milliseconds(0), weather_.late_delay),
               [this, to, ends, life = machines_[to]->life(), deliver] {
                 if (!ends || Stands(to, life)) deliver();
               });
}

// ---- posts instead of streams ----

void Network::PostWaiting(std::size_t from, std::size_t to) {
  Pipeline& pipeline = pipelines_[{from, to}];
  while (pipeline.busy < kPostConnections && !pipeline.waiting.empty()) {
    const Posted message = std::move(pipeline.waiting.front());
    pipeline.waiting.pop_front();
    ++pipeline.busy;
    PostOne(from, to, message);
  }
}

void Network::PostOne(std::size_t from, std::size_t to, const Posted& message) {
  Scheduler& scheduler = world_.scheduler;
  world_.faults.Add(Fault::kMessagePosted);
  const Duration there = Delay();
  const Duration back = Delay();
  // It breaks before the request is read, or before the answer is.
  const bool broken = scheduler.Chance(weather_.lost_permille);
  if (!broken || scheduler.rng().OneIn(2)) {
    if (broken) world_.faults.Add(Fault::kPostUnanswered);
    Arrive(from, to, message, scheduler.Now() + there);
  }
  const std::uint64_t life = machines_[from]->life();
  scheduler.After(there + back, [this, from, to, life, broken, receiver = message.receiver] {
    if (!Stands(from, life)) return;
    const bool is_cut = IsCut(from, to, false) || IsCut(to, from, false);
    if (!is_cut) return EndPost(from, to, receiver, broken || !machines_[to]->up());
    // It is not reported: the sender waits for the connection.
    world_.scheduler.After(kPostTimeout, [this, from, to, life, receiver] {
      if (Stands(from, life)) EndPost(from, to, receiver, true);
    });
  });
}

void Network::EndPost(std::size_t from, std::size_t to, raft::MemberId receiver, bool broken) {
  --pipelines_[{from, to}].busy;
  if (broken) ReportUnreachable(from, receiver);
  PostWaiting(from, to);
}

void Network::Deliver(std::size_t from, std::size_t to, std::uint64_t number,
                      const SharedBytes& bytes, const Admission::Way& way) {
  Machine& machine = *machines_[to];
  if (!machine.up() || !admission_.Hears(from, to, way)) return;
  auto message = raft::DecodeMessage(bytes);
  if (!message.has_value()) {
    return world_.Fail("a message of {} cannot be decoded: {}", machines_[from]->name(),
                       message.error().message);
  }
  Link& link = links_[{from, to}];
  if (number < link.last_delivered) world_.faults.Add(Fault::kMessageReordered);
  link.last_delivered = std::max(link.last_delivered, number);
  // A connection is one member's; the machine may be another's by now.
  if (message->to != machine.member_id()) return;
  if (ports_[to]->IsRemoved(message->from)) return Refuse(from, to, message->from);
  if (machine.lane(LaneKind::kPeer).waiting() >= kMostUnread) {
    world_.faults.Add(Fault::kMessageLost);
    return ReportUnreachable(from, message->to);
  }
  world_.Note("{} -> {} {}", machines_[from]->name(), machine.name(), DescribeMessage(*message));
  ports_[to]->Heard(message->from);
  // On the thread that reads the sockets, so that a process that was paused may serve its clients
  // before it learns what has happened since.
  machine.lane(LaneKind::kPeer).Post([&machine, message = *std::move(message)]() mutable {
    machine.local_member().Receive(std::move(message));
  });
}

// A removed member hears so when it calls, now and then.
void Network::Refuse(std::size_t caller, std::size_t by, raft::MemberId sender) {
  if (IsCut(by, caller, false) || !world_.scheduler.rng().OneIn(4)) return;
  world_.scheduler.After(weather_.most_delay, [this, caller, sender] {
    Machine& machine = *machines_[caller];
    if (!machine.up() || machine.member_id() != sender) return;
    world_.faults.Add(Fault::kRemovedTold);
    machine.EndRemoved();
  });
}

void Network::SendSnapshot(std::size_t from, const raft::Message& message,
                           std::unique_ptr<mvcc::SnapshotSource> source) {
  const auto to = FindMachine(message.to);
  auto stream = std::make_shared<Stream>();
  stream->from = from;
  stream->to = to.value_or(from);
  stream->from_life = machines_[from]->life();
  stream->to_life = machines_[stream->to]->life();
  stream->message = SharedBytes::Own(raft::Encode(ForgeConfiguration(message)));
  stream->way = admission_.PostOf(from, stream->to);
  stream->receiver = message.to;
  stream->source = std::move(source);
  stream->began = world_.scheduler.Now();
  if (world_.has_long_transfers && world_.scheduler.rng().OneIn(2))
    stream->ends_behind = stream->began + world_.scheduler.Between(kLongTransfer, kLongestTransfer);
  streams_.push_back(stream);
  world_.Note("{} sends a snapshot to {:x}: {}", machines_[from]->name(), message.to,
              DescribeMessage(message));
  world_.faults.Add(Fault::kSnapshotSent);
  if (!to.has_value()) return EndStream(*stream, false);
  SendPart(stream);
}

Result<SharedBytes> Network::NextPart(Stream& stream) {
  if (stream.unsent.empty()) {
    KV_TRY(stream.unsent, stream.source->Next());
  }
  if (stream.unsent.empty()) return SharedBytes();
  const std::size_t most = std::min(stream.unsent.size(), kMostPartBytes);
  const std::size_t size = 1 + world_.scheduler.rng().Below(most);
  SharedBytes part = stream.unsent.Slice(0, size);
  stream.unsent = stream.unsent.Slice(size, stream.unsent.size() - size);
  return part;
}

void Network::SendPart(const std::shared_ptr<Stream>& stream) {
  machines_[stream->from]->lane(LaneKind::kPeer).Post([this, stream] {
    if (stream->over) return;
    auto part = NextPart(*stream);
    if (!part.has_value()) return EndStream(*stream, false);
    Duration takes = world_.scheduler.Between(weather_.least_delay, 10 * weather_.most_delay);
    if (!hurries_ && world_.scheduler.Now() < stream->ends_behind) {
      // A part of the time that is left; all of it before the end, since a database may have one
      // part.
      const Duration left = stream->ends_behind - world_.scheduler.Now();
      takes += part->empty() ? left : world_.scheduler.Between(Duration(0), left / 2);
    }
    world_.scheduler.After(takes, [this, stream, part = *std::move(part)] {
      if (stream->over) return;
      const bool broken = world_.scheduler.Chance(weather_.snapshot_cut_permille) ||
                          IsCut(stream->from, stream->to, true) ||
                          !Stands(stream->to, stream->to_life);
      if (broken) {
        world_.faults.Add(Fault::kSnapshotCut);
        return EndStream(*stream, false);
      }
      machines_[stream->to]->lane(LaneKind::kPeer).Post([this, stream, part] {
        TakePart(stream, part);
      });
    });
  });
}

void Network::TakePart(const std::shared_ptr<Stream>& stream, const SharedBytes& part) {
  if (stream->over) return;
  const auto whole = WritePart(*stream, part);
  if (!whole.has_value()) {
    world_.Note("{} does not take the snapshot: {}", machines_[stream->to]->name(),
                whole.error().message);
    return EndStream(*stream, false);
  }
  if (!*whole) return SendPart(stream);
  world_.faults.Add(Fault::kSnapshotReceived);
  if (world_.scheduler.Now() > stream->began + kLongTransfer)
    world_.faults.Add(Fault::kTransferLong);
  // The sender may not learn of it.
  EndStream(*stream, !world_.scheduler.rng().OneIn(10));
}

// True once the snapshot is whole.
Result<bool> Network::WritePart(Stream& stream, const SharedBytes& part) {
  if (stream.sink == nullptr) {
    if (!admission_.Hears(stream.from, stream.to, stream.way))
      return Fail(Code::kFailedPrecondition, "the sender has lost data");
    KV_TRY(auto message, raft::DecodeMessage(stream.message));
    KV_TRY(stream.sink, machines_[stream.to]->local_member().ReceiveSnapshot(std::move(message)));
    on_receiving(*machines_[stream.to]);
  }
  if (part.empty()) {
    KV_RETURN_IF_ERROR(stream.sink->Finish());
    return true;
  }
  KV_RETURN_IF_ERROR(stream.sink->Write(part.view()));
  return false;
}

void Network::EndStream(Stream& stream, bool succeeded) {
  if (std::exchange(stream.over, true)) return;
  stream.sink.reset();
  stream.source.reset();
  std::erase_if(streams_, [&](const auto& other) { return other.get() == &stream; });
  world_.scheduler.After(weather_.most_delay, [this, from = stream.from, life = stream.from_life,
                                               to = stream.receiver, succeeded] {
    if (Stands(from, life)) machines_[from]->local_member().SnapshotSent(to, succeeded);
  });
}

}  // namespace kvorum::sim
