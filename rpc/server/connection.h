// One accepted connection: moves bytes between its socket and the session of the protocol that ALPN
// or the first bytes show. Enforces the limits on the socket's side: time for a TLS handshake and
// to show a protocol, bounded output, time to read the last bytes.
//
// Belongs to its loop. Reads at most one buffer per wake-up and writes a bounded amount, so that
// connections take turns.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_bytes.h"
#include "rpc/io/loop.h"
#include "rpc/session/per_loop.h"
#include "rpc/session/session.h"
#include "rpc/tls/listen_options.h"
#include "rpc/tls/socket.h"

namespace kvorum::rpc {

class Connection final : public Loop::Watcher,
                         public Loop::Flushable,
                         public SessionHost,
                         public HandshakeGate::Guest,
                         private AnswerMemory::Holder {
 public:
  // `on_closed` is called once, when the socket is closed; the connection may be deleted from then
  // on, but not from within the call.
  Connection(PerLoop& per_loop, Socket socket, SharedBytes peer, ListenOptions how,
             std::move_only_function<void(Connection*)> on_closed);
  ~Connection() override;

  // Only these bytes are sent, in place of all that a session would answer; under TLS when the
  // handshake is done. Called before the loop's next wake-up, if at all.
  void Refuse(SharedBytes answer);
  // Calls Session::Drain; a connection that has not shown its protocol is closed.
  void Drain();
  // Calls Session::CancelAll, then closes as soon as the last bytes are out.
  void CancelAll(const Error& reason);
  // Closes now; calls on it are cancelled.
  void Close();

  void OnReady(bool readable, bool writable) override;
  void Flush() override;
  void WantFlush() override { per_loop_.loop.QueueFlush(*this); }
  // Accounts for the memory of its answers where all connections do.
  void CountHeld() override;
  void OnEstablished() override;
  std::string LocalAddress() const override { return rpc::LocalAddress(socket_.fd()); }
  void Shake() override;
  void GiveUpPlace() override;

 private:
  enum class State : std::uint8_t {
    kShaking,   // the TLS handshake
    kRefusing,  // plain text on a TLS port: answered with an error, if it is HTTP
    kSniffing,  // no session yet
    kServing,
    kLingering,  // everything is sent; the peer's bytes are dropped until it closes
    kClosed,
  };

  // The TLS handshake (connection_tls.cc).
  void OnHandshakeReadable();
  void EndShaking(std::size_t plain_size);
  void Reject(TlsFailure kind, std::string_view why);
  void RefusePlainText();

  void SendRefusal();
  void OnReadable();
  void OnBytes(std::string_view bytes);
  // False if the first bytes do not tell the protocol yet, or no session could begin.
  bool StartSession();
  // Writes the rest of an earlier write; true if all of it is out.
  bool FlushPending();
  void Linger();
  void WatchAsNeeded();
  void Watch(bool reading, bool writing);
  bool blocked() const override { return !pending_.empty() || socket_.has_unsent(); }
  void OnTimer();
  void OnCut(std::size_t held_bytes) override;

  PerLoop& per_loop_;
  Socket socket_;
  const SharedBytes peer_;
  const ListenOptions how_;
  std::optional<SharedBytes> certificate_name_;
  std::move_only_function<void(Connection*)> on_closed_;
  State state_ = State::kSniffing;
  std::string sniffed_;
  std::unique_ptr<Session> session_;
  SharedBytes refusal_;               // empty: it is served
  std::vector<SharedBytes> pending_;  // output that the socket did not take
  bool reading_ = true;               // the events that the loop watches
  bool writing_ = false;
  bool input_ended_ = false;  // a socket at its end stays readable: it is no longer watched
  std::size_t lingered_bytes_ = 0;
  // For the end of the handshake, then for the end of lingering.
  MemberTimer<Connection, &Connection::OnTimer> timer_{*this};
  AnswerMemory::Share held_{per_loop_.answers, per_loop_.loop, *this};
};

}  // namespace kvorum::rpc
