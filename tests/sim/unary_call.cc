#include "tests/sim/unary_call.h"

#include <memory>
#include <utility>

namespace kvorum::sim {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

}  // namespace

void Call(World& world, Machine& machine, UnaryCall unary) {
  const auto one_way = [&world] {
    return world.scheduler.Between(Duration(50'000), Duration(1'500'000));
  };
  auto call = std::make_shared<UnaryCall>(std::move(unary));
  const auto tell = [call](const Result<std::string>& answer) {
    if (call->done) std::exchange(call->done, nullptr)(answer);
  };
  world.scheduler.After(kPatience, [tell] { tell(Fail(Code::kDeadlineExceeded, "no answer")); });
  world.scheduler.After(one_way(), [&world, &machine, call, tell, one_way] {
    if (!machine.up()) {
      return world.scheduler.After(
          one_way(), [tell] { tell(Fail(Code::kUnavailable, "connection refused")); });
    }
    auto reply =
        rpc::UnaryReply::ToFunction([&world, call, tell, one_way](Result<ByteChain> answer) {
          Result<std::string> text = answer.has_value()
                                         ? Result<std::string>(Join(*answer))
                                         : std::unexpected(std::move(answer).error());
          if (call->on_answer) call->on_answer(text);
          world.scheduler.After(one_way(), [tell, text = std::move(text)] { tell(text); });
        });
    machine.lane(LaneKind::kIo).Post([&machine, call, reply = std::move(reply)]() mutable {
      if (call->on_taken) call->on_taken();
      machine.services().Call(call->path, call->request, call->token, std::move(reply));
    });
  });
}

}  // namespace kvorum::sim
