#include "tools/run/control_connection.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_descriptor.h"

namespace kvorum::ctl {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
// Items are made ahead of the client up to this many bytes.
constexpr std::size_t kItemBytes = std::size_t{256} << 10U;

}  // namespace

ControlConnection::ControlConnection(rpc::Loop& loop, FileDescriptor fd,
                                     const ControlLimits& limits, OnRequest on_request,
                                     OnClosed on_closed)
    : loop_(loop),
      mailbox_(loop.mailbox()),
      socket_(std::move(fd)),
      limits_(limits),
      on_request_(std::move(on_request)),
      on_closed_(std::move(on_closed)),
      active_at_(loop.now()) {}

void ControlConnection::Start() {
  is_reading_ = true;
  loop_.Watch(socket_.fd(), *this, /*readable=*/true, /*writable=*/false);
}

void ControlConnection::Refuse(const std::string& text) {
  Start();
  closes_when_sent_ = true;
  ControlReply(shared_from_this()).Fail(text);
}

void ControlConnection::Close() {
  if (is_closed_.exchange(true)) return;
  loop_.Unwatch(socket_.fd(), *this);
  socket_.Close();
  items_ = nullptr;
  on_closed_(*this);
}

void ControlConnection::CloseIfIdle(TimePoint then) {
  const bool waits_for_us = is_answering_ && output_.empty();
  if (!waits_for_us && active_at_ < then) Close();
}

bool ControlConnection::Write(std::string line) {
  if (is_closed_) return false;
  const std::size_t before = unread_bytes_.fetch_add(line.size());
  const bool has_room = before <= limits_.unread_bytes;
  mailbox_->Post([self = shared_from_this(), line = std::move(line), has_room] {
    if (self->is_closed_) return;
    if (!has_room) return self->Close();
    self->output_ += line;
    self->Send();
  });
  return has_room;
}

void ControlConnection::Stream(ControlItems items) {
  mailbox_->Post([self = shared_from_this(), items = std::move(items)]() mutable {
    if (self->is_closed_) return;
    self->items_ = std::move(items);
    self->Send();
  });
}

void ControlConnection::End() {
  mailbox_->Post([self = shared_from_this()] {
    if (self->is_closed_) return;
    self->is_answering_ = false;
    self->active_at_ = self->loop_.now();
    self->Send();
  });
}

void ControlConnection::OnReady(bool readable, bool writable) {
  const auto self = shared_from_this();          // Close lets go of it
  if (readable && !is_reading_) return Close();  // broken: no other data comes unasked
  if (readable) ReadMore();
  if (writable && !is_closed_) Send();
}

void ControlConnection::ReadMore() {
  std::array<char, kReadBytes> buffer;
  const std::ptrdiff_t count = socket_.Read(buffer);
  if (count == rpc::Socket::kWouldBlock) return;
  if (count <= 0) return Close();
  active_at_ = loop_.now();
  input_.append(buffer.data(), static_cast<std::size_t>(count));
  NextRequest();
}

void ControlConnection::NextRequest() {
  if (is_answering_ || closes_when_sent_) return WatchAgain();
  const std::size_t end = input_.find('\n');
  if (std::min(end, input_.size()) > limits_.request_bytes) {
    closes_when_sent_ = true;
    input_.clear();
    ControlReply(shared_from_this())
        .Fail("the request has more than " + std::to_string(limits_.request_bytes) + " bytes");
  } else if (end != std::string::npos) {
    const std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    TakeLine(line);
  }
  WatchAgain();
}

void ControlConnection::TakeLine(std::string_view line) {
  is_answering_ = true;
  ControlReply reply(shared_from_this());
  auto request = ParseControlRequest(line, limits_);
  if (!request) return reply.Fail(request.error().message);
  on_request_(*std::move(request), std::move(reply));
}

void ControlConnection::Send() {
  while (true) {
    FillFromItems();
    if (output_.empty()) break;
    rpc::Socket::Pieces pieces;
    pieces.Add(output_);
    const std::ptrdiff_t count = socket_.Write(pieces);
    if (count < 0) return Close();
    if (count == 0) return WatchAgain();
    output_.erase(0, static_cast<std::size_t>(count));
    unread_bytes_ -= static_cast<std::size_t>(count);
    active_at_ = loop_.now();
  }
  if (closes_when_sent_ && !is_answering_) return Close();
  NextRequest();
}

void ControlConnection::FillFromItems() {
  while (items_ && output_.size() < kItemBytes) {
    const std::optional<sync::Json> item = items_();
    sync::Json line;
    line[item ? "item" : "ok"] = item ? *item : sync::Json::object();
    const std::string text = ControlText(line) + '\n';
    unread_bytes_ += text.size();
    output_ += text;
    if (item) continue;
    items_ = nullptr;
    is_answering_ = false;
  }
}

void ControlConnection::WatchAgain() {
  if (is_closed_) return;
  const bool writes = !output_.empty();
  const bool reads = !writes && !is_answering_ && !closes_when_sent_;
  if (reads == is_reading_ && writes == is_writing_) return;
  is_reading_ = reads;
  is_writing_ = writes;
  loop_.Rewatch(socket_.fd(), *this, reads, writes);
}

}  // namespace kvorum::ctl
