#include "client/caller.h"

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "base/api_errors.h"
#include "base/majority.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {
namespace {

constexpr int kMaxAttempts = 100;

// Pauses for about 25 ms, randomised so that clients of a failed member don't return all at once.
void BackOff(CallOptions::Deadline deadline) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const std::chrono::microseconds pause(std::uniform_int_distribution<int>(20'000, 30'000)(random));
  std::this_thread::sleep_until(std::min(deadline, std::chrono::steady_clock::now() + pause));
}

void SetDeadline(grpc::ClientContext& context, CallOptions::Deadline deadline) {
  if (deadline == CallOptions::Deadline::max()) return;
  const auto left = deadline - std::chrono::steady_clock::now();
  context.set_deadline(std::chrono::system_clock::now() + left);
}

std::unexpected<Error> Stopped() { return Fail(Code::kCanceled, "the call was stopped"); }

bool HasPassed(CallOptions::Deadline deadline) {
  return std::chrono::steady_clock::now() >= deadline;
}

Credentials CredentialsOf(const Options& options) {
  if (!options.token.empty()) return Credentials::kToken;
  return options.user.empty() || options.password.empty() ? Credentials::kNone
                                                          : Credentials::kPassword;
}

}  // namespace

Error FromStatus(const grpc::Status& status) {
  const auto code = static_cast<Code>(status.error_code());
  if (code == Code::kDeadlineExceeded) return kErrDeadlineExceeded.ToError();
  return {code, status.error_message()};
}

Caller::Caller(const Options& options, std::unique_ptr<Connections> connections)
    : connections_(std::move(connections)),
      max_send_bytes_(static_cast<std::size_t>(options.max_send_bytes)),
      dial_timeout_(options.dial_timeout),
      user_(options.user),
      password_(options.password),
      credentials_(CredentialsOf(options)),
      on_unreachable_(options.on_unreachable),
      tokens_(options.token,
              [this](CallOptions::Deadline deadline) { return Authenticate(deadline); }) {}

Result<void> Caller::LogIn() {
  if (credentials_ != Credentials::kPassword) return {};
  return tokens_.Renew(0, CallOptions::Within(dial_timeout_).deadline);
}

// Logging in twice does no harm, so it is repeated like a read.
Result<std::string> Caller::Authenticate(CallOptions::Deadline deadline) {
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_);
  request.set_password(password_);
  KV_RETURN_IF_ERROR(CheckSize(request.ByteSizeLong()));
  for (int attempt = 1;; ++attempt) {
    KV_TRY(const ConnectionPtr connection, WaitReady(deadline));
    grpc::ClientContext context;
    SetDeadline(context, deadline);
    context.AddMetadata("client-api-version", "3.7");
    etcdserverpb::AuthenticateResponse response;
    const grpc::Status status = connection->auth->Authenticate(&context, request, &response);
    if (status.ok()) {
      if (!IsHeaderText(response.token()))
        return Fail(Code::kInternal, "the server gave a token that no header can carry");
      return std::move(*response.mutable_token());
    }
    const Error error = FromStatus(status);
    if (error.message == kErrAuthNotEnabled.message) return std::string();
    // The request for a token must not trigger a token renewal.
    const Credentials none = Credentials::kNone;
    if (attempt == kMaxAttempts ||
        AfterError(error, {.repeat = Repeat::kRead,
                           .credentials = none,
                           .has_other_members = connections_->size() > 1,
                           .is_out_of_time = HasPassed(deadline)}) == NextStep::kFail)
      return Fail(error);
    BackOff(deadline);
  }
}

Result<ConnectionPtr> Caller::WaitReady(CallOptions::Deadline deadline,
                                        const std::stop_token& stop) {
  if (ConnectionPtr connection = connections_->WaitReady(deadline, stop)) return connection;
  if (stop.stop_requested()) return Stopped();
  if (on_unreachable_) {
    if (const std::string why = connections_->WhyNotConnected(); !why.empty()) on_unreachable_(why);
  }
  return kErrDeadlineExceeded.Fail();
}

Result<void> Caller::CheckSize(std::size_t size_bytes) const {
  if (size_bytes <= max_send_bytes_) return {};
  return Fail(Code::kResourceExhausted, "trying to send message larger than max (" +
                                            std::to_string(size_bytes) + " vs. " +
                                            std::to_string(max_send_bytes_) + ")");
}

Token Caller::Prepare(grpc::ClientContext& context, const CallOptions& call) const {
  SetDeadline(context, call.deadline);
  context.AddMetadata("client-api-version", "3.7");
  if (call.require_leader) context.AddMetadata("hasleader", "true");
  Token token = tokens_.Current();
  if (!token.text.empty()) context.AddMetadata("token", token.text);
  return token;
}

NextStep Caller::After(const Error& error, Repeat repeat, const Token& shown,
                       CallOptions::Deadline deadline) const {
  return AfterError(error, {.repeat = repeat,
                            .credentials = credentials_,
                            .showed_token = !shown.text.empty(),
                            .has_other_members = connections_->size() > 1,
                            .is_out_of_time = HasPassed(deadline)});
}

Result<void> Caller::Renew(const Token& shown, CallOptions::Deadline deadline) {
  return tokens_.Renew(shown.generation, deadline);
}

Result<void> Caller::Try(const CallOptions& call, Repeat repeat, const Once& once) {
  int renewals = 0;
  for (int attempt = 1;; ++attempt) {
    KV_TRY(const ConnectionPtr connection, WaitReady(call.deadline, call.stop));
    grpc::ClientContext context;
    const Token token = Prepare(context, call);
    const std::stop_callback cancel(call.stop, [&context] { context.TryCancel(); });
    const grpc::Status status = once(*connection, &context);
    if (status.ok()) return {};
    if (call.stop.stop_requested()) return Stopped();
    const Error error = FromStatus(status);
    switch (After(error, repeat, token, call.deadline)) {
      case NextStep::kFail:
        return Fail(error);
      case NextStep::kNewToken:
        if (++renewals > kMaxRenewals) return Fail(error);
        if (renewals > 1) BackOff(call.deadline);
        KV_RETURN_IF_ERROR(Renew(token, call.deadline));
        break;
      case NextStep::kAnotherMember:
        if (attempt >= kMaxAttempts) return Fail(error);
        // Asks a majority of the members in quick succession, then pauses.
        if (static_cast<std::size_t>(attempt) % Majority(connections_->size()) == 0)
          BackOff(call.deadline);
        break;
    }
  }
}

}  // namespace kvorum::client
