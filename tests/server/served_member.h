// A small member with its services: a request goes into the handler as the transport would hand it
// over, and the lanes run until its answer is there.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/password_work.h"
#include "auth/simple_tokens.h"
#include "base/check.h"
#include "base/rng.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/call/health.h"
#include "rpc/call/service.h"
#include "server/call/access.h"
#include "server/call/client_versions.h"
#include "server/call/leader_streams.h"
#include "server/call/method_registrar.h"
#include "server/call/quarantine.h"
#include "server/call/request_batcher.h"
#include "server/process/process/services.h"
#include "server/services/auth/auth_service.h"
#include "server/services/auth/login.h"
#include "server/services/cluster/peer_http.h"
#include "tests/auth/executor_password_work.h"
#include "tests/server/member_parts.h"
#include "tests/server/no_transport.h"
#include "tests/server/replica/small_member.h"
#include "watch/hub.h"

namespace kvorum::server {

// The error of a result, kOk if there is none.
template <class T>
Error ErrorOf(const Result<T>& result) {
  return result.has_value() ? Error{Code::kOk, "no error"} : result.error();
}

// The outcome of a unary call.
struct Answer {
  int times = 0;  // must end as 1
  Result<std::string> value;
};

// A stream whose client sent `requests` and reads as fast as the test lets it.
class FakeStream final : public rpc::ServerStream, public std::enable_shared_from_this<FakeStream> {
 public:
  FakeStream(Executor& io, std::deque<std::string> requests)
      : io_(io), requests_(std::move(requests)) {}

  rpc::CallContext& context() override { return context_; }
  void Read(ReadCallback callback) override {
    if (status_) return Refuse(std::move(callback));
    read_ = std::move(callback);
    if (!requests_.empty() || !stays_open_) PassRead();
  }
  // The client may say more, until it closes its side.
  void StayOpen() { stays_open_ = true; }
  void Say(std::string request) {
    requests_.push_back(std::move(request));
    if (read_) PassRead();
  }
  void CloseSide() {
    stays_open_ = false;
    if (read_) PassRead();
  }
  void Write(ByteChain message, WriteCallback callback) override {
    if (status_) return Refuse(std::move(callback));
    KV_CHECK(!outstanding_, "one write at a time");
    outstanding_ = std::move(callback);
    messages_.push_back(Join(message));
    if (reading_) PassWrite();
  }
  void WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) override {
    if (status_) return Refuse(std::move(callback));
    KV_CHECK(!outstanding_, "one write at a time");
    outstanding_ = std::move(callback);
    const std::string joined = Join(frames);
    std::string_view left = joined;
    for (; messages > 0; --messages) {
      std::size_t size = 0;
      for (std::size_t i = 1; i < rpc::kMessagePrefixBytes; ++i)
        size = size << 8 | static_cast<unsigned char>(left.at(i));
      messages_.emplace_back(left.substr(rpc::kMessagePrefixBytes, size));
      left.remove_prefix(rpc::kMessagePrefixBytes + size);
    }
    KV_CHECK(left.empty(), "frames that are not the messages told");
    if (reading_) PassWrite();
  }
  std::size_t buffered_bytes() const override { return 0; }
  void Cut(Error reason) override {
    if (status_) return;
    status_ = reason;
    context_.Cancel(std::move(reason));
  }
  void Finish(Error status) override {
    if (!status_) status_ = std::move(status);
  }

  // Sets whether the client reads, which it does by default.
  void SetReading(bool reading) {
    reading_ = reading;
    if (reading_ && outstanding_) PassWrite();
  }
  const std::vector<std::string>& messages() const { return messages_; }
  const std::optional<Error>& status() const { return status_; }

 private:
  // For operations after the end.
  template <class Callback>
  void Refuse(Callback callback) {
    io_.Post([callback = std::move(callback)]() mutable {
      callback(Fail(Code::kCanceled, "context canceled"));
    });
  }
  void PassRead() {
    io_.Post([self = shared_from_this()] {
      if (!self->read_) return;
      ReadCallback callback = std::exchange(self->read_, nullptr);
      if (self->requests_.empty()) return callback(std::nullopt);
      SharedBytes next = SharedBytes::Own(std::move(self->requests_.front()));
      self->requests_.pop_front();
      callback(std::move(next));
    });
  }
  void PassWrite() {
    io_.Post([self = shared_from_this()] { std::exchange(self->outstanding_, nullptr)({}); });
  }

  Executor& io_;
  std::deque<std::string> requests_;
  rpc::CallContext context_;
  bool reading_ = true;
  bool stays_open_ = false;
  ReadCallback read_;
  WriteCallback outstanding_;
  std::vector<std::string> messages_;
  std::optional<Error> status_;
};

