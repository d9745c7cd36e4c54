// The right to answer one typed call, once, from any thread. A gRPC call gets the response encoded
// by its method's row; an internal call gets it as it is.
//
// A reply to a gRPC call that is dropped without an answer answers with an Internal error, so no
// client waits forever. One to a function only releases the function, with what it holds: that
// happens when the member stops, and what the function would use may be gone. A reply costs no
// allocation and no lock over rpc::UnaryReply.
#pragma once

#include <functional>
#include <utility>

#include "api/kv_encode.h"
#include "base/answer_memory.h"
#include "base/check.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/service.h"

namespace kvorum::server {

template <class Response>
class Reply {
 public:
  struct Answer {
    ResponseHeader header;
    Response response;
  };
  using Encode = SharedBytes (*)(const ResponseHeader& header, const Response& response);
  using Function = std::move_only_function<void(Result<Answer> answer)>;

  Reply(rpc::UnaryReply reply, Encode encode) : encoded_(std::move(reply)), encode_(encode) {}
  static Reply ToFunction(Function function) { return Reply(std::move(function)); }

  // Call exactly one of these, once. `held` is the answer's memory until its connection has it.
  void Send(const ResponseHeader& header, Response response, AnswerMemory::Reservation held = {}) {
    if (function_ != nullptr)
      return std::exchange(function_, nullptr)(Answer{header, std::move(response)});
    if constexpr (requires { response.deleted; }) encoded_.NoteCount(response.deleted);
    SharedBytes message = encode_(header, response);
    if (held.bytes() == 0) return encoded_.Send(std::move(message));
    encoded_.Send({.begun = {.bytes = {std::move(message)}, .held = std::move(held)},
                   .rest = nullptr,
                   .rest_bytes = 0});
  }
  // For CallContext::NotePlace, before Send.
  void NotePlace(std::uint64_t place) {
    if (function_ == nullptr) encoded_.NotePlace(place);
  }
  void Fail(Error error) {
    if (function_ != nullptr)
      return std::exchange(function_, nullptr)(std::unexpected(std::move(error)));
    encoded_.Fail(std::move(error));
  }
  // For a response that is encoded while it is read: the reply for its bytes. An internal call
  // never requests such a response.
  rpc::UnaryReply TakeEncoded() {
    KV_CHECK(function_ == nullptr, "a response that is never a value");
    return std::move(encoded_);
  }

 private:
  explicit Reply(Function function) : encoded_(nullptr), function_(std::move(function)) {}

  rpc::UnaryReply encoded_;
  Encode encode_ = nullptr;
  Function function_;  // null: the answer is encoded
};

}  // namespace kvorum::server
