#include "server/services/kv_service.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/api_errors.h"
#include "mvcc/store.h"
#include "mvcc/validate.h"
#include "rpc/grpc_protocol.h"
#include "server/call/interceptors.h"
#include "server/call/reply_waiter.h"
#include "server/call/request_batcher.h"
#include "server/messages/kv_decode.h"
#include "server/services/answer_pieces.h"
#include "server/services/planned_answer.h"
#include "server/services/range_stream.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kService = "etcdserverpb.KV";

// A range that looks at more rows than this leaves the I/O loop: about a millisecond of work. So
// does one that turns out to have more bytes than AnswerLimits::loop_bytes.
constexpr std::int64_t kRowsOnLoop = 1'000;

// The most that may be read on an I/O loop: next to nothing while answers fill the memory there is
// for them.
std::size_t LoopBytes(const ServiceContext& context) {
  const bool is_full = context.answers != nullptr && context.answers->full();
  return is_full ? rpc::AnswerMemory::kStepBytes : context.limits.answers.loop_bytes;
}

// On an I/O loop: what is to be read, if it is small. True if the answer was given.
bool ServedHere(ServiceContext& context, const rpc::Caller& caller,
                const mvcc::RangeRequest& request, rpc::UnaryReply& reply) {
  auto view = context.ReadFor(caller, request);
  if (!view.has_value()) {
    reply.Fail(std::move(view).error());
    return true;
  }
  RangeEncoder encoder(context.Header(view->revision()), LoopBytes(context));
  const auto summary = view->Range(request, encoder);
  if (encoder.is_exceeded()) return false;
  if (!summary.has_value()) {
    reply.Fail(summary.error());
    return true;
  }
  reply.Send(encoder.Finish(summary->more, summary->count));
  return true;
}

bool ServedHere(ServiceContext& context, const rpc::Caller& caller, const mvcc::TxnRequest& request,
                rpc::UnaryReply& reply) {
  auto view = context.ReadFor(caller, request);
  if (!view.has_value()) {
    reply.Fail(std::move(view).error());
    return true;
  }
  AnswerLimits here = context.limits.answers;
  here.max_bytes = here.keep_bytes = LoopBytes(context);
  PlannedAnswer answer(here, /*memory=*/nullptr);
  const auto made = answer.MakeTxn(*view, context.Header(view->revision()), request);
  if (answer.is_too_large()) return false;
  if (!made.has_value()) {
    reply.Fail(made.error());
    return true;
  }
  reply.Send(answer.TakeKept().bytes);
  return true;
}

Result<void> Plan(PlannedAnswer& answer, mvcc::ReadView& view, const ResponseHeader& header,
                  const mvcc::RangeRequest& request) {
  return answer.MakeRange(view, header, request);
}
Result<void> Plan(PlannedAnswer& answer, mvcc::ReadView& view, const ResponseHeader& header,
                  const mvcc::TxnRequest& request) {
  return answer.MakeTxn(view, header, request);
}

// On the readers' executor: however much it is.
template <class Request>
void ServeLarge(ServiceContext& context, const rpc::Caller& caller, SharedBytes bytes,
                const Request& request, rpc::UnaryReply reply) {
  PlannedAnswer answer(context.limits.answers, context.answers);
  {
    auto view = context.ReadFor(caller, request);
    if (!view.has_value()) return reply.Fail(std::move(view).error());
    const auto made = Plan(answer, *view, context.Header(view->revision()), request);
    if (!made.has_value()) return reply.Fail(made.error());
  }
  rpc::LargeAnswer large{
      .begun = answer.TakeKept(), .rest = nullptr, .rest_bytes = answer.rest_bytes()};
  if (!answer.is_whole())
    large.rest = std::make_shared<AnswerPieces>(context, std::move(bytes), answer);
  reply.Send(std::move(large));
}

// True if the values of a whole range are looked at, which the answer's size does not tell.
bool ReadsValues(const mvcc::RangeRequest& request) {
  return request.sort_target == mvcc::SortTarget::kValue && !request.range_end.empty();
}
bool ReadsValues(const mvcc::TxnRequest& request) {
  const auto compares = [](const mvcc::Compare& compare) {
    return !compare.range_end.empty() && (compare.target == mvcc::CompareTarget::kValue ||
                                          compare.target == mvcc::CompareTarget::kLease);
  };
  const auto sorts = [](const mvcc::RequestOp& op) {
    return ReadsValues(std::get<mvcc::RangeRequest>(op));
  };
  return std::ranges::any_of(request.compare, compares) ||
         std::ranges::any_of(request.success, sorts) || std::ranges::any_of(request.failure, sorts);
}

// By the number of rows: one key is always few; for a range the index tells in O(log n).
bool FitsOnLoop(ServiceContext& context, const mvcc::RangeRequest& request) {
  if (request.range_end.empty()) return true;
  if (ReadsValues(request)) return false;
  auto view = context.store->Read();
  return view.has_value() && view->EstimateRows(request) <= kRowsOnLoop;
}

bool FitsOnLoop(ServiceContext& context, const mvcc::TxnRequest& request) {
  if (ReadsValues(request)) return false;
  auto view = context.store->Read();
  return view.has_value() && view->EstimateRows(request) <= kRowsOnLoop;
}

// Runs the read here if it is small, else on the readers' executor. `bytes` owns the request.
template <class Request>
void RunRead(ServiceContext& context, const rpc::Caller& caller, SharedBytes bytes, Request request,
             rpc::UnaryReply reply) {
  if (FitsOnLoop(context, request) && ServedHere(context, caller, request, reply)) return;
  context.readers->Post([&context, caller, bytes = std::move(bytes), request = std::move(request),
                         reply = std::move(reply)]() mutable {
    ServeLarge(context, caller, std::move(bytes), request, std::move(reply));
  });
}

