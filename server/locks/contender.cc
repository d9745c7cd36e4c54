#include "server/locks/contender.h"

#include <utility>

#include "base/api_errors.h"
#include "base/check.h"
#include "mvcc/records/key_value.h"
#include "server/call/interceptors.h"
#include "server/call/leader_streams.h"

namespace kvorum::server {
namespace {

// Without a leader no place can be left: this many attempts are made, then the place goes with its
// lease.
constexpr int kLeaveAttempts = 10;
constexpr Duration kLeavePause = std::chrono::milliseconds(500);
// The pause before a lease with less than a second left is checked again.
constexpr Duration kLeasePause = std::chrono::milliseconds(100);

// A call's memory: itself with its watches, its key in several places, its value.
std::size_t BytesHeld(const Contender::Request& request) {
  constexpr std::size_t kFixedBytes = 4096;
  return kFixedBytes + 4 * request.name.size() + request.value.size();
}

}  // namespace

void Contender::Begin(LocalClient& client, WaitingCalls& waiting,
                      std::shared_ptr<rpc::CallContext> call, const Request& request,
                      Callback callback) {
  auto place = waiting.Enter(BytesHeld(request));
  if (!place) return callback(kErrTooManyRequests.Fail());
  const bool wants_leader = WantsLeader(*call);
  const std::shared_ptr<Contender> begun(
      new Contender(client, *std::move(place), std::move(call), request, std::move(callback)));
  if (wants_leader) client.leader_streams().Add(std::shared_ptr<NeedsLeader>(begun));
  begun->Start();
}

Contender::Contender(LocalClient& client, WaitingCalls::Place waiting,
                     std::shared_ptr<rpc::CallContext> call, const Request& request,
                     Callback callback)
    : client_(client),
      waiting_(std::move(waiting)),
      shard_(client.ShardOf(*call)),
      call_(std::move(call)),
      kind_(request.kind),
      callback_(std::move(callback)),
      queue_(QueuePrefix(request.name)),
      value_(request.value),
      lease_(request.lease) {}

template <class Value>
LocalClient::Callback<Value> Contender::Then(void (Contender::*next)(Result<Value>)) {
  state_ = State::kAsking;
  return [self = shared_from_this(), next](Result<Value> answer) {
    if (self->answered()) return self->Leave();
    if (!answer.has_value()) return self->Fail(std::move(answer).error());
    if (self->watch_.own_is_gone()) return self->Lose();
    ((*self).*next)(std::move(answer));
  };
}

void Contender::Start() {
  call_->OnCancel([self = shared_from_this()](const Error& reason) { self->GiveUp(reason); });
  if (answered()) return;
  if (lease_ != lease::kNoLease) return Enter(lease_);
  client_.Grant(*call_, kSessionTtlSeconds, Then(&Contender::Enter));
}

// ---- Taking a place ----

void Contender::Enter(Result<lease::LeaseId> lease) {
  lease_ = *lease;
  key_ = QueueKey(queue_.prefix, lease_);
  mvcc::TxnRequest request = kind_ == Kind::kLock ? EnterAndCount(key_, queue_, lease_)
                                                  : server::Enter(key_, lease_, value_);
  client_.Txn(
      *call_, std::move(request),
      [self = shared_from_this()](Result<LocalTxnAnswer> answer) { self->OnEntered(answer); });
}

void Contender::OnEntered(const Result<LocalTxnAnswer>& answer) {
  if (!answer.has_value()) return Fail(answer.error());
  // A place that existed before this call is not its to leave if its client is gone by now.
  if (answered() && !answer->response.succeeded) return End();
  is_in_queue_ = true;
  created_ = seen_revision_ = answer->header.revision;
  if (answered()) return Leave();
  entered_header_ = answer->header;
  std::string value = std::exchange(value_, {});
  if (!answer->response.succeeded) {
    const auto& found = std::get<mvcc::RangeResult>(answer->response.responses.front());
    KV_CHECK(!found.rows.empty(), "a key that exists was not read");
    const auto kv = mvcc::DecodeKeyValue(found.rows[0]);
    if (!kv.has_value()) return Fail(kv.error());
    created_ = kv->create_revision;
    if (kind_ == Kind::kElection && kv->value != value) return ChangeValue(value);
  }
  const bool is_alone = kind_ == Kind::kLock &&
                        std::get<mvcc::RangeResult>(answer->response.responses.back()).count == 1;
  if (is_alone) return Succeed(entered_header_);
  Look();
}

void Contender::ChangeValue(std::string_view value) {
  client_.Txn(*call_, server::ChangeValue(place(), lease_, value),
              Then(&Contender::OnValueChanged));
}

void Contender::OnValueChanged(Result<LocalTxnAnswer> answer) {
  if (!answer->response.succeeded) return Lose();
  Look();
}

// ---- Waiting ----

void Contender::Look() {
  client_.Range(*call_, FindYoungestUpTo(queue_, created_ - 1), Then(&Contender::OnLooked));
}

void Contender::OnLooked(Result<LocalRangeAnswer> older) {
  if (older->response.rows.empty()) {
    if (has_waited_) return AskLease();
    return AskKey();  // the predecessor may have gone since we entered, and our own place as well
  }
  const auto kv = mvcc::DecodeKeyValue(older->response.rows[0]);
  if (!kv.has_value()) return Fail(kv.error());
  Wait(kv->key, older->header.revision);
}

void Contender::Wait(std::string_view older_key, std::int64_t revision) {
  state_ = State::kWaiting;
  has_waited_ = true;
  if (!watch_.is_open()) {
    watch_.Open(shard_, [weak = weak_from_this()](const LocalWatch::News& news) {
      if (const auto self = weak.lock()) self->OnNews(news);
    });
  }
  watch_.Follow({.key = key_, .revision = seen_revision_},
                {.key = older_key, .revision = revision});
}

void Contender::OnNews(const LocalWatch::News& news) {
  const bool older_is_gone = watch_.Take(news);
  if (state_ != State::kWaiting) return;  // requests made meanwhile come back here
  if (watch_.own_is_gone()) return Lose();
  if (!watch_.sees_own()) return FindOwnAgain();
  if (older_is_gone) Look();
}

void Contender::FindOwnAgain() {
  client_.Range(*call_, FindKey(key_), Then(&Contender::OnFoundOwn));
}

void Contender::OnFoundOwn(Result<LocalRangeAnswer> answer) {
  if (!IsOwn(*answer)) return Fail(LostError());
  seen_revision_ = answer->header.revision;
  Look();
}

// ---- The oldest ----

void Contender::AskLease() { client_.TimeToLive(*call_, lease_, Then(&Contender::OnLease)); }

void Contender::OnLease(Result<std::int64_t> ttl_s) {
  if (*ttl_s < 0) return Fail(LostError());
  if (*ttl_s > 0) return AskKey();
  // Expired and not revoked yet, or about to expire, or about to be renewed: time will tell.
  Executor& executor = shard_.executor();
  executor.PostAt(executor.clock().Now() + kLeasePause, [self = shared_from_this()] {
    if (self->answered()) return self->Leave();
    self->AskLease();
  });
}

void Contender::AskKey() { client_.Range(*call_, FindKey(key_), Then(&Contender::OnKey)); }

void Contender::OnKey(Result<LocalRangeAnswer> answer) {
  if (!IsOwn(*answer)) return Fail(LostError());
  Succeed(kind_ == Kind::kLock ? answer->header : entered_header_);
}

bool Contender::IsOwn(const LocalRangeAnswer& answer) const {
  if (answer.response.rows.empty()) return false;
  const auto kv = mvcc::DecodeKeyValue(answer.response.rows[0]);
  // A key that existed before is taken as it is, if it need not wait.
  return kv.has_value() && kv->create_revision == created_ && (kv->lease == lease_ || !has_waited_);
}

// ---- Ends ----

Error Contender::LostError() const {
  return kind_ == Kind::kLock ? kErrSessionExpired.ToError() : kErrElectionNotLeader.ToError();
}

void Contender::Succeed(const ResponseHeader& header) {
  Answer(Success{.header = header, .key = std::move(key_), .created = created_, .lease = lease_});
  End();
}

void Contender::Lose() {
  is_in_queue_ = false;
  Fail(LostError());
}

void Contender::Fail(Error error) {
  failure_ = std::move(error);
  Leave();
}

void Contender::GiveUp(Error error) {
  if (answered()) return;
  Answer(kvorum::Fail(std::move(error)));
  if (state_ == State::kWaiting) Leave();  // otherwise when the pending request is answered
}

void Contender::OnNoLeader() {
  shard_.executor().Post([self = shared_from_this()] { self->GiveUp(kErrNoLeader.ToError()); });
}

void Contender::Leave() {
  state_ = State::kLeaving;
  watch_.Close();
  if (!is_in_queue_) return OnLeft({});
  client_.Txn(*call_, LeaveQueue(place()),
              [self = shared_from_this()](Result<LocalTxnAnswer> answer) { self->OnLeft(answer); });
}

void Contender::OnLeft(const Result<LocalTxnAnswer>& answer) {
  if (!answered()) Answer(kvorum::Fail(*failure_));
  const bool is_over = answer.has_value() || answer.error().message == kErrStopped.message ||
                       ++leave_attempts_ == kLeaveAttempts;
  if (is_over) return End();
  Executor& executor = shard_.executor();
  executor.PostAt(executor.clock().Now() + kLeavePause,
                  [self = shared_from_this()] { self->Leave(); });
}

void Contender::Answer(Result<Success> answer) {
  std::exchange(callback_, nullptr)(std::move(answer));
}

void Contender::End() {
  state_ = State::kEnded;
  watch_.Close();
  call_ = nullptr;
  waiting_.reset();
}

}  // namespace kvorum::server
