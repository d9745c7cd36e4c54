#include "server/services/kv/kv_service.h"

#include <type_traits>
#include <utility>

#include "api/kv_decode.h"
#include "base/api_errors.h"
#include "mvcc/records/validate.h"
#include "mvcc/store/store.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/io/loop.h"
#include "server/call/method_registrar.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"
#include "server/call/reply_waiter.h"
#include "server/call/request_batcher.h"
#include "server/services/kv/answer_pieces.h"
#include "server/services/kv/nested_txn.h"
#include "server/services/kv/planned_answer.h"
#include "server/services/kv/range_stream.h"
#include "server/services/kv/read_cost.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

// The most that may be read on an I/O loop: next to nothing while answers fill their memory.
std::size_t LoopBytes(const Reads& reads) {
  return reads.answers.full() ? AnswerMemory::kStepBytes : reads.limits.answers.loop_bytes;
}

// Answers from the view, if the read is small. Returns true if the answer was given.
bool ServedFrom(mvcc::ReadView& view, const Reads& reads, const mvcc::RangeRequest& request,
                rpc::UnaryReply& reply) {
  RangeEncoder encoder(reads.cluster.Header(view.revision()), LoopBytes(reads));
  const auto summary = view.Range(request, encoder);
  if (encoder.is_exceeded()) return false;
  if (!summary.has_value()) {
    reply.Fail(summary.error());
    return true;
  }
  reply.NoteCount(summary->count);
  reply.Send(encoder.Finish(summary->more, summary->count));
  return true;
}

bool ServedFrom(mvcc::ReadView& view, const Reads& reads, const mvcc::TxnRequest& request,
                rpc::UnaryReply& reply) {
  AnswerLimits here = reads.limits.answers;
  here.max_bytes = here.keep_bytes = LoopBytes(reads);
  PlannedAnswer answer(here, /*memory=*/nullptr);
  const auto made = answer.MakeTxn(view, reads.cluster.Header(view.revision()), request);
  if (answer.is_too_large()) return false;
  if (!made.has_value()) {
    reply.Fail(made.error());
    return true;
  }
  reply.NoteRows(answer.TakeRangeRows());
  reply.Send(answer.TakeKept().bytes);
  return true;
}

// Reads on an I/O loop, if the read is small. Returns true if the answer was given.
template <class Request>
bool ServedHere(const Reads& reads, const rpc::Caller& caller, const Request& request,
                rpc::UnaryReply& reply) {
  auto held = reads.ReadFor(caller, request);
  if (held.has_value()) return ServedFrom(**held, reads, request, reply);
  reply.Fail(std::move(held).error());
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

// Reads on another executor, at any size.
template <class Request>
void ServeLarge(const Reads& reads, const rpc::Caller& caller, SharedBytes bytes,
                const Request& request, rpc::UnaryReply reply) {
  PlannedAnswer answer(reads.limits.answers, &reads.answers);
  {
    auto held = reads.ReadFor(caller, request);
    if (!held.has_value()) return reply.Fail(std::move(held).error());
    mvcc::ReadView& view = **held;
    const auto made = Plan(answer, view, reads.cluster.Header(view.revision()), request);
    if (!made.has_value()) return reply.Fail(made.error());
    reply.NoteCount(answer.count());
    if constexpr (std::is_same_v<Request, mvcc::TxnRequest>) reply.NoteRows(answer.TakeRangeRows());
  }
  rpc::LargeAnswer large{
      .begun = answer.TakeKept(), .rest = nullptr, .rest_bytes = answer.rest_bytes()};
  if (!answer.is_whole())
    large.rest = std::make_shared<AnswerPieces>(reads, std::move(bytes), answer);
  reply.Send(std::move(large));
}

// Runs the read here if it is small, else where reads of its size are.
template <class Request>
void RunRead(const Reads& reads, const rpc::Caller& caller, const rpc::Loop* loop,
             Received<Request> read, rpc::UnaryReply reply) {
  const ReadPlace place = PlaceOf(reads, read.request);
  if (place == ReadPlace::kLoop && ServedHere(reads, caller, read.request, reply)) return;
  Executor& elsewhere =
      place == ReadPlace::kReaders ? *reads.executors.readers : reads.executors.PagesOf(loop);
  elsewhere.Post([&reads, caller, read = std::move(read), reply = std::move(reply)]() mutable {
    ServeLarge(reads, caller, std::move(read.bytes), read.request, std::move(reply));
  });
}

// A key whose newest value is read on the loop; empty if none is known.
std::string_view KeyToRead(const mvcc::RangeRequest& request) {
  const bool reads_value = request.range_end.empty() && request.revision <= 0 &&
                           !request.count_only && !request.keys_only;
  return reads_value ? request.key : std::string_view();
}
std::string_view KeyToRead(const mvcc::TxnRequest& /*request*/) { return {}; }

template <class Request>
void RunLinearizableRead(const Reads& reads, const rpc::CallContext& call, Received<Request> read,
                         rpc::UnaryReply reply) {
  const std::string_view key = KeyToRead(read.request);  // in read.bytes
  reads.batcher.Read(
      call.loop(),
      [&reads, caller = call.caller, loop = call.loop(), read = std::move(read),
       reply = std::move(reply)](const Result<void>& confirmed) mutable {
        if (!confirmed.has_value()) return reply.Fail(confirmed.error());
        if (loop != nullptr) reply.NoteBegun(loop->now());
        RunRead(reads, caller, loop, std::move(read), std::move(reply));
      },
      key);
}

}  // namespace

