#include "client/watch.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/api_errors.h"
#include "client/watch_impl.h"

namespace kvorum::client {
namespace {

constexpr std::chrono::milliseconds kBackOff(25);
// The time to wait for a connection before checking whether the watch is still wanted.
constexpr std::chrono::milliseconds kConnectSlice(200);

}  // namespace

Watch::Watch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Watch::~Watch() = default;
Result<void> Watch::Run(const OnResponse& on_response) { return impl_->Run(on_response); }
void Watch::RequestProgress() { impl_->RequestProgress(); }
void Watch::Cancel() { impl_->Cancel(); }

Result<void> Watch::Impl::Run(const OnResponse& on_response) {
  while (!cancelled()) {
    KV_TRY(const End end, RunStream(on_response));
    if (end == End::kCanceledByServer) break;
    std::this_thread::sleep_for(kBackOff);
  }
  return {};
}

Result<Watch::Impl::End> Watch::Impl::RunStream(const OnResponse& on_response) {
  const ConnectionPtr connection =
      caller_.connections().WaitReady(CallOptions::Within(kConnectSlice).deadline);
  if (connection == nullptr) return End::kBroken;
  const auto standing = std::make_shared<Standing>();
  const Token token = caller_.Prepare(standing->context, {.require_leader = require_leader_});
  if (!Begin(*connection, standing)) return End::kBroken;
  auto end = ReadAll(*standing->stream, token, on_response);
  const bool is_over = !end.has_value() || *end != End::kBroken;
  if (is_over) standing->context.TryCancel();
  const grpc::Status status = Finish(*standing);
  if (!is_over && !cancelled()) end = Judge(status, token);
  if (end.has_value() && *end == End::kTokenRefused) KV_RETURN_IF_ERROR(RenewToken(token));
  return end;
}

Result<Watch::Impl::End> Watch::Impl::Judge(const grpc::Status& status, const Token& token) const {
  if (status.ok()) return End::kBroken;
  const Error error = FromStatus(status);
  if (caller_.After(error, Repeat::kWrite, token, CallOptions::Deadline::max()) ==
      NextStep::kNewToken)
    return End::kTokenRefused;
  const bool may_pass = error.code == Code::kUnavailable || error.code == Code::kInternal;
  if (may_pass && error.message != kErrNoLeader.message) return End::kBroken;
  return Fail(error);
}

Result<void> Watch::Impl::RenewToken(const Token& token) {
  if (++renewals_ > kMaxRenewals) return kErrInvalidAuthToken.Fail();
  const auto renewed = caller_.Renew(token, CallOptions::Within(caller_.dial_timeout()).deadline);
  // An endpoint that can't be reached now may be reachable later, as with any broken stream.
  if (renewed || renewed.error().code == Code::kDeadlineExceeded ||
      renewed.error().code == Code::kUnavailable)
    return {};
  return renewed;
}

bool Watch::Impl::Begin(Connection& connection, const std::shared_ptr<Standing>& standing) {
  etcdserverpb::WatchRequest create;
  *create.mutable_create_request() = request_;
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return false;
    standing_ = standing;
  }
  const std::lock_guard lock(standing->writing);
  standing->stream = connection.watch->Watch(&standing->context);
  standing->stream->Write(create);  // a failure shows at the next read
  standing->takes_writes = true;
  return true;
}

// The stream has ended, or its context was cancelled, so that no thread's write blocks for long.
grpc::Status Watch::Impl::Finish(Standing& standing) {
  {
    const std::lock_guard lock(mutex_);
    standing_ = nullptr;
  }
  {
    const std::lock_guard lock(standing.writing);
    standing.takes_writes = false;
  }
  return standing.stream->Finish();
}

Result<Watch::Impl::End> Watch::Impl::ReadAll(Stream& stream, const Token& token,
                                              const OnResponse& on_response) {
  etcdserverpb::WatchResponse whole;
  etcdserverpb::WatchResponse part;
  while (stream.Read(&part)) {
    whole.MergeFrom(part);
    whole.set_fragment(false);
    if (part.fragment()) continue;
    if (whole.canceled() && caller_.After(ParseReason(whole.cancel_reason()), Repeat::kWrite, token,
                                          CallOptions::Deadline::max()) == NextStep::kNewToken)
      return End::kTokenRefused;
    Advance(whole);
    const bool again = whole.created() && !whole.canceled() && was_created_;
    was_created_ |= whole.created();
    renewals_ = 0;
    if (!again) KV_RETURN_IF_ERROR(on_response(whole));
    if (whole.canceled()) return End::kCanceledByServer;
    whole.Clear();
  }
  return End::kBroken;
}

void Watch::Impl::Advance(const etcdserverpb::WatchResponse& response) {
  std::int64_t next = request_.start_revision();
  if (response.events_size() != 0) {
    next = response.events(response.events_size() - 1).kv().mod_revision() + 1;
  } else if (response.created()) {
    if (next == 0) next = response.header().revision() + 1;
  } else if (!response.canceled()) {
    next = std::max(next, response.header().revision() + 1);
  }
  request_.set_start_revision(next);
}

void Watch::Impl::RequestProgress() {
  const std::shared_ptr<Standing> standing = Current();
  if (standing == nullptr) return;
  etcdserverpb::WatchRequest request;
  request.mutable_progress_request();
  const std::lock_guard lock(standing->writing);
  if (standing->takes_writes) standing->stream->Write(request);
}

void Watch::Impl::Cancel() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  if (const std::shared_ptr<Standing> standing = Current()) standing->context.TryCancel();
}

std::shared_ptr<Watch::Impl::Standing> Watch::Impl::Current() {
  const std::lock_guard lock(mutex_);
  return standing_;
}

bool Watch::Impl::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

}  // namespace kvorum::client
