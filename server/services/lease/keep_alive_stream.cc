#include "server/services/lease/keep_alive_stream.h"

#include <utility>

#include "api/lease_messages.h"
#include "base/api_errors.h"
#include "mvcc/store/store.h"
#include "rpc/call/grpc_protocol.h"
#include "server/call/access.h"
#include "server/call/admission.h"
#include "server/call/reads.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxUnanswered = 256;

// The id in a message; an error if the message is malformed.
Result<lease::LeaseId> IdOf(const Result<std::optional<SharedBytes>>& message) {
  if (!message.has_value()) return std::unexpected(message.error());
  auto id = DecodeLeaseId((*message)->view());
  if (!id.has_value()) return std::unexpected(rpc::OnStream(id.error()));
  return *id;
}

}  // namespace

void KeepAliveStream::Read() {
  {
    std::lock_guard lock(mutex_);
    if (finished_ || client_ended_ || slots_.size() >= kMaxUnanswered) return;
    if (std::exchange(reading_, true)) return;
  }
  stream_->Read([self = shared_from_this()](Result<std::optional<SharedBytes>> message) {
    self->OnRead(std::move(message));
  });
}

// Runs on the stream's loop.
void KeepAliveStream::OnRead(Result<std::optional<SharedBytes>> message) {
  const bool client_left = !message.has_value() && (stream_->context().cancelled() ||
                                                    message.error().code == Code::kCanceled);
  if (client_left) {
    std::lock_guard lock(mutex_);
    finished_ = true;
    return;
  }
  if (message.has_value() && !message->has_value()) return OnEnd();
  const Result<lease::LeaseId> id = IdOf(message);
  // Taken before the renewal, so that its revision is not after one at which the lease was gone.
  const ResponseHeader header = reads_.cluster.Header(reads_.store.revision());
  std::uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    reading_ = false;
    number = first_number_ + slots_.size();
    slots_.push_back({.id = id.value_or(lease::kNoLease), .header = header, .outcome = {}});
  }
  if (!id.has_value()) {
    {
      std::lock_guard lock(mutex_);
      client_ended_ = true;  // later requests are ignored
    }
    return Renewed(number, std::unexpected(id.error()));
  }
  Admit(number, *id);
  Read();
}

// Checked at each renewal: a token may have ended, or the lease may have got keys that the caller
// may not write.
void KeepAliveStream::Admit(std::uint64_t number, lease::LeaseId id) {
  const Access& access = reads_.access;
  if (access.is_off()) return Renew(number, id);
  Access::Check check = [id](const Asker& asker) { return AdmitsLease(asker, id); };
  if (access.Admit(stream_->context(), check).has_value()) return Renew(number, id);
  access.AdmitUpToDate({stream_, &stream_->context()}, std::move(check),
                       [self = shared_from_this(), number, id](Result<void> admitted) {
                         if (admitted.has_value()) return self->Renew(number, id);
                         self->Renewed(number, std::unexpected(std::move(admitted).error()));
                       });
}

void KeepAliveStream::Renew(std::uint64_t number, lease::LeaseId id) {
  access_.Renew(stream_->context().loop(), id,
                [self = shared_from_this(), number](Result<std::int64_t> ttl_s) {
                  self->Renewed(number, std::move(ttl_s));
                });
}

void KeepAliveStream::OnEnd() {
  {
    std::lock_guard lock(mutex_);
    reading_ = false;
    client_ended_ = true;
  }
  Write();
}

void KeepAliveStream::Renewed(std::uint64_t number, Result<std::int64_t> ttl_s) {
  if (!ttl_s.has_value() && ttl_s.error() == kErrLeaseNotFound) ttl_s = 0;
  {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    slots_[number - first_number_].outcome = std::move(ttl_s);
  }
  Write();
}

void KeepAliveStream::Write() {
  Slot slot;
  std::optional<Error> end;
  {
    std::lock_guard lock(mutex_);
    if (finished_ || writing_) return;
    if (slots_.empty()) {
      if (!client_ended_) return;
      end = Error{Code::kOk, {}};
    } else {
      if (!slots_.front().outcome.has_value()) return;
      slot = std::move(slots_.front());
      slots_.pop_front();
      ++first_number_;
      if (!slot.outcome->has_value()) end = slot.outcome->error();
    }
    (end.has_value() ? finished_ : writing_) = true;
  }
  if (end.has_value()) return stream_->Finish(*std::move(end));
  ByteChain message;
  message.push_back(EncodeLeaseKeepAliveResponse(slot.header, slot.id, **slot.outcome));
  stream_->Write(std::move(message), [self = shared_from_this()](const Result<void>& written) {
    self->OnWritten(written);
  });
  Read();
}

void KeepAliveStream::OnWritten(const Result<void>& written) {
  {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!written.has_value()) finished_ = true;
  }
  Write();
}

}  // namespace kvorum::server