void KvService::Register(MethodRegistrar& methods) {
  methods.Add(api::kRange, this, &KvService::Range);
  methods.Add(api::kPut, this, &KvService::Put);
  methods.Add(api::kDeleteRange, this, &KvService::DeleteRange);
  methods.Add(api::kTxn, this, &KvService::Txn);
  methods.Add(api::kCompact, this, &KvService::Compact);
  methods.AddStream(api::kRangeStream, [this](std::shared_ptr<rpc::ServerStream> stream) {
    RangeStream(std::move(stream));
  });
}

void KvService::Range(const rpc::CallContext& call, Received<mvcc::RangeRequest> range,
                      Reply<EncodedRows> reply) {
  if (range.request.serializable)
    return RunRead(reads_, call.caller, call.loop(), std::move(range), reply.TakeEncoded());
  RunLinearizableRead(reads_, call, std::move(range), reply.TakeEncoded());
}

void KvService::Put(const rpc::CallContext& call, Received<mvcc::PutRequest> put,
                    Reply<mvcc::PutResult> reply) {
  ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kPut, put.bytes.view(),
                  std::move(reply));
}

void KvService::DeleteRange(const rpc::CallContext& call,
                            Received<mvcc::DeleteRangeRequest> deletion,
                            Reply<mvcc::DeleteRangeResult> reply) {
  ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kDeleteRange,
                  deletion.bytes.view(), std::move(reply));
}

void KvService::Txn(const rpc::CallContext& call, Received<mvcc::TxnRequest> txn,
                    Reply<mvcc::TxnResult> reply) {
  if (!mvcc::IsReadOnly(txn.request)) {
    if (reads_.cluster.membership.may_have_older_etcd()) [[unlikely]]
      return ProposeNested(proposer_, call, std::move(txn), std::move(reply));
    return ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kTxn, txn.bytes.view(),
                           std::move(reply));
  }
  if (mvcc::IsSerializable(txn.request))
    return RunRead(reads_, call.caller, call.loop(), std::move(txn), reply.TakeEncoded());
  RunLinearizableRead(reads_, call, std::move(txn), reply.TakeEncoded());
}

void KvService::Compact(const rpc::CallContext& call, Received<CompactionRequest> compaction,
                        Reply<CompactionResult> reply) {
  // Deleting may take longer than any proposal: a client that waits for it sets its own deadline.
  const Duration timeout =
      compaction.request.physical ? std::chrono::hours(24 * 365) : reads_.limits.request_timeout;
  proposer_.ProposeFor(
      call.caller, call.loop(), RequestKind::kCompaction, compaction.bytes.view(),
      std::make_unique<ReplyWaiter<CompactionResult>>(reads_.cluster, std::move(reply)), timeout);
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
  auto session = std::make_shared<RangeStreamSession>(reads_, stream, std::move(bytes), *request);
  if (request->serializable) return session->Start();
  reads_.batcher.Read(stream->context().loop(), [session](const Result<void>& confirmed) {
    if (!confirmed.has_value()) return session->Fail(confirmed.error());
    session->Start();
  });
}

}  // namespace kvorum::server
