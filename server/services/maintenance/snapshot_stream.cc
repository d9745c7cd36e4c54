#include "server/services/maintenance/snapshot_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/maintenance_encode.h"
#include "api/storage_version.h"
#include "base/api_errors.h"
#include "base/background/aside.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "base/text/human_bytes.h"
#include "mvcc/store/store.h"
#include "mvcc/transfer/etcd_image.h"
#include "rpc/call/grpc_protocol.h"
#include "server/call/reads.h"
#include "server/replica/drive/bounded_source.h"
#include "server/replica/member/local_member.h"
#include "server/state/replicated_state.h"

namespace kvorum::server {
namespace {

// A client may be far away: it gets longer than a member does.
constexpr BoundedSource::Limits kLimits{.grace = std::chrono::hours(1),
                                        .bytes_per_second = std::uint64_t{1} << 20};

// A piece is written at once, and counted by the pace: a multiple of a message.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
static_assert(kPieceBytes % mvcc::kImageUnitBytes == 0);
// The digester takes so much at once: about a millisecond.
constexpr std::size_t kDigestBytes = std::size_t{256} << 10;

}  // namespace

SnapshotStream::SnapshotStream(const Reads& reads, LocalMember& member,
                               std::shared_ptr<rpc::ServerStream> stream,
                               std::shared_ptr<std::atomic<int>> running)
    : reads_(reads),
      member_(member),
      hasher_(*reads.executors.hasher),
      digester_(*reads.executors.digester),
      stream_(std::move(stream)),
      running_(std::move(running)),
      digest_(EVP_MD_CTX_new()),
      pace_(reads.limits.snapshot_bytes_per_second) {
  running_->fetch_add(1);
}

SnapshotStream::~SnapshotStream() {
  running_->fetch_sub(1);
  if (started_ != TimePoint{}) reads_.store.SnapshotTook(hasher_.clock().Now() - started_);
}

void SnapshotStream::Start() {
  if (running_->load() > kMaxAtOnce) return Fail(kErrTooManyRequests.ToError());
  const auto begin = [self = shared_from_this()] { self->hasher_.Post([self] { self->Begin(); }); };
  // A full disk is when a backup is wanted most: then it is of what the disk has.
  if (reads_.store.CommitStalled()) return begin();
  reads_.store.Flush(begin);
}

void SnapshotStream::GiveUp() {
  is_over_ = true;
  source_.reset();
  std::lock_guard lock(mutex_);
  waiting_.clear();
  waiting_bytes_ = 0;
}

void SnapshotStream::Fail(const Error& error) {
  GiveUp();
  KV_WARN("failed to send a database snapshot to a client", {"error", error.message},
          {"made-bytes", made_bytes_}, {"total-bytes", total_bytes_});
  stream_->Finish(error);
}

void SnapshotStream::Begin() {
  started_ = hasher_.clock().Now();
  Result<void> opened = Open();
  if (!opened.has_value()) return Fail(opened.error());
  Prepare();
}

Result<void> SnapshotStream::Open() {
  KV_TRY(mvcc::Store::DurableReader opened, reads_.store.OpenDurable());
  KV_TRY(mvcc::Store::Recovered content, mvcc::Store::ReadRecovered(*opened.reader));
  KV_TRY(const MembershipView members, LoadMembership(*opened.reader));
  const mvcc::EtcdImageOptions told{.storage_version =
                                        ImageStorageVersion(members.cluster_version)};
  version_ = told.storage_version.value_or(std::move(content.storage_version));
  std::unique_ptr<mvcc::EtcdImage> image =
      mvcc::MakeEtcdImage(std::move(opened.reader), std::move(opened.owner), told);
  image_ = image.get();
  // Without room to begin with, no write makes the file grow.
  LocalMember* const member = &member_;
  const bool had_space = member->DiskTakesWrites();
  source_ = std::make_unique<BoundedSource>(
      std::move(image),
      BoundedSource::Database{
          .file_bytes = std::move(opened.file_bytes),
          .has_space = [member, had_space] { return !had_space || member->DiskTakesWrites(); },
          .in_use_bytes = reads_.store.SizeInUseBytes()},
      hasher_.clock(), kLimits.HeldTo(reads_.limits.snapshot_bytes_per_second));
  if (EVP_DigestInit_ex(digest_.get(), EVP_sha256(), nullptr) != 1)
    return kvorum::Fail(Code::kInternal, "SHA-256 is not available");
  return {};
}

void SnapshotStream::Prepare() {
  if (stream_->context().cancelled()) return GiveUp();
  Result<bool> is_prepared = source_->Prepare();
  // Asked to end, since the map doubles.
  if (!is_prepared.has_value() && is_prepared.error() == mvcc::kReaderMustEnd.ToError()) {
    source_.reset();
    if (const Result<void> opened = Open(); !opened.has_value()) return Fail(opened.error());
    is_prepared = false;
  }
  if (!is_prepared.has_value()) return Fail(is_prepared.error());
  if (!*is_prepared) return hasher_.Post([self = shared_from_this()] { self->Prepare(); });
  total_bytes_ = image_->size_bytes();
  KV_INFO("sending database snapshot to client", {"total-bytes", total_bytes_},
          {"size", HumanBytes(total_bytes_)}, {"storage-version", version_});
  WatchForStall(taken_);
  WatchReader();
  Step();
}

void SnapshotStream::WatchReader() {
  hasher_.PostAt(hasher_.clock().Now() + kReaderLook, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr || self->is_over_ || self->source_ == nullptr) return;
    if (const Result<void> looked = self->source_->Look(); !looked.has_value())
      return self->Fail(looked.error());
    self->WatchReader();
  });
}

