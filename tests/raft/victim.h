// One member with its driver, alone among peers that may send anything: for tests and fuzz targets
// that play the peers. The driver's side of the contract is always kept, the member's
// output is checked (that it is consecutive, durable before it is applied, never taken back), and
// so are its own invariants; a broken one stops the process.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "raft/node.h"

namespace kvorum::raft {

class Victim {
 public:
  static constexpr MemberId kId = 1;

  // Member 1 of voters 1, 2, 3 and learner 4.
  explicit Victim(std::uint64_t seed);

  Node& node() { return *node_; }
  // True if the member took it for something that a member may send.
  bool Receive(Message message);
  void Tick();
  void TakeReady();
  void PersistOne();
  void ApplyOne();
  void Compact();
  // Everything that there is to do.
  void Work();
  // Process end and start: it finds what was persisted.
  void Restart();

  // Everything that came out so far, as bytes; only kept if asked for.
  void KeepOutput() { keeps_output_ = true; }
  const std::string& output() const { return output_; }
  std::size_t sent() const { return sent_; }
  std::size_t refused() const { return refused_; }

 private:
  struct ToApply {
    Entry entry{};
    std::shared_ptr<const Snapshot> snapshot{};
    std::uint64_t ready_number = 0;  // that has to be persisted first
  };

  void Check();
  void WriteDown(const Ready& ready);
  void Keep(const Ready& ready);

  Config config_;
  raft::Restart disk_;
  std::unique_ptr<Node> node_;
  std::deque<Ready> writes_;
  std::uint64_t persisted_ = 0;
  std::uint64_t last_number_ = 0;
  std::deque<ToApply> to_apply_;
  Index last_given_to_apply_ = 0;
  Term last_term_ = 0;
  bool keeps_output_ = false;
  std::string output_;
  std::size_t sent_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace kvorum::raft
