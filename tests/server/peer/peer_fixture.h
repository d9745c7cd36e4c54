// Transports on the loopback, with receivers that keep arriving messages, and a raw client.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/member_id.h"
#include "server/peer/io/incarnation.h"
#include "server/peer/transport/peer_transport.h"

namespace kvorum::server {

// A test that waits for so long has failed.
inline constexpr std::chrono::seconds kPatience(60);
inline constexpr std::uint64_t kTestCluster = 0xc1;

class KeepingReceiver final : public TransportReceiver {
 public:
  void Receive(raft::Message message) override {
    Change([&] { messages.push_back(std::move(message)); });
  }
  void Unreachable(raft::MemberId peer) override {
    Change([&] { ++unreachable[peer]; });
  }
  void SnapshotSent(raft::MemberId, bool succeeded) override {
    Change([&] { snapshots_sent.push_back(succeeded); });
  }
  Result<std::unique_ptr<mvcc::SnapshotSink>> ReceiveSnapshot(raft::Message message) override {
    Change([&] { snapshot_messages.push_back(std::move(message)); });
    if (sink_error.has_value()) return Fail(*sink_error);
    return std::make_unique<Sink>(*this);
  }

  // Returns whether it becomes true, checked with the lock held.
  bool Until(const std::function<bool()>& predicate) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kPatience, predicate);
  }

  std::mutex mutex;  // guards the following
  std::condition_variable changed;
  std::vector<raft::Message> messages;
  std::map<raft::MemberId, int> unreachable;
  std::vector<bool> snapshots_sent;
  std::vector<raft::Message> snapshot_messages;
  std::vector<std::string> snapshots;  // that were finished
  int dropped_sinks = 0;
  std::optional<Error> sink_error;
  // Sinks read it on any thread.
  std::atomic<std::chrono::seconds> first_write_takes = std::chrono::seconds(0);
  std::atomic<bool> finishes_for_ever = false;
  std::atomic<int> finish_parts = 0;

 private:
  class Sink final : public mvcc::SnapshotSink {
   public:
    explicit Sink(KeepingReceiver& receiver) : receiver_(receiver) {}
    ~Sink() override {
      if (!finished_) receiver_.Change([&] { ++receiver_.dropped_sinks; });
    }
    Result<void> Write(std::string_view bytes) override {
      if (content_.empty()) std::this_thread::sleep_for(receiver_.first_write_takes.load());
      content_.append(bytes);
      return {};
    }
    Result<bool> FinishPart() override {
      ++receiver_.finish_parts;
      if (receiver_.finishes_for_ever) return false;
      finished_ = true;
      receiver_.Change([&] { receiver_.snapshots.push_back(content_); });
      return true;
    }

   private:
    KeepingReceiver& receiver_;
    std::string content_;
    bool finished_ = false;
  };

  template <class What>
  void Change(What&& what) {
    std::lock_guard lock(mutex);
    what();
    changed.notify_all();
  }
};

class TestPeer {
 public:
  static PeerTransport::Options FastOptions() {
    PeerTransport::Options options;
    options.peers.first_redial = std::chrono::milliseconds(5);
    options.peers.last_redial = std::chrono::milliseconds(50);
    options.peers.probe_interval = std::chrono::milliseconds(20);
    options.peers.max_frame_bytes = std::size_t{4} << 20;
    return options;
  }

  explicit TestPeer(raft::MemberId id, const PeerTransport::Options& options = FastOptions())
      : id_(id), transport_(std::make_unique<PeerTransport>(options)) {
    const std::string scheme = options.tls.has_value() ? "https://" : "http://";
    const auto address = transport_->Bind(*Url::Parse(scheme + "127.0.0.1:0"));
    EXPECT_TRUE(address.has_value());
    url_ = scheme + *address;
    EXPECT_TRUE(transport_->Listen().has_value());
  }

