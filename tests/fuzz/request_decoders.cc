// Any bytes as a request of any method, through the handlers of a whole member down to its log and
// its store: each must be answered once and must not end the member.
//
// An input is one byte for the method (its place in ApiMethods()), one for the caller, and the
// request. Callers with a token call a member that has auth turned on. A member serves many inputs,
// so that they meet what earlier ones wrote.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "proto/wire.h"
#include "server/call/api.h"
#include "tests/server/served_member.h"

namespace {

using namespace kvorum;
using namespace kvorum::server;

constexpr int kInputsPerMember = 500;
constexpr int kInputsPerCheck = 50;

void Require(bool condition, std::source_location where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "line %u does not hold\n", static_cast<unsigned>(where.line()));
  std::abort();
}

// A message whose fields are these texts, in their order.
std::string Texts(std::initializer_list<std::string_view> texts) {
  std::string body;
  std::uint32_t field = 0;
  for (const std::string_view text : texts) wire::AppendBytes(body, ++field, text);
  return body;
}

enum class Caller : std::uint8_t {
  kAnybody,     // of a member without auth
  kNobody,      // the others of one with auth: without a token
  kWrongToken,  //
  kUser,        // who may read and write keys from a to b
  kRoot,
};
constexpr std::uint8_t kCallers = 5;

// One member, restarted now and then.
class Target {
 public:
  explicit Target(bool has_auth) : has_auth_(has_auth) {}

  void Run(const ApiMethod& method, Caller caller, std::string_view request) {
    if (served_ == nullptr || inputs_ == kInputsPerMember) Restart();
    ++inputs_;
    const std::string path = method.Path();
    if (method.kind == rpc::MethodKind::kUnary) {
      Call(method, path, TokenOf(caller), request);
    } else if (EndsWithItsClient(method)) {
      Open(path, TokenOf(caller), request);
    } else {
      const auto stream = NewStream(path, TokenOf(caller), request);
      Require(served_->RunUntilFinished(*stream));
    }
    Require(!Fatal());
    if (inputs_ % kInputsPerCheck == 0) served_->store().CheckInvariants();
  }

 private:
  static bool EndsWithItsClient(const ApiMethod& method) {
    return method.service == "etcdserverpb.Watch" || method.name == "Observe";
  }
  std::string_view TokenOf(Caller caller) const {
    switch (caller) {
      case Caller::kAnybody:
      case Caller::kNobody:
        return {};
      case Caller::kWrongToken:
        return "abcdefghijklmnop.7";
      case Caller::kUser:
        return user_token_;
      case Caller::kRoot:
        return root_token_;
    }
    std::abort();
  }

  void Call(const ApiMethod& method, std::string_view path, std::string_view token,
            std::string_view request) {
    const auto call = std::make_shared<rpc::CallContext>();
    if (!token.empty()) call->AddMetadata("token", token);
    const auto answer = served_->Send(path, request, call);
    if (method.name == "Lock" || method.name == "Campaign") {
      // Another waiter's turn may last for ever.
      served_->lanes().RunFor(std::chrono::milliseconds(10));
      if (answer->times == 0) call->Cancel({Code::kCanceled, "context canceled"});
    }
    Require(served_->lanes().RunUntil([&] { return answer->times > 0 || Fatal(); }));
    Require(answer->times == 1);
  }
  std::shared_ptr<FakeStream> NewStream(std::string_view path, std::string_view token,
                                        std::string_view request) {
    auto stream = std::make_shared<FakeStream>(served_->lanes().io(),
                                               std::deque<std::string>{std::string(request)});
    if (!token.empty()) stream->context().AddMetadata("token", token);
    served_->router().Find(path)->stream(stream);
    return stream;
  }
  void Open(std::string_view path, std::string_view token, std::string_view request) {
    const auto stream = NewStream(path, token, request);
    served_->lanes().RunFor(std::chrono::milliseconds(1));
    stream->context().Cancel({Code::kCanceled, "context canceled"});
    served_->lanes().RunFor(std::chrono::milliseconds(1));
    served_->watches().shard(0).CheckInvariants();
    Require(stream.use_count() == 1);
  }

  // The next start must find everything that the last member wrote.
  void Restart() {
    inputs_ = 0;
    if (served_ != nullptr) {
      auto disk = served_->Stop();
      const std::int64_t revision = served_->store().revision();
      served_ = std::make_unique<ServedMember>(std::move(disk));
      Require(served_->Start().has_value());
      // More, if the log had unapplied entries: a lease's end, a candidate's withdrawal.
      Require(served_->store().revision() >= revision);
      served_->store().CheckInvariants();
    }
    served_ = std::make_unique<ServedMember>();
    served_->options().quota_bytes = 4 << 20;
    Require(served_->Start().has_value());
    if (has_auth_) TurnAuthOn();
  }
  void TurnAuthOn() {
    const auto change = [&](std::string_view method, std::string_view request) {
      auto answer = served_->Call("/etcdserverpb.Auth/" + std::string(method), request);
      Require(answer.has_value());
      return *std::move(answer);
    };
    for (const std::string_view name : {"root", "user"}) {
      change("UserAdd", Texts({name, "password"}));
      change("RoleAdd", Texts({name}));
      change("UserGrantRole", Texts({name, name}));
    }
    std::string permission;  // to read and write
    wire::AppendUintAlways(permission, 1, 2);
    wire::AppendBytes(permission, 2, "a");
    wire::AppendBytes(permission, 3, "b");
    change("RoleGrantPermission", Texts({"user", permission}));
    change("AuthEnable", "");
    const auto token_of = [&](std::string_view name) {
      const std::string answer = change("Authenticate", Texts({name, "password"}));
      wire::Reader reader(answer);
      std::string token;
      while (reader.Next()) {
        if (reader.field() == 2) {
          token = reader.Bytes();
        } else {
          reader.Skip();
        }
      }
      Require(!token.empty());
      return token;
    };
    root_token_ = token_of("root");
    user_token_ = token_of("user");
  }
  bool Fatal() { return served_->member().fatal().has_value(); }

  const bool has_auth_;
  std::unique_ptr<ServedMember> served_;
  std::string root_token_;
  std::string user_token_;
  int inputs_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Target open(/*has_auth=*/false);
  static Target guarded(/*has_auth=*/true);
  if (size < 2) return 0;
  const ApiMethod& method = ApiMethods()[data[0] % ApiMethods().size()];
  if (method.service == "grpc.health.v1.Health") return 0;  // Watch ends with its client only
  const auto caller = static_cast<Caller>(data[1] % kCallers);
  (caller == Caller::kAnybody ? open : guarded)
      .Run(method, caller, {reinterpret_cast<const char*>(data) + 2, size - 2});
  return 0;
}
