// Maintenance.Snapshot: the database as etcd's file, in messages of 32 KiB that count down what
// remains, then one with the SHA-256 of all of them.
//
// A session owns itself: each step on the hasher makes a chunk of about 1 MiB, and the next one
// begins when that has passed the client's flow control. So a save costs a chunk or two of memory,
// and between steps others may read everything; a limit of its rate delays them. Its reader pins
// the pages of one state: a client that takes nothing for long, or so little that the file grows
// too much, is cut off.
#pragma once

#include <openssl/evp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/freed_by.h"
#include "base/pace.h"
#include "base/shared_bytes.h"
#include "rpc/service.h"
#include "server/call/service_context.h"

namespace kvorum::mvcc {
class SnapshotSource;
}  // namespace kvorum::mvcc

namespace kvorum::server {

class SnapshotStream final : public std::enable_shared_from_this<SnapshotStream> {
 public:
  // Each pins pages and uses the hasher; more at once are refused.
  static constexpr int kMaxAtOnce = 4;
  static constexpr Duration kLongestStall = std::chrono::minutes(5);

  // `running` counts the sessions that live.
  SnapshotStream(ServiceContext& context, std::shared_ptr<rpc::ServerStream> stream,
                 std::shared_ptr<std::atomic<int>> running);
  ~SnapshotStream();
  SnapshotStream(const SnapshotStream&) = delete;
  SnapshotStream& operator=(const SnapshotStream&) = delete;

  // Once everything applied before is durable, as far as the disk lets it.
  void Start();

 private:
  // On the hasher.
  void Begin();
  Result<void> Open();
  void Step();
  // The next chunk is made at `next`, or when this one is taken.
  void SendChunk(const SharedBytes& chunk, TimePoint next);
  void SendHash();
  void Fail(const Error& error);
  // Looks now and then whether the client has taken anything.
  void WatchForStall(std::uint64_t steps_seen);

  // One message of the answer, onto frames_.
  void AppendMessage(const SharedBytes& blob);

  ServiceContext& context_;
  const std::shared_ptr<rpc::ServerStream> stream_;
  const std::shared_ptr<std::atomic<int>> running_;
  TimePoint started_;
  std::string version_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t steps_ = 0;
  Pace pace_;
  std::unique_ptr<mvcc::SnapshotSource> source_;  // null before Open and after the end
  std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>> digest_;
  ByteChain frames_;
};

}  // namespace kvorum::server