class ServedMember {
 public:
  // Small enough for a test to get there.
  static constexpr WaitingCalls::Limits kWaitingCalls{.calls = 64, .bytes = std::size_t{1} << 20};

  explicit ServedMember(std::uint64_t seed = 1)
      : ServedMember(std::make_unique<SimFileSystem>(), seed) {}
  // On a disk that has been used before.
  explicit ServedMember(std::unique_ptr<SimFileSystem> disk, std::uint64_t seed = 1)
      : disk_(std::move(disk)), member_(*disk_, seed) {}

  // Opens the member and lets it run until it leads.
  Result<void> Start() {
    KV_RETURN_IF_ERROR(Open());
    if (!member_.CatchUp())
      return member_.fatal() ? Fail(*member_.fatal()) : Fail(Code::kUnknown, "no leader");
    return {};
  }
  // Opens it without letting it run: it has no leader.
  Result<void> Open() {
    const std::uint64_t quota_bytes = member_.options().quota_bytes;
    member_.options().simple_tokens = &simple_tokens_;
    KV_RETURN_IF_ERROR(member_.Start());
    limits_ = {.max_request_bytes = 1'572'864,
               .max_txn_ops = 128,
               .quota_bytes = static_cast<std::int64_t>(quota_bytes),
               .request_timeout = std::chrono::seconds(7)};
    executors_ = {.timers = &lanes().io(),
                  .readers = &lanes().readers(),
                  .hasher = &lanes().readers(),
                  .digester = &lanes().readers()};
    serving_.emplace(*this);
    return {};
  }
  // Ends the member in order, and gives its disk out for the next one.
  std::unique_ptr<SimFileSystem> Stop() {
    bool stopped = false;
    member_.local_member().Stop([&] { stopped = true; });
    KV_CHECK(lanes().RunUntil([&] { return stopped; }), "the member does not stop");
    Rng rng(1);
    return disk_->CrashImage(SimFileSystem::Keep::kNothing, rng);
  }

  // Hands a request over; the answer comes when the lanes run.
  std::shared_ptr<const Answer> Send(
      std::string_view path, std::string_view request,
      std::shared_ptr<rpc::CallContext> call = std::make_shared<rpc::CallContext>()) {
    auto answer = std::make_shared<Answer>();
    Method(path).unary(std::move(call), SharedBytes::Copy(request),
                       rpc::UnaryReply::ToFunction([answer](Result<ByteChain> reply) {
                         ++answer->times;
                         if (reply.has_value()) {
                           answer->value = Join(*reply);
                         } else {
                           answer->value = Fail(std::move(reply).error());
                         }
                       }));
    return answer;
  }
  Result<std::string> Call(
      std::string_view path, std::string_view request,
      std::shared_ptr<rpc::CallContext> call = std::make_shared<rpc::CallContext>()) {
    return Await(*Send(path, request, std::move(call)));
  }
  // The answer of a call that was sent.
  Result<std::string> Await(const Answer& answer) {
    lanes().RunUntil([&] { return answer.times > 0 || member_.fatal().has_value(); });
    if (answer.times != 1) return Fail(Code::kUnknown, "not answered once");
    return answer.value;
  }
  // Opens a stream that sends one request.
  std::shared_ptr<FakeStream> OpenStream(std::string_view path, std::string request) {
    auto stream = std::make_shared<FakeStream>(lanes().io(), std::deque{std::move(request)});
    Method(path).stream(stream);
    return stream;
  }
  bool RunUntilFinished(const FakeStream& stream) {
    return lanes().RunUntil([&] { return stream.status().has_value(); });
  }