template <class Request>
void RunLinearizableRead(ServiceContext& context, const rpc::CallContext& call, SharedBytes bytes,
                         Request request, rpc::UnaryReply reply) {
  context.batcher->Read(call.loop(), [&context, caller = call.caller, bytes = std::move(bytes),
                                      request = std::move(request), reply = std::move(reply)](
                                         const Result<void>& confirmed) mutable {
    if (!confirmed.has_value()) return reply.Fail(confirmed.error());
    RunRead(context, caller, std::move(bytes), std::move(request), std::move(reply));
  });
}

SharedBytes EncodeCompaction(const ResponseHeader& header, const CompactionResult&) {
  return EncodeHeaderOnly(header);
}

}  // namespace

void KvService::Register(rpc::Router& router) {
  const auto unary = [&](std::string_view name, auto member,
                         OnLearner on_learner = OnLearner::kRefused) {
    AddUnary(router, context_, kService, name, *this, member, on_learner);
  };
  unary("Range", &KvService::Range, OnLearner::kSerializableRange);
  unary("Put", &KvService::Put);
  unary("DeleteRange", &KvService::DeleteRange);
  unary("Txn", &KvService::Txn);
  unary("Compact", &KvService::Compact);
  AddStream(router, context_, kService, "RangeStream", rpc::MethodKind::kServerStream,
            [this](std::shared_ptr<rpc::ServerStream> stream) { RangeStream(std::move(stream)); });
}

void KvService::Range(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  const auto request = DecodeRange(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (const auto valid = mvcc::CheckRange(*request); !valid.has_value())
    return reply.Fail(valid.error());
  if (request->serializable)
    return RunRead(context_, call.caller, std::move(bytes), *request, std::move(reply));
  RunLinearizableRead(context_, call, std::move(bytes), *request, std::move(reply));
}

void KvService::Put(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  const auto request = DecodePut(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (context_.RefusedForSpace(call.loop(), mvcc::QuotaCost(*request), reply)) return;
  if (const auto valid = mvcc::CheckPut(*request); !valid.has_value())
    return reply.Fail(valid.error());
  context_.ProposeFor(
      call.caller, call.loop(), RequestKind::kPut, bytes.view(),
      std::make_unique<ReplyWaiter<mvcc::PutResult>>(context_, std::move(reply), EncodePutResponse),
      context_.limits.request_timeout);
}

void KvService::DeleteRange(const rpc::CallContext& call, SharedBytes bytes,
                            rpc::UnaryReply reply) {
  const auto request = DecodeDeleteRange(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (const auto valid = mvcc::CheckDeleteRange(*request); !valid.has_value())
    return reply.Fail(valid.error());
  context_.ProposeFor(call.caller, call.loop(), RequestKind::kDeleteRange, bytes.view(),
                      std::make_unique<ReplyWaiter<mvcc::DeleteRangeResult>>(
                          context_, std::move(reply), EncodeDeleteRangeResponse),
                      context_.limits.request_timeout);
}

void KvService::Txn(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  auto request = DecodeTxn(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (context_.RefusedForSpace(call.loop(), mvcc::QuotaCost(*request), reply)) return;
  if (const auto valid = mvcc::CheckTxn(*request, context_.limits.max_txn_ops);
      !valid.has_value()) {
    return reply.Fail(valid.error());
  }
  if (mvcc::IsReadOnly(*request)) {
    if (mvcc::IsSerializable(*request)) {
      return RunRead(context_, call.caller, std::move(bytes), *std::move(request),
                     std::move(reply));
    }
    return RunLinearizableRead(context_, call, std::move(bytes), *std::move(request),
                               std::move(reply));
  }
  context_.ProposeFor(
      call.caller, call.loop(), RequestKind::kTxn, bytes.view(),
      std::make_unique<ReplyWaiter<mvcc::TxnResult>>(context_, std::move(reply), EncodeTxnResponse),
      context_.limits.request_timeout);
}

void KvService::Compact(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  const auto request = DecodeCompaction(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  // Deleting may take longer than any proposal: a client that waits for it sets its own deadline.
  const Duration timeout =
      request->physical ? std::chrono::hours(24 * 365) : context_.limits.request_timeout;
  context_.ProposeFor(
      call.caller, call.loop(), RequestKind::kCompaction, bytes.view(),
      std::make_unique<ReplyWaiter<CompactionResult>>(context_, std::move(reply), EncodeCompaction),
      timeout);
}

void KvService::RangeStream(std::shared_ptr<rpc::ServerStream> stream) {
  stream->Read([this, stream](Result<std::optional<SharedBytes>> message) {
    if (!message.has_value()) return;  // the stream is finished
    if (!message->has_value()) {
      return stream->Finish({Code::kInternal, "grpc: no request message was received"});
    }
    StartRangeStream(stream, std::move(**message));
  });
}

void KvService::StartRangeStream(std::shared_ptr<rpc::ServerStream> stream, SharedBytes bytes) {
  const auto request = DecodeRange(bytes.view());
  if (!request.has_value()) return stream->Finish(rpc::OnStream(request.error()));
  if (const auto valid = mvcc::CheckRangeStream(*request); !valid.has_value())
    return stream->Finish(valid.error());
  auto session = std::make_shared<RangeStreamSession>(context_, stream, std::move(bytes), *request);
  if (request->serializable) return session->Start();
  context_.batcher->Read(stream->context().loop(), [session](const Result<void>& confirmed) {
    if (!confirmed.has_value()) return session->Fail(confirmed.error());
    session->Start();
  });
}

}  // namespace kvorum::server
