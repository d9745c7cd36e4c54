#include "server/services/auth/login.h"

#include <cstddef>
#include <utility>

#include "api/auth_messages.h"
#include "auth/password.h"
#include "auth/simple_tokens.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "server/call/access.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"
#include "server/call/request_batcher.h"
#include "server/replica/drive/replica.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxLoggedNameBytes = 480;

}  // namespace

struct Login::Attempt {
  std::string remote;
  std::string name;
  auth::Secret password;
  Reply<std::string> reply;
  TimePoint deadline{};
  std::uint64_t checked_revision = 0;  // of the auth state that the password was verified against
};

// A name may be a megabyte long: the beginning is enough.
void Login::LogRefusal(const Attempt& attempt, std::string_view why) {
  std::uint64_t more = 0;
  {
    const std::lock_guard lock(refusals_mutex_);
    if (!refusals_.Takes(reads_.cluster.Now())) return;
    more = refusals_.TakeSuppressed();
  }
  if (more > 0) KV_WARN("more invalid authentications were requested", {"calls", more});
  KV_WARN("invalid authentication was requested",
          {"user", std::string_view(attempt.name).substr(0, kMaxLoggedNameBytes)},
          {"remote", attempt.remote}, {"error", why});
}

class Login::EntryWaiter final : public Waiter {
 public:
  EntryWaiter(Login& login, std::unique_ptr<Attempt> attempt)
      : login_(login), attempt_(std::move(attempt)) {}
  void Applied(ApplyResult result) override {
    login_.Entered(std::move(attempt_), std::move(result));
  }
  void Failed(const Error& error) override { attempt_->reply.Fail(error); }

 private:
  Login& login_;
  std::unique_ptr<Attempt> attempt_;
};

void Login::Authenticate(const rpc::CallContext& call, std::string name, auth::Secret password,
                         Reply<std::string> reply) {
  auto attempt = std::make_unique<Attempt>(
      Attempt{.remote = std::string(call.peer()),
              .name = std::move(name),
              .password = std::move(password),
              .reply = std::move(reply),
              .deadline = reads_.cluster.Now() + reads_.limits.request_timeout});
  reads_.batcher.Read(call.loop(),
                      [this, attempt = std::move(attempt)](const Result<void>& confirmed) mutable {
                        if (!confirmed.has_value()) return attempt->reply.Fail(confirmed.error());
                        Verify(std::move(attempt));
                      });
}

void Login::Verify(std::unique_ptr<Attempt> attempt) {
  const AuthStates::State state = reads_.access.state();
  const auto user = state->BeginLogin(attempt->name);
  if (!user.has_value()) {
    if (user.error() == kErrNoPasswordUser) LogRefusal(*attempt, user.error().message);
    return attempt->reply.Fail(user.error());
  }
  attempt->checked_revision = state->revision();
  if (!auth::CheckPassword(attempt->password.view()).has_value()) {
    LogRefusal(*attempt, kErrAuthFailed.message);
    return attempt->reply.Fail(kErrAuthFailed.ToError());
  }
  // The user does not exist, or its password was removed: it takes as long.
  const bool is_dummy = *user == nullptr || (*user)->password_hash().empty();
  auth::PasswordJob job{
      .kind = auth::PasswordJob::Kind::kVerify,
      .password = attempt->password.Copy(),
      .hash = is_dummy ? auth::DummyHash(parts_.bcrypt_cost) : (*user)->password_hash(),
      .queue_key = auth::QueueKeyOf(attempt->remote, attempt->name)};
  parts_.work->Submit(std::move(job), [this, attempt = std::move(attempt)](
                                          const auth::PasswordOutcome& outcome) mutable {
    if (outcome.refused) return attempt->reply.Fail(kErrTooManyRequests.ToError());
    if (outcome.ok) return Propose(std::move(attempt));
    LogRefusal(*attempt, kErrAuthFailed.message);
    attempt->reply.Fail(kErrAuthFailed.ToError());
  });
}

void Login::Propose(std::unique_ptr<Attempt> attempt) {
  const std::string prefix =
      parts_.gives_simple_tokens ? auth::MakeTokenPrefix(parts_.random) : std::string();
  const std::string entry = EncodeLoginEntry({.name = attempt->name, .token_prefix = prefix});
  proposer_.Propose(nullptr, RequestKind::kAuthenticate, entry,
                    std::make_unique<EntryWaiter>(*this, std::move(attempt)),
                    reads_.limits.request_timeout);
}

// Runs on the apply executor.
void Login::Entered(std::unique_ptr<Attempt> attempt, ApplyResult result) {
  if (!result.value.has_value()) return attempt->reply.Fail(std::move(result.value).error());
  const auto& entered = std::get<LoginResult>(*result.value);
  const bool is_changed =
      reads_.access.state()->RequiredRevision(attempt->name) > attempt->checked_revision;
  if (is_changed) {
    if (reads_.cluster.Now() >= attempt->deadline)
      return attempt->reply.Fail(kErrTimeout.ToError());
    return Verify(std::move(attempt));
  }
  if (parts_.gives_simple_tokens) {
    return attempt->reply.Send(reads_.cluster.Header(entered.revision, result.term),
                               entered.simple_token);
  }
  Sign(std::move(attempt), result.term, entered);
}

void Login::Sign(std::unique_ptr<Attempt> attempt, raft::Term term, const LoginResult& result) {
  if (parts_.jwt == nullptr) return attempt->reply.Fail(kErrAuthFailed.ToError());
  reads_.executors.readers->Post([this, term, revision = result.revision,
                                  auth_revision = result.auth_revision,
                                  attempt = std::move(attempt)]() mutable {
    const std::int64_t now_s = reads_.cluster.replica.clock().WallSeconds();
    auto token = parts_.jwt->Sign(attempt->name, auth_revision, now_s);
    if (!token.has_value()) return attempt->reply.Fail(token.error());
    attempt->reply.Send(reads_.cluster.Header(revision, term), *std::move(token));
  });
}

void Login::Hash(auth::Secret password, HashDone done) {
  if (auto sound = auth::CheckPassword(password.view()); !sound.has_value())
    return done(std::unexpected(std::move(sound).error()));
  auth::PasswordJob job{.kind = auth::PasswordJob::Kind::kHash,
                        .password = std::move(password),
                        .hash = {},
                        .cost = parts_.bcrypt_cost,
                        .salt = auth::MakeSalt(parts_.random)};
  parts_.work->Submit(std::move(job),
                      [done = std::move(done)](const auth::PasswordOutcome& outcome) mutable {
                        if (outcome.refused) return done(kErrTooManyRequests.Fail());
                        if (!outcome.ok)
                          return done(Fail(Code::kInternal, "the password could not be hashed"));
                        done(auth::EncodeHash(outcome.hash));
                      });
}

}  // namespace kvorum::server
