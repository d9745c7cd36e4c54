// Waiters that turn the outcome of a log entry into the answer of a call.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "server/call/admitted_proposal.h"
#include "server/call/reply.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// The response is the result of applying the entry; the header's revision is the response's.
template <class Response>
class ReplyWaiter final : public AdmittedWaiter {
 public:
  ReplyWaiter(const ServiceContext& context, Reply<Response> reply)
      : context_(context), reply_(std::move(reply)) {}

  void Failed(const Error& error) override { reply_.Fail(error); }

 private:
  void Outcome(ApplyResult&& result) override {
    if (!result.value.has_value()) return reply_.Fail(std::move(result.value).error());
    auto& value = std::get<Response>(*result.value);
    const ResponseHeader header = context_.Header(value.revision, result.term);
    reply_.Send(header, std::move(value), std::move(result.held));
  }
  std::unique_ptr<AdmittedWaiter> Successor() override {
    return std::make_unique<ReplyWaiter>(context_, std::move(reply_));
  }

  const ServiceContext& context_;
  Reply<Response> reply_;
};

// Proposes an entry in the caller's name and answers with the result.
template <class Response>
void ProposeAndReply(ServiceContext& context, const rpc::Caller& caller, rpc::Loop* loop,
                     RequestKind kind, std::string_view body, Reply<Response> reply) {
  context.ProposeFor(caller, loop, kind, body,
                     std::make_unique<ReplyWaiter<Response>>(context, std::move(reply)),
                     context.limits.request_timeout);
}

}  // namespace kvorum::server