void SnapshotStream::Step() {
  if (is_over_ || source_ == nullptr) return;
  if (stream_->context().cancelled()) return GiveUp();
  if (!HasRoom()) {
    waits_for_room_ = true;
    return;
  }
  const Result<SharedBytes> chunk = source_->Next();
  if (!chunk.has_value()) return Fail(chunk.error());
  if (chunk->empty()) return OnAllMade();
  PutChunk(*chunk);
  hasher_.Post([self = shared_from_this()] { self->Step(); });
}

void SnapshotStream::AppendMessage(const SharedBytes& blob, Piece& piece) {
  made_bytes_ += blob.size();
  const std::uint64_t remaining_bytes = total_bytes_ - std::min(total_bytes_, made_bytes_);
  const std::string head = EncodeSnapshotHead(remaining_bytes, blob.size());
  const std::string tail = EncodeSnapshotTail(version_);
  piece.frames.push_back(SharedBytes::Copy(
      std::string(rpc::View(rpc::PrefixOf(head.size() + blob.size() + tail.size()))) + head));
  piece.frames.push_back(blob);
  if (!tail.empty()) piece.frames.push_back(SharedBytes::Copy(tail));
  piece.size_bytes += blob.size();
  ++piece.messages;
}

void SnapshotStream::PutChunk(const SharedBytes& chunk) {
  Digest(chunk);
  for (std::size_t at = 0; at < chunk.size();) {
    Piece piece;
    for (; at < chunk.size() && piece.size_bytes < kPieceBytes; at += mvcc::kImageUnitBytes)
      AppendMessage(chunk.Slice(at, std::min(mvcc::kImageUnitBytes, chunk.size() - at)), piece);
    Put(std::move(piece));
  }
}

void SnapshotStream::Digest(const SharedBytes& chunk) {
  undigested_bytes_ += chunk.size();
  digester_.Post([self = shared_from_this(), chunk] {
    for (std::size_t at = 0; at < chunk.size(); at += kDigestBytes) {
      const std::string_view part = chunk.view().substr(at, kDigestBytes);
      RunAside([&] { EVP_DigestUpdate(self->digest_.get(), part.data(), part.size()); });
    }
    Executor& hasher = self->hasher_;
    hasher.Post([self, size_bytes = chunk.size()] { self->OnDigested(size_bytes); });
  });
}

void SnapshotStream::OnDigested(std::size_t size_bytes) {
  undigested_bytes_ -= size_bytes;
  if (is_over_) return;
  if (source_ == nullptr) return OnAllMade();
  if (std::exchange(waits_for_room_, false)) Step();
}

void SnapshotStream::OnAllMade() {
  source_.reset();
  if (undigested_bytes_ == 0) PutHash();
}

void SnapshotStream::PutHash() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  EVP_DigestFinal_ex(digest_.get(), hash.data(), &size);
  KV_INFO("sending database sha256 checksum to client", {"total-bytes", total_bytes_},
          {"checksum-size", size});
  Piece piece;
  piece.is_last = true;
  AppendMessage(SharedBytes::Copy({reinterpret_cast<const char*>(hash.data()), size}), piece);
  Put(std::move(piece));
}

bool SnapshotStream::HasRoom() {
  if (undigested_bytes_ >= kMaxWaitingBytes) return false;
  std::lock_guard lock(mutex_);
  return waiting_bytes_ < kMaxWaitingBytes;
}

void SnapshotStream::Put(Piece piece) {
  {
    std::lock_guard lock(mutex_);
    waiting_bytes_ += piece.size_bytes;
    waiting_.push_back(std::move(piece));
    if (std::exchange(is_writing_, true)) return;
  }
  WriteNext();
}

void SnapshotStream::WriteNext() {
  Piece piece;
  {
    std::lock_guard lock(mutex_);
    is_writing_ = !waiting_.empty();
    if (!is_writing_) return;
    piece = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= piece.size_bytes;
  }
  const TimePoint next = pace_.After(hasher_.clock().Now(), piece.size_bytes);
  stream_->WriteFrames(
      std::move(piece.frames), piece.messages,
      [self = shared_from_this(), next, is_last = piece.is_last](const Result<void>& written) {
        Executor& hasher = self->hasher_;
        const bool is_taken = written.has_value();
        hasher.Post([self, is_taken, is_last] { self->OnWritten(is_taken, is_last); });
        if (!is_taken || is_last) return;
        if (next <= hasher.clock().Now()) return self->WriteNext();
        hasher.PostAt(next, [self] { self->WriteNext(); });
      });
}

void SnapshotStream::OnWritten(bool is_taken, bool is_last) {
  if (is_over_) return;
  if (!is_taken) return GiveUp();  // the client has left
  ++taken_;
  if (is_last) return FinishWell();
  if (std::exchange(waits_for_room_, false)) Step();
}

void SnapshotStream::FinishWell() {
  is_over_ = true;
  stream_->FinishOk();
  KV_INFO("successfully sent database snapshot to client", {"total-bytes", total_bytes_},
          {"size", HumanBytes(total_bytes_)},
          {"took", FormatDuration(hasher_.clock().Now() - started_)},
          {"storage-version", version_});
}

void SnapshotStream::WatchForStall(std::uint64_t taken_before) {
  hasher_.PostAt(hasher_.clock().Now() + kLongestStall, [weak = weak_from_this(), taken_before] {
    const auto self = weak.lock();
    if (self == nullptr || self->is_over_) return;
    if (self->taken_ != taken_before) return self->WatchForStall(self->taken_);
    self->GiveUp();
    self->stream_->Cut({Code::kUnavailable,
                        "the snapshot was given up, because its client has not read for too long"});
  });
}

}  // namespace kvorum::server
