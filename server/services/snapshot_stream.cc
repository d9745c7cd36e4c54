#include "server/services/snapshot_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/api_errors.h"
#include "base/duration_text.h"
#include "base/human_bytes.h"
#include "base/logging.h"
#include "mvcc/etcd_image.h"
#include "mvcc/store.h"
#include "rpc/grpc_protocol.h"
#include "server/messages/maintenance_encode.h"
#include "server/replica/bounded_source.h"
#include "server/replica/cluster_version.h"
#include "server/replica/local_member.h"
#include "server/state/replicated_state.h"

namespace kvorum::server {
namespace {

// A client may be far away: it gets longer than a member does.
constexpr BoundedSource::Limits kLimits{.grace = std::chrono::hours(1),
                                        .bytes_per_second = std::uint64_t{1} << 20};

std::string MessagePrefix(std::size_t size_bytes) {
  std::string prefix(rpc::kMessagePrefixBytes, '\0');
  for (std::size_t i = prefix.size() - 1; i > 0; --i, size_bytes >>= 8)
    prefix[i] = static_cast<char>(size_bytes);
  return prefix;
}

}  // namespace

SnapshotStream::SnapshotStream(ServiceContext& context, std::shared_ptr<rpc::ServerStream> stream,
                               std::shared_ptr<std::atomic<int>> running)
    : context_(context),
      stream_(std::move(stream)),
      running_(std::move(running)),
      pace_(context.limits.snapshot_bytes_per_second),
      digest_(EVP_MD_CTX_new()) {
  running_->fetch_add(1);
}

SnapshotStream::~SnapshotStream() {
  running_->fetch_sub(1);
  if (started_ != TimePoint{})
    context_.store->SnapshotTook(context_.executors.hasher->clock().Now() - started_);
}

void SnapshotStream::Start() {
  if (running_->load() > kMaxAtOnce) return Fail(kErrTooManyRequests.ToError());
  const auto begin = [self = shared_from_this()] {
    self->context_.executors.hasher->Post([self] { self->Begin(); });
  };
  // A full disk is when a backup is wanted most: then it is of what the disk has.
  if (context_.store->CommitStalled()) return begin();
  context_.store->Flush(begin);
}

void SnapshotStream::Fail(const Error& error) {
  source_.reset();
  KV_WARN("failed to send a database snapshot to a client", {"error", error.message},
          {"sent-bytes", sent_bytes_}, {"total-bytes", total_bytes_});
  stream_->Finish(error);
}

void SnapshotStream::Begin() {
  started_ = context_.executors.hasher->clock().Now();
  if (stream_->context().cancelled()) return;
  Result<void> opened = Open();
  // Each time that the reader is told to end, the map has doubled.
  while (!opened.has_value() && opened.error() == mvcc::kReaderMustEnd.ToError()) opened = Open();
  if (!opened.has_value()) return Fail(opened.error());
  KV_INFO("sending database snapshot to client", {"total-bytes", total_bytes_},
          {"size", HumanBytes(total_bytes_)}, {"storage-version", version_});
  WatchForStall(steps_);
  Step();
}

Result<void> SnapshotStream::Open() {
  KV_TRY(mvcc::Store::DurableReader opened, context_.store->OpenDurable());
  KV_TRY(mvcc::Store::Recovered content, mvcc::Store::ReadRecovered(*opened.reader));
  KV_TRY(const MembershipView members, LoadMembership(*opened.reader));
  const mvcc::EtcdImageOptions told{.storage_version =
                                        ImageStorageVersion(members.cluster_version)};
  version_ = told.storage_version.value_or(std::move(content.storage_version));
  KV_TRY(mvcc::EtcdImage image,
         mvcc::MakeEtcdImage(std::move(opened.reader), std::move(opened.owner), told));
  total_bytes_ = image.size_bytes;
  // Without room to begin with, no write makes the file grow.
  LocalMember* const member = context_.local_member;
  const bool had_space = member->DiskTakesWrites();
  BoundedSource::Limits limits = kLimits;
  // Half of the limit leaves time for a client that is slower at times.
  if (const std::uint64_t rate = context_.limits.snapshot_bytes_per_second; rate != 0)
    limits.bytes_per_second = std::min(limits.bytes_per_second, rate / 2);
  source_ = std::make_unique<BoundedSource>(
      std::move(image.source),
      BoundedSource::Database{
          .file_bytes = std::move(opened.file_bytes),
          .has_space = [member, had_space] { return !had_space || member->DiskTakesWrites(); },
          .in_use_bytes = context_.store->SizeInUseBytes()},
      context_.executors.hasher->clock(), limits);
  if (EVP_DigestInit_ex(digest_.get(), EVP_sha256(), nullptr) != 1)
    return kvorum::Fail(Code::kInternal, "SHA-256 is not there");
  return {};
}

void SnapshotStream::Step() {
  if (stream_->context().cancelled() || source_ == nullptr) return;
  ++steps_;
  const TimePoint began = context_.executors.hasher->clock().Now();
  const Result<SharedBytes> chunk = source_->Next();
  if (!chunk.has_value()) return Fail(chunk.error());
  if (chunk->empty()) return SendHash();
  SendChunk(*chunk, pace_.After(began, chunk->size()));
}

void SnapshotStream::AppendMessage(const SharedBytes& blob) {
  const std::string head = EncodeSnapshotHead(total_bytes_ - sent_bytes_, blob.size());
  const std::string tail = EncodeSnapshotTail(version_);
  frames_.push_back(
      SharedBytes::Copy(MessagePrefix(head.size() + blob.size() + tail.size()) + head));
  frames_.push_back(blob);
  if (!tail.empty()) frames_.push_back(SharedBytes::Copy(tail));
}

void SnapshotStream::SendChunk(const SharedBytes& chunk, TimePoint next) {
  EVP_DigestUpdate(digest_.get(), chunk.data(), chunk.size());
  std::size_t messages = 0;
  for (std::size_t at = 0; at < chunk.size(); at += mvcc::kImageUnitBytes, ++messages) {
    const std::size_t size = std::min(mvcc::kImageUnitBytes, chunk.size() - at);
    sent_bytes_ += size;
    AppendMessage(chunk.Slice(at, size));
  }
  stream_->WriteFrames(std::exchange(frames_, {}), messages,
                       [self = shared_from_this(), next](const Result<void>& written) {
                         Executor& hasher = *self->context_.executors.hasher;
                         Task step = [self, ok = written.has_value()] {
                           if (ok) return self->Step();
                           self->source_.reset();  // the client has left
                         };
                         if (next <= hasher.clock().Now()) return hasher.Post(std::move(step));
                         hasher.PostAt(next, std::move(step));
                       });
}

void SnapshotStream::SendHash() {
  source_.reset();
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  EVP_DigestFinal_ex(digest_.get(), hash.data(), &size);
  KV_INFO("sending database sha256 checksum to client", {"total-bytes", total_bytes_},
          {"checksum-size", size});
  AppendMessage(SharedBytes::Copy({reinterpret_cast<const char*>(hash.data()), size}));
  stream_->WriteFrames(
      std::exchange(frames_, {}), 1, [self = shared_from_this()](const Result<void>& written) {
        if (!written.has_value()) return;  // the client has left
        self->stream_->FinishOk();
        KV_INFO("successfully sent database snapshot to client",
                {"total-bytes", self->total_bytes_}, {"size", HumanBytes(self->total_bytes_)},
                {"took",
                 FormatDuration(self->context_.executors.hasher->clock().Now() - self->started_)},
                {"storage-version", self->version_});
      });
}

void SnapshotStream::WatchForStall(std::uint64_t steps_seen) {
  Executor& hasher = *context_.executors.hasher;
  hasher.PostAt(hasher.clock().Now() + kLongestStall, [weak = weak_from_this(), steps_seen] {
    const auto self = weak.lock();
    if (self == nullptr || self->source_ == nullptr) return;
    if (self->steps_ != steps_seen) return self->WatchForStall(self->steps_);
    self->source_.reset();
    self->stream_->Cut({Code::kUnavailable,
                        "the snapshot was given up, since its client has taken nothing for long"});
  });
}

}  // namespace kvorum::server
