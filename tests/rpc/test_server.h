// A server as production sets it up with one method of each kind, for the tests of this folder.
//
//   /test.Echo/Unary        answers with the request
//   /test.Echo/Later        the same, from another thread
//   /test.Echo/Fail         "code:text" in the request becomes the error
//   /test.Echo/Hold         answers when the test says so (Release), or never
//   /test.Echo/Drop         drops its reply
//   /test.Echo/Size         answers with as many bytes as the request's number says
//   /test.Echo/Pieces       the same, made in pieces of kPieceBytes, on another thread; "1000 7"
//                           breaks off at the seventh
//   /test.Echo/Metadata     answers "name=value\n" for each metadata entry
//   /test.Echo/Expand       server stream: as many messages as the number says, of 1000 bytes
//   /test.Echo/Collect      client stream: the sum of the messages' sizes at the end
//   /test.Echo/Chat         bidi stream: each message back
//   /test.Echo/Stall        as Collect, but reads nothing until the test says so (Release)
//   /test.Echo/Late         bidi stream: finishes with "first" at the first message, then reads,
//                           writes and finishes on
//   /test.Echo/Race         bidi stream: reads and writes until that fails, while another thread
//                           finishes it at the first message
//
// Over HTTP /large answers with kLargeBytes, more than sockets hold; /stream sends a body back
// while it comes, WebSocket's messages too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "rpc/call/health.h"
#include "rpc/server/server.h"
#include "tests/eventually.h"

namespace kvorum::rpc {

class TestServer {
 public:
  static constexpr std::size_t kPieceBytes = 10'000;
  static constexpr std::size_t kLargeBytes = std::size_t{32} << 20;

  explicit TestServer(Options options = {});
  ~TestServer();

  const std::string& address() const { return address_; }
  std::uint16_t port() const;
  Server& server() { return *server_; }
  Health& health() { return health_; }
  // Lets calls of Hold and Stall go on, and all that follow.
  void Release();
  void ReleaseHeld();  // those that wait now
  void Shutdown(std::chrono::milliseconds grace) { server_->Shutdown(grace); }

  std::atomic<int> started{0};                 // calls whose start hook ran
  std::atomic<int> ended{0};                   // whose end hook ran
  std::atomic<int> held{0};                    // calls of Hold and Stall that wait
  std::atomic<std::size_t> most_held{0};       // at once
  std::atomic<int> cancelled{0};               // whose OnCancel ran
  std::atomic<std::uint64_t> stream_reads{0};  // messages that the stream hook saw
  std::atomic<std::uint64_t> stream_writes{0};
  std::atomic<int> late{0};                      // reads and writes of Late and Race that failed
  std::atomic<int> batches{0};                   // runs of the batch hook
  std::atomic<std::size_t> largest_buffered{0};  // seen by Expand while it writes
  std::atomic<int> pieces{0};                    // that Pieces made
  std::atomic<int> makers{0};                    // of pieces that are there
  std::atomic<int> gone_clients{0};              // of HTTP requests to /waits
  std::atomic<int> large_answers{0};             // made for HTTP requests to /large
  // The last end that was reported.
  CallEnd last_end();
  std::string last_peer();
  std::optional<std::string> last_certificate_name();

 private:
  Router MakeRouter();
  HttpHandler MakeHttp();
  void Hold(std::move_only_function<void()> release);

  Health health_;
  ThreadExecutor other_thread_{"other"};
  std::mutex mutex_;
  bool released_ = false;
  std::vector<std::move_only_function<void()>> holding_;
  std::vector<HttpReply> waiting_;
  CallEnd last_end_;
  std::string last_message_;
  std::string last_peer_;
  std::optional<std::string> last_certificate_name_;
  std::unique_ptr<Server> server_;
  std::string address_;
};

}  // namespace kvorum::rpc