  void Start(MembershipView view, IncarnationGuard* incarnations = nullptr) {
    transport_->SetMembers(std::make_shared<const MembershipView>(std::move(view)));
    is_running_ = true;
    transport_->Start(
        {.member_id = id_,
         .cluster_id = kTestCluster,
         .peer_urls = url_,
         .incarnations = incarnations},
        receiver_,
        {.http =
             [](const rpc::HttpRequest& request, rpc::HttpReply reply) {
               reply.Send(rpc::HttpResponse::Text(200, request.method + " " + request.target));
             },
         .on_removed = [this] { ++removals_; }});
  }
  // Its invariants hold in the end.
  void Stop() {
    if (std::exchange(is_running_, false)) transport_->CheckInvariants();
    transport_->Stop();
  }

  raft::MemberId id() const { return id_; }
  const std::string& url() const { return url_; }
  std::uint16_t port() const { return Url::Parse(url_)->port(); }
  PeerTransport& transport() { return *transport_; }
  KeepingReceiver& receiver() { return receiver_; }
  int removals() const { return removals_; }

 private:
  const raft::MemberId id_;
  bool is_running_ = false;
  std::string url_;
  KeepingReceiver receiver_;
  std::atomic<int> removals_{0};
  std::unique_ptr<PeerTransport> transport_;
};

// Admits callers that send what it expects of a member, and keeps what they send.
class ScriptedGuard final : public IncarnationGuard {
 public:
  explicit ScriptedGuard(std::string own) : own_(std::move(own)) {}

  std::string Own() const override {
    const std::lock_guard lock(mutex_);
    return own_;
  }
  bool Admits(raft::MemberId, std::string_view told, Told) override {
    const std::lock_guard lock(mutex_);
    told_ = told;
    return expected_.empty() || told == expected_;
  }
  void ToldOfLoss(raft::MemberId, std::string_view told) override {
    const std::lock_guard lock(mutex_);
    accuser_ = told;
    ++losses_;
  }

  void SetOwn(std::string own) {
    const std::lock_guard lock(mutex_);
    own_ = std::move(own);
  }
  void Expect(std::string told) {
    const std::lock_guard lock(mutex_);
    expected_ = std::move(told);
  }
  // The incarnation of the last one that did not admit us.
  std::string accuser() const {
    const std::lock_guard lock(mutex_);
    return accuser_;
  }
  std::string told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  int losses() const { return losses_; }

 private:
  mutable std::mutex mutex_;  // guards the following
  std::string own_;
  std::string expected_;
  std::string told_;
  std::string accuser_;
  std::atomic<int> losses_{0};
};

inline Member MemberAt(raft::MemberId id, std::vector<std::string> urls) {
  Member member;
  member.id = id;
  member.peer_urls = std::move(urls);
  return member;
}

inline MembershipView ViewOf(const std::vector<TestPeer*>& peers) {
  MembershipView view;
  for (const TestPeer* peer : peers) view.members[peer->id()] = MemberAt(peer->id(), {peer->url()});
  return view;
}

// A blocking connection that sends the given bytes.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval limit{.tv_sec = kPatience.count(), .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  ~RawClient() { close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False once the other end does not listen any more.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  int fd() const { return fd_; }
  // Reads until the text has arrived, or the connection ends.
  std::string ReadUntil(std::string_view text) {
    while (received_.find(text) == std::string::npos && ReadSome()) {
    }
    return received_;
  }
  std::string ReadToEnd() {
    while (ReadSome()) {
    }
    return received_;
  }

 private:
  bool ReadSome() {
    char buffer[4096];
    const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int fd_;
  std::string received_;
};

// A request as a member would send it; `more` are further lines.
inline std::string PeerRequest(std::string_view method, std::string_view path,
                               raft::MemberId from = 2, std::string_view more = "") {
  return RequestHead({.member_id = from, .cluster_id = kTestCluster, .peer_urls = {}}, method,
                     "localhost", path, more);
}

inline std::string PostOf(const raft::Message& message, raft::MemberId from) {
  const std::string body = raft::Encode(message);
  return PeerRequest("POST", "/raft", from,
                     "Content-Length: " + std::to_string(body.size()) + "\r\n") +
         body;
}

}  // namespace kvorum::server
