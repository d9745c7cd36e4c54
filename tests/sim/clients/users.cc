#include "tests/sim/clients/users.h"

#include <memory>

#include "proto/rpc.pb.h"
#include "tests/sim/clients/unary_call.h"

namespace kvorum::sim {

std::string Users::Anybody() {
  if (!world_.has_auth) return {};
  return world_.auth_rng.OneIn(5) ? kRoot : NameOf(world_.auth_rng.Below(kOthers));
}

Users::Session& Users::New(std::string user) {
  return sessions_.emplace_back(Session{.user = std::move(user)});
}

void Users::Become(Session& session, std::string user) { session = {.user = std::move(user)}; }

void Users::SetPassword(const std::string& user, const std::string& password) {
  passwords_[user].push_back(password);
}

// It may be unknown whether the last change has come into effect.
std::string Users::PasswordOf(const std::string& user) {
  const auto& asked_for = passwords_[user];
  if (asked_for.empty()) return "none yet";
  return world_.auth_rng.OneIn(8) ? asked_for[world_.auth_rng.Below(asked_for.size())]
                                  : asked_for.back();
}

void Users::Ready(Session& session, Machine& machine, std::function<void()> then) {
  if (!world_.has_auth || !session.needs_login) return then();
  const std::string password = PasswordOf(session.user);
  etcdserverpb::AuthenticateRequest request;
  request.set_name(session.user);
  request.set_password(password);
  auto asked = std::make_shared<AuthJudge::Asked>(judge_.Ask(session.user, {}, machine));
  Call(world_, machine,
       {.path = "/etcdserverpb.Auth/Authenticate",
        .request = request.SerializeAsString(),
        .on_taken = [this, asked] { judge_.Taken(*asked); },
        .on_answer =
            [this, asked, password](const Result<std::string>& answer) {
              if (!answer.has_value()) return judge_.LoginRefused(*asked, password, answer.error());
              etcdserverpb::AuthenticateResponse response;
              if (!response.ParseFromString(*answer) || response.token().empty())
                return world_.Fail("a login is answered without a token");
              judge_.LoggedIn(*asked, password, response.token());
            },
        .done =
            [this, &session, user = session.user, then](const Result<std::string>& answer) {
              if (session.user != user) return then();
              session.token.clear();
              if (answer.has_value()) {
                etcdserverpb::AuthenticateResponse response;
                response.ParseFromString(*answer);
                session.token = response.token();
              }
              world_.Note("{} logs in: {}", user,
                          answer.has_value() ? session.token : answer.error().message);
              // While auth is off there is nothing to log in for.
              session.needs_login =
                  !answer.has_value() &&
                  answer.error().message != "etcdserver: authentication is not enabled";
              then();
            }});
}

void Users::Told(Session& session, const Error& error) {
  if (!world_.has_auth || !AuthJudge::IsStranger(error)) return;
  session.needs_login = true;
  session.token.clear();
}

}  // namespace kvorum::sim
