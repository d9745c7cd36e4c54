// Admits TLS handshakes in turn, so that neither a flood of them nor clients that stop midway hold
// up established or new connections.
//
// A handshake costs its loop up to some milliseconds of arithmetic, and memory until it ends. So a
// wake-up runs only a few steps, oldest first, and only `max_active` handshakes are in progress at
// a time: the rest wait, with no state but their socket. If none ends, the one that began first
// must leave once it has had `patience`. A client that has sent no whole record yet is not here at
// all.
//
// Belongs to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

#include "rpc/io/loop.h"
#include "rpc/io/member_timer.h"

namespace kvorum::rpc {

class HandshakeGate final : public Loop::Flushable {
 public:
  class Guest {
   public:
    virtual ~Guest() = default;
    // It is this guest's turn: reads its input. Calls Leave, or Ready again when more has come.
    virtual void Shake() = 0;
    // Another guest needs the place.
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

  // The guest has input to read.
  void Ready(Guest& guest);
  // The guest's handshake, or its connection, has ended. Does nothing for a guest that is not here.
  void Leave(Guest& guest);
  void Flush() override;

  std::size_t active() const { return active_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  // Gives the first waiting guest a place; false if none waits.
  bool Admit();
  void Wake() { loop_.QueueFlush(*this); }

  Loop& loop_;
  const std::size_t max_active_;
  const Duration patience_;
  std::list<Guest*> waiting_;  // for a place; in order of arrival
  std::list<Guest*> active_;   // those with a place; in order of their start
  std::list<Guest*> ready_;    // active guests that can go on
  MemberTimer<HandshakeGate, &HandshakeGate::Wake> timer_{*this};
};

}  // namespace kvorum::rpc