  const rpc::Router& router() const { return router_; }
  ServiceParts& parts() { return serving_->parts; }
  ServiceLimits& limits() { return limits_; }
  ServiceExecutors& executors() { return executors_; }
  MemberPatches& patches() { return patches_; }
  Access& access() { return serving_->access; }
  RequestBatcher& batcher() { return serving_->batcher; }
  watch::Hub& watches() { return serving_->watches; }
  Quarantine& quarantine() { return serving_->quarantine; }
  LeaderStreams& leader_streams() { return serving_->leader_streams; }
  // They look once they are started.
  void SetLeaderless() { is_leaderless_ = true; }
  // The memory for answers from now on, while there are none.
  AnswerMemory& LimitAnswers(std::size_t bytes) {
    KV_CHECK(!answers_.has_value() || answers_->used_bytes() == 0, "answers are held");
    return answers_.emplace(bytes);
  }
  ClusterService& cluster() { return serving_->services.cluster; }
  LeaseService& lease() { return serving_->services.lease; }
  LocalClient& local_client() { return serving_->services.local_client; }
  LockService& lock() { return serving_->services.lock; }
  ElectionService& election() { return serving_->services.election; }
  PeerHttpParts peer_parts(DefragmentTurns& turns) {
    return {.proposer = parts().proposer,
            .reads = parts().reads,
            .quarantine = quarantine(),
            .cluster = cluster(),
            .leases = lease().access(),
            .turns = turns};
  }
  SmallMember& member() { return member_; }
  mvcc::Store& store() { return member_.store(); }
  Lanes& lanes() { return member_.lanes(); }
  SimFileSystem& disk() { return *disk_; }
  LocalMemberOptions& options() { return member_.options(); }
  // Read by Open, both.
  void set_loops(std::size_t loops) { loops_ = loops; }
  watch::HubOptions& hub_options() { return hub_options_; }

 private:
  const rpc::Router::Method& Method(std::string_view path) const {
    const rpc::Router::Method* method = router_.Find(path);
    KV_CHECK(method != nullptr, "a method that is not registered");
    return *method;
  }

  // The part that stands on the open member, as in a process.
  struct Serving {
    explicit Serving(ServedMember& of)
        : batcher(of.member_.local_member().replica(), of.loops_),
          access({.states = &of.member_.local_member().auth_states(),
                  .store = &of.store(),
                  .leases = &of.member_.local_member().leases(),
                  .batcher = &batcher,
                  .clock = &of.lanes().clock(),
                  .readers = &of.lanes().readers(),
                  .simple_tokens = &of.simple_tokens_,
                  .certificates_name_users = true,
                  .max_txn_ops = 128}),
          parts({.member = of.member_.local_member(),
                 .transport = of.transport_,
                 .patches = of.patches_,
                 .batcher = batcher,
                 .access = access,
                 .executors = of.executors_,
                 .limits = of.limits_,
                 .answers = *of.answers_}),
          watches(of.store(), of.lanes().watch(), of.hub_options_),
          quarantine(*of.disk_, SmallMember::kQuarantineFile),
          leader_streams(of.lanes().io(), std::chrono::seconds(1),
                         [&of] { return of.is_leaderless_; }),
          guard{.proposer = parts.proposer,
                .access = access,
                .quarantine = quarantine,
                .leader_streams = leader_streams,
                .client_versions = client_versions,
                .tells_status_alone = tells_status_alone},
          services({.proposer = parts.proposer,
                    .reads = parts.reads,
                    .member = of.member_.local_member(),
                    .quarantine = quarantine,
                    .watches = watches,
                    .leader_streams = leader_streams,
                    .poster = of.poster_,
                    .waiting = kWaitingCalls}),
          login(parts.proposer, parts.reads,
                {.work = &of.password_work_,
                 .random =
                     [&of](std::span<std::uint8_t> out) {
                       for (std::uint8_t& byte : out)
                         byte = static_cast<std::uint8_t>(of.rng_.Below(256));
                     },
                 .bcrypt_cost = auth::kMinBcryptCost,
                 .gives_simple_tokens = true}),
          auth(parts.proposer, parts.reads, login) {
      watches.NewShard(of.lanes().io());
      of.store().SetPublishListener(&watches);
      MethodRegistrar methods(of.router_, guard);
      services.Register(methods);
      auth.Register(methods);
      of.health_.Register(of.router_);
    }

    RequestBatcher batcher;
    Access access;
    ServiceParts parts;
    watch::Hub watches;
    Quarantine quarantine;
    LeaderStreams leader_streams;
    ClientVersions client_versions;
    const std::atomic<bool> tells_status_alone{false};
    const CallGuard guard;
    Services services;
    Login login;
    AuthService auth;
  };

  std::unique_ptr<SimFileSystem> disk_;
  ServiceLimits limits_;
  ServiceExecutors executors_;
  MemberPatches patches_;
  std::optional<AnswerMemory> answers_{std::in_place};
  bool is_leaderless_ = false;
  std::size_t loops_ = 0;  // of I/O, that the batcher knows
  NoTransport transport_;
  PluggedPoster poster_;
  watch::HubOptions hub_options_;
  std::optional<Serving> serving_;  // once it is open; outlives the member's calls
  rpc::Health health_;
  rpc::Router router_;
  SmallMember member_;
  auth::SimpleTokens simple_tokens_{member_.lanes().clock(), {}};
  auth::ExecutorPasswordWork password_work_{member_.lanes().readers(), 16};
  Rng rng_{1};
};

}  // namespace kvorum::server
