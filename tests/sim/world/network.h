// The network between the simulated machines, with faults: messages are lost, repeated, delayed and
// overtaken; links are cut, also in one direction. Every message goes through its encoding.
// Snapshots go as streams of parts, cut anywhere.
//
// Messages usually go by streams: in order, unless one is late. In some runs each is a separate
// post (World::has_posts), up to four at a time to a member as in server/peer/streams/pipeline.h:
// they arrive in any order, and the sender may hear of a broken connection although the message
// arrived. Proposals are repeated in some runs only (World::has_repeated_proposals).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/peer/codec/transport.h"
#include "tests/sim/world/admission.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Network {
 public:
  struct Weather {
    Duration least_delay = std::chrono::microseconds(100);
    Duration most_delay = std::chrono::milliseconds(2);
    std::uint64_t lost_permille = 0;
    std::uint64_t repeated_permille = 0;
    // Delayed for up to late_delay; others overtake it.
    std::uint64_t late_permille = 0;
    Duration late_delay = std::chrono::milliseconds(500);
    // For the parts of snapshots: the connection breaks there.
    std::uint64_t snapshot_cut_permille = 0;
  };

  explicit Network(World& world);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  void Connect(Machine& machine);
  void SetWeather(const Weather& weather) { weather_ = weather; }

  // Nothing gets from one machine to the other until Heal.
  void Cut(std::size_t from, std::size_t to);
  void Heal();
  bool Reaches(std::size_t from, std::size_t to) const {
    const auto link = links_.find({from, to});
    return link == links_.end() || !link->second.cut;
  }
  // For a small message that is not one of Raft's.
  Duration Delay();
  // True if such a message is to be sent a second time.
  bool RepeatsQuestion();
  // The process has ended.
  void Forget(Machine& machine);
  // From now on no snapshot takes its time.
  void Hurry() { hurries_ = true; }
  // In runs that replace disks.
  void StartDialing() { admission_.Start(); }
  // Called when a member begins to receive a snapshot.
  std::function<void(Machine&)> on_receiving = [](Machine&) {};

 private:
  class Port;
  struct Link {
    bool cut = false;
    TimePoint last_delivery{};
    std::uint64_t last_sent = 0;  // messages are numbered as they are sent
    std::uint64_t last_delivered = 0;
  };

  struct Posted {
    raft::MessageType type{};
    raft::MemberId receiver = raft::kNone;
    SharedBytes bytes;
  };
  // From one process to a machine.
  struct Pipeline {
    std::deque<Posted> waiting;
    std::size_t busy = 0;  // connections
  };

  // A snapshot being sent.
  struct Stream {
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint64_t from_life = 0;
    std::uint64_t to_life = 0;
    SharedBytes message;  // encoded
    raft::MemberId receiver = raft::kNone;
    std::unique_ptr<mvcc::SnapshotSource> source;
    std::unique_ptr<mvcc::SnapshotSink> sink;
    SharedBytes unsent;  // of the source's last chunk
    Admission::Way way;
    TimePoint began{};
    TimePoint ends_behind{};  // of one that takes its time
    bool over = false;
  };

  void Send(std::size_t from, raft::Message message);
  // Now and then a forged message beside this one, and a forged snapshot instead of the real one.
  void ForgeChange(std::size_t from, std::size_t to, const raft::Message& message);
  raft::Message ForgeConfiguration(const raft::Message& message);
  TimePoint ArrivalByStream(Link& link);
  bool IsRepeated(raft::MessageType type);
  void Arrive(std::size_t from, std::size_t to, const Posted& message, TimePoint when);
  void PostWaiting(std::size_t from, std::size_t to);
  void PostOne(std::size_t from, std::size_t to, const Posted& message);
  void EndPost(std::size_t from, std::size_t to, raft::MemberId receiver, bool broken);
  void Deliver(std::size_t from, std::size_t to, std::uint64_t number, const SharedBytes& bytes,
               const Admission::Way& way);
  void Refuse(std::size_t caller, std::size_t by, raft::MemberId sender);
  bool IsCut(std::size_t from, std::size_t to, bool count);
  void SendSnapshot(std::size_t from, const raft::Message& message,
                    std::unique_ptr<mvcc::SnapshotSource> source);
  // The next part of its content, of any size; empty at the end.
  Result<SharedBytes> NextPart(Stream& stream);
  void SendPart(const std::shared_ptr<Stream>& stream);
  void TakePart(const std::shared_ptr<Stream>& stream, const SharedBytes& part);
  Result<bool> WritePart(Stream& stream, const SharedBytes& part);
  void EndStream(Stream& stream, bool succeeded);
  bool Stands(std::size_t machine, std::uint64_t life) const {
    return machines_[machine]->up() && machines_[machine]->life() == life;
  }
  std::optional<std::size_t> FindMachine(raft::MemberId id) const;
  void ReportUnreachable(std::size_t at, raft::MemberId peer);

  World& world_;
  std::vector<Machine*> machines_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::map<std::pair<std::size_t, std::size_t>, Link> links_;
  std::map<std::pair<std::size_t, std::size_t>, Pipeline> pipelines_;
  std::vector<std::shared_ptr<Stream>> streams_;
  Admission admission_;
  Weather weather_;
  bool hurries_ = false;
};

}  // namespace kvorum::sim
