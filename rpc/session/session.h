// One protocol on one connection: consumes the socket's input and produces its output. Neither side
// of this interface knows sockets.
//
// Belongs to the connection's loop. OnInput and Produce are called by the connection alone, never
// from within one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "rpc/call/output_batch.h"

namespace kvorum::rpc {

// The connection, as its session sees it.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  // There is output, or the session has ended.
  virtual void WantFlush() = 0;
  // The session's memory for answers has grown by an amount worth counting.
  virtual void CountHeld() = 0;
  // The peer has shown that it speaks the protocol; the handshake's time limit ends.
  virtual void OnEstablished() = 0;
  // The socket takes no output at present.
  virtual bool blocked() const { return false; }
  // "127.0.0.1:2379", the path of a unix socket; empty if there is no socket.
  virtual std::string LocalAddress() const { return {}; }
};

class Session {
 public:
  virtual ~Session() = default;
  virtual void OnInput(std::string_view bytes) = 0;
  // The peer sends no more.
  virtual void OnInputEnd() = 0;
  // Adds output until there is no more or the batch is full.
  virtual void Produce(OutputBatch& batch) = 0;
  // The session has decided to end, and only waits for its last output to be sent.
  virtual bool ending() const = 0;
  // Nothing more is to be read or sent: the connection can be closed once its output is out.
  virtual bool ended() const = 0;
  // True while further input, or the answers to it, would only pile up in memory. `blocked`: the
  // socket takes no output at present.
  virtual bool pauses_input(bool blocked) const = 0;
  // Bytes of answers waiting to be sent, and of requests not handed over.
  virtual std::size_t held_bytes() const = 0;
  // Lets work in flight finish, takes nothing new, then ends.
  virtual void Drain() = 0;
  // Ends work in flight with this error, then ends.
  virtual void CancelAll(const Error& reason) = 0;
};

}  // namespace kvorum::rpc
