#include "tests/sim/clients/unary_call.h"

#include <memory>
#include <utility>

namespace kvorum::sim {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

// On its way.
struct PendingUnary {
  UnaryCall unary;
  bool is_answered = false;
};

// The deadline of a call that a process has taken.
void CancelLater(World& world, Machine& machine, const std::shared_ptr<PendingUnary>& call,
                 const std::shared_ptr<rpc::CallContext>& context, TimePoint deadline) {
  world.scheduler.At(deadline, [&world, &machine, call, context, life = machine.life()] {
    if (!machine.up() || machine.life() != life) return;
    machine.lane(LaneKind::kIo).Post([&world, call, context] {
      context->Cancel({Code::kDeadlineExceeded, "context deadline exceeded"});
      // With users it may still be at the door.
      if (!call->is_answered && !world.has_auth)
        world.Fail("{} waits past its deadline", call->unary.path);
    });
  });
}

}  // namespace

void Call(World& world, Machine& machine, UnaryCall unary) {
  const auto one_way = [&world] {
    return world.scheduler.Between(Duration(50'000), Duration(1'500'000));
  };
  const bool waits = unary.deadline != Duration::zero();
  const TimePoint deadline = world.scheduler.Now() + (waits ? unary.deadline : kPatience);
  auto call = std::make_shared<PendingUnary>(std::move(unary));
  const auto tell = [call](const Result<std::string>& answer) {
    if (call->unary.done) std::exchange(call->unary.done, nullptr)(answer);
  };
  world.scheduler.At(deadline, [tell] { tell(Fail(Code::kDeadlineExceeded, "no answer")); });
  world.scheduler.After(one_way(), [&world, &machine, call, tell, one_way, waits, deadline] {
    if (!machine.up()) {
      return world.scheduler.After(
          one_way(), [tell] { tell(Fail(Code::kUnavailable, "connection refused")); });
    }
    auto context = std::make_shared<rpc::CallContext>();
    if (!call->unary.token.empty()) context->AddMetadata("token", call->unary.token);
    if (call->unary.wants_leader) context->AddMetadata("hasleader", "true");
    auto reply = rpc::UnaryReply::ToFunction(
        [&world, call, tell, one_way, kept = std::weak_ptr(context)](Result<ByteChain> answer) {
          call->is_answered = true;
          Result<std::string> text = answer.has_value()
                                         ? Result<std::string>(Join(*answer))
                                         : std::unexpected(std::move(answer).error());
          const auto taken = kept.lock();
          const bool is_cut = taken != nullptr && taken->cancelled() &&
                              taken->cancel_reason().code == Code::kUnavailable;
          if (is_cut) world.faults.Add(Fault::kLockCut);
          if (call->unary.on_answer && !is_cut) call->unary.on_answer(text);
          world.scheduler.After(one_way(), [tell, text = std::move(text)] { tell(text); });
        });
    if (waits) {
      machine.services().Adopt(context);
      CancelLater(world, machine, call, context, deadline);
    }
    machine.lane(LaneKind::kIo)
        .Post([&machine, call, context = std::move(context), reply = std::move(reply)]() mutable {
          if (call->unary.on_taken) call->unary.on_taken();
          machine.services().Call(std::move(context), call->unary.path, call->unary.request,
                                  std::move(reply));
        });
  });
}

}  // namespace kvorum::sim
