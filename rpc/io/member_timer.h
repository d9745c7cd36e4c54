// A timer that calls a member function of its owner.
//
// Belongs to the owner's loop.
#pragma once

#include "rpc/io/timer_heap.h"

namespace kvorum::rpc {

template <class Owner, void (Owner::*kMethod)()>
class MemberTimer final : public Timer {
 public:
  explicit MemberTimer(Owner& owner) : owner_(owner) {}
  void OnTimer() override { (owner_.*kMethod)(); }

 private:
  Owner& owner_;
};

}  // namespace kvorum::rpc
