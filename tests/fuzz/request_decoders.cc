// Any bytes as a request of any method, through the handlers of a whole member down to its log and
// its store: each must be answered once, whatever it says, and must not end the member.
//
// The first byte of the input chooses the method, in the order in which they are registered; the
// rest is the request. A member serves many inputs, so that they meet what earlier ones wrote.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

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

class Target {
 public:
  void Run(std::uint8_t choice, std::string_view request) {
    if (served_ == nullptr || inputs_ == kInputsPerMember) Restart();
    ++inputs_;
    const auto& methods = served_->router().methods();
    const rpc::Router::Method& method = *methods[choice % methods.size()];
    if (method.info.service == "grpc.health.v1.Health") return;  // Watch ends with its client only
    if (method.info.kind == rpc::MethodKind::kUnary) {
      Call(method.info, request);
    } else if (EndsWithItsClient(method.info)) {
      Open(method.info.path, request);
    } else {
      const auto stream = served_->OpenStream(method.info.path, std::string(request));
      Require(served_->RunUntilFinished(*stream));
    }
    Require(!Fatal());
    if (inputs_ % kInputsPerCheck == 0) served_->store().CheckInvariants();
  }

 private:
  static bool EndsWithItsClient(const rpc::MethodInfo& method) {
    return method.service == "etcdserverpb.Watch" || method.name == "Observe";
  }
  void Call(const rpc::MethodInfo& method, std::string_view request) {
    const auto call = std::make_shared<rpc::CallContext>();
    const auto answer = served_->Send(method.path, request, call);
    if (method.name == "Lock" || method.name == "Campaign") {
      // Somebody else's turn may last for ever.
      served_->lanes().RunFor(std::chrono::milliseconds(10));
      if (answer->times == 0) call->Cancel({Code::kCanceled, "context canceled"});
    }
    Require(served_->lanes().RunUntil([&] { return answer->times > 0 || Fatal(); }));
    Require(answer->times == 1);
  }
  void Open(std::string_view path, std::string_view request) {
    const auto stream = served_->OpenStream(path, std::string(request));
    served_->lanes().RunFor(std::chrono::milliseconds(1));
    stream->context().Cancel({Code::kCanceled, "context canceled"});
    served_->lanes().RunFor(std::chrono::milliseconds(1));
    served_->context().watches->shard(0).CheckInvariants();
    Require(stream.use_count() == 1);
  }
  // What the last member wrote must be what the next start finds.
  void Restart() {
    inputs_ = 0;
    if (served_ != nullptr) {
      auto disk = served_->Stop();
      const std::int64_t revision = served_->store().revision();
      served_ = std::make_unique<ServedMember>(std::move(disk));
      Require(served_->Start().has_value());
      // More, if the log had what was not applied yet: a lease's end, a candidate's withdrawal.
      Require(served_->store().revision() >= revision);
      served_->store().CheckInvariants();
    }
    served_ = std::make_unique<ServedMember>();
    served_->options().quota_bytes = 4 << 20;
    Require(served_->Start().has_value());
  }
  bool Fatal() { return served_->member().fatal().has_value(); }

  std::unique_ptr<ServedMember> served_;
  int inputs_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Target target;
  if (size == 0) return 0;
  target.Run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
