#include "rpc/call/request_body.h"

#include "rpc/call/grpc_protocol.h"

namespace kvorum::rpc {

Result<void> RequestBody::Assemble(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (reader_.complete()) return Fail(ManyRequestsError());
  KV_TRY(const std::size_t used, reader_.Feed(bytes));
  if (used < bytes.size()) return Fail(ManyRequestsError());
  return {};
}

Result<void> RequestBody::Finish() {
  if (!reader_.complete())
    return Fail(reader_.held_bytes() == 0 ? NoRequestError() : UnexpectedEndError());
  message_ = TakeNext();
  return {};
}

Result<std::size_t> RequestBody::ReadOn() {
  const std::size_t before = kept_used_;
  while (!reader_.complete() && kept_used_ < kept_.size()) {
    KV_TRY(const std::size_t used, reader_.Feed(std::string_view(kept_).substr(kept_used_)));
    kept_used_ += used;
  }
  const std::size_t used = kept_used_ - before;
  if (kept_used_ == kept_.size()) DropKept();
  return used;
}

Result<RequestBody::Next> RequestBody::Look(bool single) const {
  if (reader_.complete()) {
    if (single && kept_bytes() > 0) return Fail(ManyRequestsError());
    return single && !ended_ ? Next::kUnknown : Next::kMessage;
  }
  if (!ended_) return Next::kUnknown;
  if (reader_.held_bytes() > 0) return Fail(UnexpectedEndError());
  if (single && messages_ == 0) return Fail(NoRequestError());
  return Next::kEnd;
}

}  // namespace kvorum::rpc
