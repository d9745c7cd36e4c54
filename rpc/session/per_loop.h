// State shared by all connections of one loop: the settings, the router, and the buffers for one
// read and one write at a time, so that an idle connection owns neither.
//
// Belongs to the loop's thread, except the counters, which others may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/answer_memory.h"
#include "rpc/call/output_batch.h"
#include "rpc/call/service.h"
#include "rpc/http/http.h"
#include "rpc/io/loop.h"
#include "rpc/io/member_timer.h"
#include "rpc/io/session_memory.h"
#include "rpc/session/options.h"
#include "rpc/session/rejection_log.h"
#include "rpc/tls/handshake_gate.h"
#include "rpc/tls/tls_link.h"
#include "rpc/tls/tls_listen.h"

namespace kvorum::rpc {

struct PerLoop {
  static constexpr std::size_t kInputBytes = 64 * 1024;

  PerLoop(const Options& o, const Router& r, const HttpHandler& h, Loop& l, AnswerMemory& a)
      : options(o),
        router(r),
        http(h),
        loop(l),
        answers(a),
        input(kInputBytes),
        gate(l, o.max_handshakes, o.handshake_patience) {}

  const Options& options;
  const Router& router;
  const HttpHandler& http;
  Loop& loop;
  AnswerMemory& answers;
  std::vector<char> input;
  OutputBatch output;
  SessionMemory session_memory;
  HandshakeGate gate;
  TlsBuffers tls_buffers;
  RejectionLog rejections;
  TlsCounters tls;
  // Written by this loop alone.
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> sent_bytes{0};
};

}  // namespace kvorum::rpc
