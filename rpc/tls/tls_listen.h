// A listener's encryption settings, and the outcomes of its handshakes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rpc/tls/tls_context.h"

namespace kvorum::rpc {

// Immutable; shared by the listener and its connections.
struct TlsListen {
  std::shared_ptr<TlsContext> context;
  bool plain_text_too = false;  // a first byte that starts no handshake is plain text, and served
};

enum class TlsFailure : std::uint8_t {
  kGone,         // the client left
  kTimeout,      // it did not complete the handshake in time, or its place was needed
  kPlainText,    // it speaks no TLS
  kCertificate,  // it showed none, or one that is refused
  kOther,        // no common version, cipher or protocol; our certificate is refused; not TLS
};
inline constexpr std::size_t kTlsFailureKinds = 5;

// Written by one loop, read by all.
struct TlsCounters {
  std::atomic<std::uint64_t> handshakes{0};                             // successful ones
  std::array<std::atomic<std::uint64_t>, kTlsFailureKinds> failures{};  // by TlsFailure
};

}  // namespace kvorum::rpc
