#include "client/mutex.h"

#include <utility>

#include "base/api_errors.h"
#include "client/key_queue.h"

namespace kvorum::client {
namespace {

constexpr const char* kTaken = "mutex: Locked by another session";
constexpr const char* kReleased = "mutex: lock has already been released";

}  // namespace

Mutex::Mutex(LeaseSession& session, std::string_view name)
    : place_(std::make_unique<QueuePlace>(session, name)) {}
Mutex::~Mutex() = default;

const std::string& Mutex::key() const { return place_->key(); }
etcdserverpb::Compare Mutex::IsOwner() const { return place_->IsHeld(); }

Result<void> Mutex::Lock(const std::stop_token& stop) {
  KV_RETURN_IF_ERROR(place_->Enter({}));
  if (auto waited = place_->WaitUntilOldest(stop); !waited) return GiveUp(waited.error());
  return Confirm();
}

Result<void> Mutex::TryLock() {
  KV_RETURN_IF_ERROR(place_->Enter({}));
  const auto oldest = place_->Oldest();
  if (!oldest) return GiveUp(oldest.error());
  const bool is_ours =
      oldest->kvs_size() != 0 && oldest->kvs(0).create_revision() == place_->created();
  if (!is_ours) return GiveUp({Code::kFailedPrecondition, kTaken});
  return Confirm();
}

Result<void> Mutex::Confirm() {
  const auto own = place_->Read();
  if (!own) return GiveUp(own.error());
  if (!*own || place_->session().ended().stop_requested())
    return GiveUp({Code::kFailedPrecondition, std::string(kErrSessionExpired.message)});
  revision_ = (*own)->header().revision();
  return {};
}

std::unexpected<Error> Mutex::GiveUp(Error error) {
  // If even that fails, the key goes with the lease.
  static_cast<void>(place_->Leave());
  return Fail(std::move(error));
}

Result<void> Mutex::Unlock() {
  if (!place_->is_entered()) return Fail(Code::kFailedPrecondition, kReleased);
  KV_RETURN_IF_ERROR(place_->Leave());
  return {};
}

}  // namespace kvorum::client
