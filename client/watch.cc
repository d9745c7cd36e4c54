#include "client/watch.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "client/watch_impl.h"

namespace kvorum::client {
namespace {

constexpr std::string_view kNoLeader = "etcdserver: no leader";
constexpr std::chrono::milliseconds kBackOff(25);
// How long a connection is waited for before a look whether the watch is still wanted.
constexpr std::chrono::milliseconds kConnectSlice(200);

// Whether another stream may fare better.
bool MayGoOn(const grpc::Status& status) {
  const bool passes = status.ok() || status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                      status.error_code() == grpc::StatusCode::INTERNAL;
  return passes && status.error_message() != kNoLeader;
}

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
  Connection* connection = connections_.WaitReady(CallOptions::Within(kConnectSlice).deadline);
  if (connection == nullptr) return End::kBroken;
  grpc::ClientContext context;
  prepare_(context);
  if (!Begin(*connection, context)) return End::kBroken;
  const auto end = ReadAll(*stream_, on_response);
  if (!end.has_value() || *end == End::kCanceledByServer) context.TryCancel();
  const grpc::Status status = Finish();
  if (!end.has_value() || *end == End::kCanceledByServer || cancelled() || MayGoOn(status))
    return end;
  return Fail(static_cast<Code>(status.error_code()), status.error_message());
}

bool Watch::Impl::Begin(Connection& connection, grpc::ClientContext& context) {
  etcdserverpb::WatchRequest create;
  *create.mutable_create_request() = request_;
  const std::lock_guard lock(mutex_);
  if (cancelled_) return false;
  context_ = &context;
  stream_ = connection.watch->Watch(&context);
  stream_->Write(create);  // a failure shows when it is read
  return true;
}

grpc::Status Watch::Impl::Finish() {
  std::unique_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
    stream = std::move(stream_);
  }
  return stream->Finish();
}

Result<Watch::Impl::End> Watch::Impl::ReadAll(Stream& stream, const OnResponse& on_response) {
  etcdserverpb::WatchResponse whole;
  etcdserverpb::WatchResponse part;
  while (stream.Read(&part)) {
    whole.MergeFrom(part);
    whole.set_fragment(false);
    if (part.fragment()) continue;
    Advance(whole);
    const bool again = whole.created() && !whole.canceled() && was_created_;
    was_created_ |= whole.created();
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
  etcdserverpb::WatchRequest request;
  request.mutable_progress_request();
  const std::lock_guard lock(mutex_);
  if (stream_ != nullptr) stream_->Write(request);
}

void Watch::Impl::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
}

bool Watch::Impl::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

}  // namespace kvorum::client
