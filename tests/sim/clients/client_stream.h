// A stream between a simulated client and the services of a simulated process: each side's messages
// arrive a moment later, in order; a client that does not read keeps the server's writes waiting;
// it ends when either side leaves, or with the process.
//
// The server's pending operations are dropped with its process (Break), so that nothing of it is
// left over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/call/service.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Machine;

class ClientStream final : public rpc::ServerStream,
                           public std::enable_shared_from_this<ClientStream> {
 public:
  // Called for the client; neither after it has left.
  struct Receiver {
    std::function<void(std::string_view message)> on_message;
    std::function<void(const Error& status)> on_end;
  };
  ClientStream(World& world, Machine& machine, Receiver receiver);

  // ---- the client's side ----
  // Opens it at the process that the machine then runs.
  void Open(std::string path, bool wants_leader, const std::string& token = {});
  void Say(std::string message);
  void SetReading(bool reads);
  void Leave();

  // ---- the process's side ----
  // It has ended.
  void Break();
  bool is_over() const { return over_; }

  rpc::CallContext& context() override { return context_; }
  void Read(ReadCallback callback) override;
  void Write(ByteChain message, WriteCallback callback) override;
  void WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) override;
  std::size_t buffered_bytes() const override { return held_.size(); }
  void Finish(Error status) override;
  void Cut(Error reason) override;

 private:
  Duration OneWay();
  // On the process's I/O executor, if the process still lives.
  void PostToServer(void (ClientStream::*task)());
  void Serve();
  void PassRead();
  void PassWritten();
  void EndServer(const Error& reason);
  void DropCallbacks();
  // For the server's operations after it has finished.
  template <class Callback>
  void RefuseLate(Callback callback);
  void Take(std::string frames, WriteCallback callback);
  void Deliver(std::string frames);
  void TellEnd(Error status);
  // In the order in which it was said.
  void AtClient(std::move_only_function<void()> task);
  bool Stands() const;

  World& world_;
  Machine& machine_;
  Receiver receiver_;
  std::string path_;
  std::uint64_t life_ = 0;  // of the machine's processes; 0: none has taken it yet
  rpc::CallContext context_;
  TimePoint last_arrival_{};  // at the client
  TimePoint last_said_{};     // when the last message arrives at the server
  std::deque<std::string> inbox_;
  ReadCallback reader_;
  WriteCallback writer_;
  std::string held_;  // frames not yet taken by a client that does not read
  std::optional<Error> status_;
  bool reads_ = true;
  bool left_ = false;  // the client
  bool over_ = false;  // for the server
  bool lost_ = false;  // messages in flight to the client never arrive
};

}  // namespace kvorum::sim
