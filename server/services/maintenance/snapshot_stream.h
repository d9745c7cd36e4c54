// Maintenance.Snapshot: the database as etcd's file, in messages of 32 KiB that count down what
// remains, then one with the SHA-256 of all of them.
//
// A session owns itself. The image is planned in steps on the hasher. Each further step there makes
// a chunk of about 1 MiB. The digester adds it to the SHA-256, and the stream's loop passes it
// through the client's flow control, both while the next one is made. A few MiB wait for each of
// the two at most; then the next step begins when some of it has been taken. So a save takes as
// long as the slowest of the three, and others may use the hasher between steps. A limit of the
// rate delays what is written. The reader pins the pages of one state: a client that takes nothing
// for long, or so little that the file grows too much, is cut off.
#pragma once

#include <openssl/evp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/freed_by.h"
#include "base/pace.h"
#include "base/shared_bytes.h"
#include "base/task.h"
#include "rpc/call/service.h"

namespace kvorum::mvcc {
class EtcdImage;
class SnapshotSource;
}  // namespace kvorum::mvcc

namespace kvorum::server {

class LocalMember;
struct Reads;

class SnapshotStream final : public std::enable_shared_from_this<SnapshotStream> {
 public:
  // Each pins pages and uses the hasher; more at once are refused.
  static constexpr int kMaxAtOnce = 4;
  static constexpr Duration kLongestStall = std::chrono::minutes(5);

  // `running` counts the sessions that live.
  SnapshotStream(const Reads& reads, LocalMember& member, std::shared_ptr<rpc::ServerStream> stream,
                 std::shared_ptr<std::atomic<int>> running);
  ~SnapshotStream();
  SnapshotStream(const SnapshotStream&) = delete;
  SnapshotStream& operator=(const SnapshotStream&) = delete;

  // Once everything applied before is durable, as far as the disk lets it.
  void Start();

 private:
  // Made of one chunk, and written at once.
  struct Piece {
    ByteChain frames;
    std::size_t messages = 0;
    std::uint64_t size_bytes = 0;
    bool is_last = false;
  };
  // No chunk is made while so much waits for the client or the digester; one that was made in time
  // may pass it.
  static constexpr std::uint64_t kMaxWaitingBytes = std::uint64_t{2} << 20;
  static constexpr Duration kReaderLook = std::chrono::milliseconds(250);

  // On the hasher.
  void Begin();
  Result<void> Open();
  void Prepare();
  void Step();
  void PutChunk(const SharedBytes& chunk);
  void Digest(const SharedBytes& chunk);
  void OnDigested(std::size_t size_bytes);
  void OnAllMade();
  void PutHash();
  // One message of the answer.
  void AppendMessage(const SharedBytes& blob, Piece& piece);
  bool HasRoom();
  void Put(Piece piece);
  void OnWritten(bool is_taken, bool is_last);
  void FinishWell();
  // Releases everything; what is being written comes to its end by itself.
  void GiveUp();
  void Fail(const Error& error);
  // Looks now and then whether the client has taken anything.
  void WatchForStall(std::uint64_t taken_before);
  // Looks often whether the database waits for the reader, while the client is waited for.
  void WatchReader();

  // Any thread, but only one that has is_writing_.
  void WriteNext();

  const Reads& reads_;
  LocalMember& member_;
  Executor& hasher_;
  Executor& digester_;
  const std::shared_ptr<rpc::ServerStream> stream_;
  const std::shared_ptr<std::atomic<int>> running_;
  // The hasher's.
  TimePoint started_;
  std::string version_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t made_bytes_ = 0;
  std::uint64_t undigested_bytes_ = 0;
  std::uint64_t taken_ = 0;  // pieces
  bool waits_for_room_ = false;
  bool is_over_ = false;
  std::unique_ptr<mvcc::SnapshotSource> source_;  // null before Open and after the last chunk
  const mvcc::EtcdImage* image_ = nullptr;        // within source_
  // The digester's, between the first chunk and the last.
  std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>> digest_;

  Pace pace_;  // used by WriteNext alone
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Piece> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  bool is_writing_ = false;  // or waits for the time of the next piece
};

}  // namespace kvorum::server
