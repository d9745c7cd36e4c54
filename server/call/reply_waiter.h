// Waiters that turn the outcome of a log entry into the answer of a call.
//
// A waiter is called once, on any thread.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "server/call/admitted_proposal.h"
#include "server/call/proposer.h"
#include "server/call/reply.h"

namespace kvorum::server {

struct AsApplied {
  template <class Response>
  void operator()(Response& /*response*/) const {}
};

// The response is the result of applying the entry, after `change`; the header's revision is the
// response's.
template <class Response, class Change = AsApplied>
class ReplyWaiter final : public AdmittedWaiter {
 public:
  ReplyWaiter(const ClusterFacts& cluster, Reply<Response> reply, Change change = {})
      : cluster_(cluster), reply_(std::move(reply)), change_(std::move(change)) {}

  void Failed(const Error& error) override { reply_.Fail(error); }

 private:
  void Outcome(ApplyResult&& result) override {
    if (!result.value.has_value()) return reply_.Fail(std::move(result.value).error());
    auto& value = std::get<Response>(*result.value);
    change_(value);
    reply_.NotePlace(result.index.value());
    const ResponseHeader header = cluster_.Header(value.revision, result.term);
    reply_.Send(header, std::move(value), std::move(result.held));
  }
  std::unique_ptr<AdmittedWaiter> Successor() override {
    return std::make_unique<ReplyWaiter>(cluster_, std::move(reply_), std::move(change_));
  }

  const ClusterFacts& cluster_;
  Reply<Response> reply_;
  Change change_;
};

// Proposes an entry in the caller's name and answers with the result.
template <class Response>
void ProposeAndReply(Proposer& proposer, const rpc::Caller& caller, rpc::Loop* loop,
                     RequestKind kind, std::string_view body, Reply<Response> reply) {
  proposer.ProposeFor(caller, loop, kind, body,
                      std::make_unique<ReplyWaiter<Response>>(proposer.cluster(), std::move(reply)),
                      proposer.limits().request_timeout);
}

}  // namespace kvorum::server
