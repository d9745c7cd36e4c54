// Waiters that turn the outcome of a log entry into the answer of a unary call.
#pragma once

#include <memory>
#include <utility>

#include "base/api_errors.h"
#include "rpc/service.h"
#include "server/call/admitted_proposal.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// Encodes the result with `encode(header, result)`; the header's revision is the result's.
template <class ResultType>
class ReplyWaiter final : public AdmittedWaiter {
 public:
  using Encode = SharedBytes (*)(const ResponseHeader&, const ResultType&);
  ReplyWaiter(const ServiceContext& context, rpc::UnaryReply reply, Encode encode)
      : context_(context), reply_(std::move(reply)), encode_(encode) {}

  void Failed(const Error& error) override { reply_.Fail(error); }

 private:
  void Outcome(ApplyResult&& result) override {
    if (!result.value.has_value()) return reply_.Fail(std::move(result.value).error());
    const auto& value = std::get<ResultType>(*result.value);
    SharedBytes answer = encode_(context_.Header(value.revision, result.term), value);
    if (result.held.bytes() == 0) return reply_.Send(std::move(answer));
    reply_.Send({.begun = {.bytes = {std::move(answer)}, .held = std::move(result.held)},
                 .rest = nullptr,
                 .rest_bytes = 0});
  }
  std::unique_ptr<AdmittedWaiter> Successor() override {
    return std::make_unique<ReplyWaiter>(context_, std::move(reply_), encode_);
  }

  const ServiceContext& context_;
  rpc::UnaryReply reply_;
  Encode encode_;
};

// Answers with the same refusal whatever comes of the entry.
class RefuseWaiter final : public Waiter {
 public:
  RefuseWaiter(rpc::UnaryReply reply, const ApiError& error)
      : reply_(std::move(reply)), error_(error) {}
  void Applied(ApplyResult) override { reply_.Fail(error_.ToError()); }
  void Failed(const Error&) override { reply_.Fail(error_.ToError()); }

 private:
  rpc::UnaryReply reply_;
  ApiError error_;
};

}  // namespace kvorum::server
