#include "rpc/tls/handshake_gate.h"

namespace kvorum::rpc {
namespace {

// The number of steps in one wake-up: other connections wait for them.
constexpr int kStepsPerWakeup = 4;

}  // namespace

HandshakeGate::~HandshakeGate() {
  loop_.Disarm(timer_);
  loop_.DropFlush(*this);
}

void HandshakeGate::Ready(Guest& guest) {
  switch (guest.place_) {
    case Guest::Place::kOutside:
      guest.place_ = Guest::Place::kWaiting;
      guest.queued_ = waiting_.insert(waiting_.end(), &guest);
      break;
    case Guest::Place::kActive:
      guest.place_ = Guest::Place::kActiveAndReady;
      guest.queued_ = ready_.insert(ready_.end(), &guest);
      break;
    case Guest::Place::kWaiting:
    case Guest::Place::kActiveAndReady:
      return;
  }
  Wake();
}

void HandshakeGate::Leave(Guest& guest) {
  switch (guest.place_) {
    case Guest::Place::kOutside:
      return;
    case Guest::Place::kWaiting:
      waiting_.erase(guest.queued_);
      break;
    case Guest::Place::kActiveAndReady:
      ready_.erase(guest.queued_);
      active_.erase(guest.active_);
      break;
    case Guest::Place::kActive:
      active_.erase(guest.active_);
      break;
  }
  guest.place_ = Guest::Place::kOutside;
  if (!waiting_.empty()) Wake();
}

bool HandshakeGate::Admit() {
  if (waiting_.empty()) return false;
  if (active_.size() >= max_active_) {
    Guest& oldest = *active_.front();
    const TimePoint until = oldest.begun_ + patience_;
    if (loop_.now() < until) {
      loop_.Arm(timer_, until);
      return false;
    }
    Leave(oldest);
    oldest.GiveUpPlace();
  }
  if (waiting_.empty()) return false;  // a guest that left may have taken others along
  Guest& guest = *waiting_.front();
  waiting_.pop_front();
  guest.begun_ = loop_.now();
  guest.active_ = active_.insert(active_.end(), &guest);
  guest.queued_ = ready_.insert(ready_.end(), &guest);
  guest.place_ = Guest::Place::kActiveAndReady;
  return true;
}

void HandshakeGate::Flush() {
  bool admits = true;
  for (int i = 0; i < kStepsPerWakeup; ++i) {
    // One newcomer for each handshake that goes on, so that neither delays the other for ever.
    if (i % 2 == 0 || ready_.empty()) admits = Admit();
    if (ready_.empty()) return;
    Guest& guest = *ready_.front();
    ready_.pop_front();
    guest.place_ = Guest::Place::kActive;
    guest.Shake();
  }
  if (!ready_.empty() || (admits && !waiting_.empty())) Wake();
}

}  // namespace kvorum::rpc
