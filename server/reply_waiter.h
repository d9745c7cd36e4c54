// Waiters that turn the outcome of a log entry into the answer of a unary call.
#pragma once

#include <utility>

#include "rpc/service.h"
#include "server/errors.h"
#include "server/service_context.h"

namespace kvorum::server {

// Encodes the result with `encode(header, result)`; the header's revision is the result's.
template <class ResultType>
class ReplyWaiter final : public Waiter {
 public:
  using Encode = SharedBytes (*)(const ResponseHeader&, const ResultType&);
  ReplyWaiter(const ServiceContext& context, rpc::UnaryReply reply, Encode encode)
      : context_(context), reply_(std::move(reply)), encode_(encode) {}

  void Applied(ApplyResult result) override {
    if (!result.value.has_value()) return reply_.Fail(std::move(result.value).error());
    const auto& value = std::get<ResultType>(*result.value);
    reply_.Send(encode_(context_.Header(value.revision, result.term), value));
  }
  void Failed(const Error& error) override { reply_.Fail(error); }

 private:
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
