// The control protocol of a running command: other processes of the same user ask it through a unix
// socket (control_server.h, control_client.h).
//
// A request is a JSON object on a line: {"command":NAME,...}. Its answer is any number of lines
// {"item":VALUE}, and then one {"ok":VALUE} or {"error":TEXT}. A connection carries one request
// after another; bytes that are not UTF-8 stand as NAME_base64 (sync/kernel/json_bytes.h).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::ctl {

struct ControlLimits {
  std::size_t connections = 64;  // one more gets an error and is closed
  std::size_t request_bytes = std::size_t{2} << 20U;
  std::size_t request_depth = 64;  // of nested arrays and objects
  // Answer bytes that wait for the client; beyond them ControlReply::Item refuses, and the
  // connection is closed.
  std::size_t unread_bytes = std::size_t{8} << 20U;
  // A connection ends when nothing is asked of it, or when it takes none of its answer, for this
  // long. A request that waits for its answer may take any time.
  Duration patience = std::chrono::seconds(30);
};

// Makes the items of an answer, one at a time; nothing: that was the last.
using ControlItems = std::move_only_function<std::optional<sync::Json>()>;

// Receives an answer. Implemented by the connection, and by tests. Thread-safe.
class ControlSink {
 public:
  virtual ~ControlSink() = default;
  // A line with its end. False: the reader is gone.
  virtual bool Write(std::string line) = 0;
  // The items, as fast as the client reads them, and then the end.
  virtual void Stream(ControlItems items) = 0;
  // The answer is complete.
  virtual void End() = 0;
};

// The right to answer one request, once. Thread-safe in that any one thread may use it. If it is
// dropped without an end, it answers with an error.
class ControlReply {
 public:
  explicit ControlReply(std::shared_ptr<ControlSink> sink) : sink_(std::move(sink)) {}
  ControlReply(ControlReply&&) noexcept = default;
  ControlReply& operator=(ControlReply&&) = delete;
  ~ControlReply();

  // For answers that come over time. False: the client has gone, or does not read; there is no use
  // in more.
  bool Item(const sync::Json& item);
  // Exactly one of these, once. `items` is called on the socket's thread while the client reads,
  // and never once the server is destroyed: it must own what it reads, and not wait.
  void Ok();  // with an empty object
  void Ok(const sync::Json& value);
  void Fail(const std::string& text);
  void Stream(ControlItems items);

 private:
  std::shared_ptr<ControlSink> sink_;  // null once answered
};

// Called on the executor that the server was given. It may answer later, from any thread.
using ControlHandler = std::move_only_function<void(const sync::Json& request, ControlReply reply)>;
using ControlHandlers = std::map<std::string, ControlHandler, std::less<>>;

// The object of a request's line; kInvalidArgument with what is wrong with it.
Result<sync::Json> ParseControlRequest(std::string_view line, const ControlLimits& limits);

// Without a line's end; bytes that are not UTF-8 become U+FFFD.
std::string ControlText(const sync::Json& json);

}  // namespace kvorum::ctl
