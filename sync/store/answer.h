// The two ways of an answer: OnLoop brings it from the store to a component's own task, Answer to
// the component's caller, exactly once.
//
// Both are moved from thread to thread with their holder.
#pragma once

#include <functional>
#include <utility>

#include "base/error.h"
#include "sync/kernel/loop.h"
#include "sync/store/store.h"

namespace kvorum::sync {

// A callback that is called exactly once: dropping it unanswered, as a stopped loop does, cancels
// it. Error: kCanceled for what was dropped.
template <class T>
class Answer {
 public:
  using Callback = std::move_only_function<void(Result<T> result)>;
  explicit Answer(Callback callback) : callback_(std::move(callback)) {}
  Answer(Answer&& other) noexcept : callback_(std::exchange(other.callback_, nullptr)) {}
  Answer& operator=(Answer&&) = delete;
  ~Answer() {
    if (callback_) callback_(Fail(Code::kCanceled, "stopped before there was an answer"));
  }
  void operator()(Result<T> result) { std::exchange(callback_, nullptr)(std::move(result)); }

 private:
  Callback callback_;
};

// The callback that a component passes to the store: it runs `handle_answer` with the answer on the
// loop. If the loop has stopped by then it is dropped, with the Answer that it may hold.
template <class T, class HandleAnswer>
Store::OnAnswer<T> OnLoop(const Loop::Handle& loop, HandleAnswer handle_answer) {
  return [loop, handle_answer = std::move(handle_answer)](Result<T> answer) mutable {
    loop.Post([handle_answer = std::move(handle_answer), answer = std::move(answer)]() mutable {
      handle_answer(std::move(answer));
    });
  };
}

}  // namespace kvorum::sync
