// One connection of a control socket, on the server's side: lines in, lines out, one request at a
// time.
//
// Belongs to its loop, except what ControlSink has, which is thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "rpc/io/loop.h"
#include "rpc/tls/socket.h"
#include "tools/run/control.h"

namespace kvorum::ctl {

class ControlConnection final : public rpc::Loop::Watcher,
                                public ControlSink,
                                public std::enable_shared_from_this<ControlConnection> {
 public:
  // Called on the loop, with each request that can be read.
  using OnRequest = std::function<void(sync::Json request, ControlReply reply)>;
  // The connection is closed, and its owner lets go of it.
  using OnClosed = std::function<void(ControlConnection& connection)>;

  ControlConnection(rpc::Loop& loop, FileDescriptor fd, const ControlLimits& limits,
                    OnRequest on_request, OnClosed on_closed);

  void Start();
  // Sends the error as far as the kernel takes it, and closes.
  void Refuse(const std::string& text);
  void Close();
  // Closes it if its client has been silent, or has read nothing, since before `then`.
  void CloseIfIdle(TimePoint then);

  bool Write(std::string line) override;
  void Stream(ControlItems items) override;
  void End() override;
  void OnReady(bool readable, bool writable) override;

 private:
  void ReadMore();
  void NextRequest();
  void TakeLine(std::string_view line);
  void Send();
  // Takes items while there is room, and the end after the last.
  void FillFromItems();
  void WatchAgain();

  rpc::Loop& loop_;
  const std::shared_ptr<rpc::Mailbox> mailbox_;  // for the other threads
  rpc::Socket socket_;
  const ControlLimits& limits_;
  const OnRequest on_request_;
  const OnClosed on_closed_;
  std::string input_;
  std::string output_;
  ControlItems items_;         // of the answer in progress, if it is streamed
  bool is_answering_ = false;  // a request has been handed on
  bool closes_when_sent_ = false;
  bool is_reading_ = false;  // as the loop watches it
  bool is_writing_ = false;
  TimePoint active_at_;
  std::atomic<bool> is_closed_ = false;
  std::atomic<std::size_t> unread_bytes_ = 0;  // of output_, and on their way to it
};

}  // namespace kvorum::ctl
