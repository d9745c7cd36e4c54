#include "server/locks/local_client.h"

#include <utility>

#include "proto/wire.h"
#include "rpc/loop.h"
#include "server/messages/lease_messages.h"
#include "watch/hub.h"

namespace kvorum::server {
namespace {

constexpr std::uint32_t kHeader = 1;  // in every response
constexpr std::uint32_t kHeaderRevision = 3;

Error AsTold(Error error) {
  if (error.code != Code::kCanceled && error.code != Code::kDeadlineExceeded)
    error.code = Code::kUnknown;
  return error;
}

std::unexpected<Error> NoSuchMessage() {
  return Fail(Code::kInternal, "an answer of another kind");
}

std::int64_t RevisionOf(std::string_view header) {
  std::int64_t revision = 0;
  wire::Reader reader(header);
  while (reader.Next()) {
    if (reader.field() == kHeaderRevision) {
      revision = reader.Int();
    } else {
      reader.Skip();
    }
  }
  return revision;
}

Result<RangeAnswer> DecodeRangeAnswer(std::string_view bytes) {
  RangeAnswer answer;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case kHeader:
        answer.header = reader.Bytes();
        break;
      case 2: {
        const std::string_view row = reader.Bytes();
        if (answer.kv.empty()) answer.kv = row;
        break;
      }
      case 4:
        answer.count = reader.Int();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return NoSuchMessage();
  answer.revision = RevisionOf(answer.header);
  return answer;
}

// Of a ResponseOp.
Result<void> ReadOp(std::string_view bytes, TxnAnswer& answer) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) {
      KV_TRY(RangeAnswer range, DecodeRangeAnswer(reader.Bytes()));
      answer.ranges.push_back(std::move(range));
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return NoSuchMessage();
  return {};
}

Result<TxnAnswer> DecodeTxnAnswer(std::string_view bytes) {
  TxnAnswer answer;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case kHeader:
        answer.header = reader.Bytes();
        break;
      case 2:
        answer.succeeded = reader.Bool();
        break;
      case 3:
        KV_RETURN_IF_ERROR(ReadOp(reader.Bytes(), answer));
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return NoSuchMessage();
  answer.revision = RevisionOf(answer.header);
  return answer;
}

Result<std::string> DecodeHeader(std::string_view bytes) {
  std::string header;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == kHeader) {
      header = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return NoSuchMessage();
  return header;
}

// A number field of an answer.
template <std::uint32_t field>
Result<std::int64_t> DecodeNumber(std::string_view bytes) {
  std::int64_t number = 0;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == field) {
      number = reader.Int();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return NoSuchMessage();
  return number;
}

}  // namespace

watch::Shard& LocalClient::ShardOf(const rpc::CallContext& call) {
  return context_.watches->shard(call.loop() == nullptr ? 0 : call.loop()->index());
}

template <class Value>
rpc::UnaryReply LocalClient::ReplyTo(const rpc::CallContext& call,
                                     Result<Value> (*decode)(std::string_view),
                                     Callback<Value> callback) {
  return rpc::UnaryReply::ToFunction(
      [&executor = ShardOf(call).executor(), decode,
       callback = std::move(callback)](Result<ByteChain> reply) mutable {
        executor.Post([decode, callback = std::move(callback), reply = std::move(reply)]() mutable {
          if (!reply.has_value()) return callback(Fail(AsTold(std::move(reply).error())));
          callback(decode(Join(*reply)));
        });
      });
}

void LocalClient::Range(const rpc::CallContext& call, std::string request,
                        Callback<RangeAnswer> callback) {
  kv_.Range(call, SharedBytes::Own(std::move(request)),
            ReplyTo(call, DecodeRangeAnswer, std::move(callback)));
}

void LocalClient::Txn(const rpc::CallContext& call, std::string request,
                      Callback<TxnAnswer> callback) {
  kv_.Txn(call, SharedBytes::Own(std::move(request)),
          ReplyTo(call, DecodeTxnAnswer, std::move(callback)));
}

void LocalClient::DeleteRange(const rpc::CallContext& call, std::string request,
                              Callback<std::string> callback) {
  kv_.DeleteRange(call, SharedBytes::Own(std::move(request)),
                  ReplyTo(call, DecodeHeader, std::move(callback)));
}

void LocalClient::Grant(const rpc::CallContext& call, std::int64_t ttl_s,
                        Callback<lease::LeaseId> callback) {
  lease_.Grant(call, SharedBytes::Own(EncodeLeaseGrant({.ttl_s = ttl_s})),
               ReplyTo<lease::LeaseId>(call, DecodeNumber<2>, std::move(callback)));
}

void LocalClient::TimeToLive(const rpc::CallContext& call, lease::LeaseId lease,
                             Callback<std::int64_t> callback) {
  lease_.TimeToLive(call, SharedBytes::Own(EncodeLeaseId(lease)),
                    ReplyTo<std::int64_t>(call, DecodeNumber<3>, std::move(callback)));
}

}  // namespace kvorum::server
