// Lets TLS handshakes go on in turns, so that a flood of them, or clients that stop in the middle,
// hold up neither the connections that stand nor those that want to.
//
// A handshake costs its loop up to some milliseconds of arithmetic, and memory until it ends. So a
// wake-up runs only a few steps, oldest first, and only `max_active` handshakes are under way at a
// time: the rest wait, without any state but their socket. If none ends, the one that began first
// has to leave once it has had `patience`. Who has sent no whole record yet is not here at all.
//
// Belongs to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

#include "rpc/loop.h"
#include "rpc/member_timer.h"

namespace kvorum::rpc {

class HandshakeGate final : public Loop::Flushable {
 public:
  class Guest {
   public:
    virtual ~Guest() = default;
    // Its turn: reads what is there. Calls Leave, or Ready again when more has come.
    virtual void Shake() = 0;
    // Its place is needed.
    virtual void GiveUpPlace() = 0;

   private:
    friend class HandshakeGate;
    enum class Place : std::uint8_t { kOutside, kWaiting, kActive, kActiveAndReady };
    Place place_ = Place::kOutside;
    TimePoint begun_;
    std::list<Guest*>::iterator queued_;  // in waiting_ or ready_
    std::list<Guest*>::iterator active_;  // in active_
  };

  HandshakeGate(Loop& loop, std::size_t max_active, Duration patience)
      : loop_(loop), max_active_(max_active), patience_(patience) {}
  ~HandshakeGate() override;

  // There is something to read for it.
  void Ready(Guest& guest);
  // Its handshake has ended, or its connection. Nothing happens to one that is not here.
  void Leave(Guest& guest);
  void Flush() override;

  std::size_t active() const { return active_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  // Gives the first that waits a place; false if there is none.
  bool Admit();
  void Wake() { loop_.QueueFlush(*this); }

  Loop& loop_;
  const std::size_t max_active_;
  const Duration patience_;
  std::list<Guest*> waiting_;  // for a place; the first came first
  std::list<Guest*> active_;   // have one; the first began first
  std::list<Guest*> ready_;    // of those, who can go on
  MemberTimer<HandshakeGate, &HandshakeGate::Wake> timer_{*this};
};

}  // namespace kvorum::rpc
