#include "tests/disk/memory_backend.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/failpoint/failpoint.h"
#include "mvcc/records/key_value.h"

namespace kvorum::mvcc {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kSlotBytes = 512;
constexpr std::uint64_t kLogBegin = 2 * kSlotBytes;
constexpr std::uint64_t kMagic = 0x31'6e'69'77'74'76'6b'00;
// LMDB's mark, by which the owner of a database is recognised, lies behind two numbers.
constexpr std::uint64_t kLmdbMark = 0xBEEFC0DE;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 32;

template <class T>
void AppendNumber(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
template <class T>
T LoadNumber(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Values are shared by the states that hold them.
using Entries = std::map<std::string, std::shared_ptr<const std::string>, std::less<>>;
struct State {
  std::array<Entries, kBucketNames.size()> buckets;
  std::uint64_t live_bytes = 0;
  std::uint64_t commit = 0;

  Entries& Of(Bucket bucket) { return buckets[static_cast<std::size_t>(bucket)]; }
  const Entries& Of(Bucket bucket) const { return buckets[static_cast<std::size_t>(bucket)]; }
};

constexpr std::size_t kChangeHeaderBytes = 10;
constexpr std::size_t kFrameHeaderBytes = 8;
constexpr std::string_view kFrameEnd = "\x5a";

void AppendChange(std::string& payload, bool put, Bucket bucket, std::string_view key,
                  std::string_view value) {
  AppendNumber<std::uint8_t>(payload, put ? 1 : 0);
  AppendNumber(payload, static_cast<std::uint8_t>(bucket));
  AppendNumber(payload, static_cast<std::uint32_t>(key.size()));
  AppendNumber(payload, static_cast<std::uint32_t>(value.size()));
  payload.append(key);
  payload.append(value);
}

void Apply(State& state, bool put, Bucket bucket, std::string_view key, std::string_view value) {
  Entries& entries = state.Of(bucket);
  const auto at = entries.find(key);
  if (at != entries.end()) {
    state.live_bytes -= kChangeHeaderBytes + key.size() + at->second->size();
    entries.erase(at);
  }
  if (!put) return;
  entries.emplace(key, std::make_shared<const std::string>(value));
  state.live_bytes += kChangeHeaderBytes + key.size() + value.size();
}

// Returns false if the payload was not made by EncodeBatch or EncodeState.
bool ApplyPayload(State& state, std::string_view payload) {
  std::size_t at = sizeof(std::uint64_t);
  while (at < payload.size()) {
    if (payload.size() - at < kChangeHeaderBytes) return false;
    const auto put = LoadNumber<std::uint8_t>(payload, at);
    const auto bucket = LoadNumber<std::uint8_t>(payload, at + 1);
    const std::size_t key_size = LoadNumber<std::uint32_t>(payload, at + 2);
    const std::size_t value_size = LoadNumber<std::uint32_t>(payload, at + 6);
    at += kChangeHeaderBytes;
    if (put > 1 || bucket >= kBucketNames.size() || payload.size() - at < key_size + value_size) {
      return false;
    }
    Apply(state, put == 1, static_cast<Bucket>(bucket), payload.substr(at, key_size),
          payload.substr(at + key_size, value_size));
    at += key_size + value_size;
  }
  return true;
}

std::string EncodeBatch(std::uint64_t commit, const WriteBatch& batch) {
  std::string payload;
  AppendNumber(payload, commit);
  for (const std::span<const RevisionRecord> records : batch.appends) {
    for (const RevisionRecord& record : records) {
      AppendChange(payload, true, Bucket::kKey,
                   RevisionKey(record.revision, record.tombstone).view(), record.value);
    }
  }
  for (const Revision revision : batch.deletions) {
    AppendChange(payload, false, Bucket::kKey, RevisionKey(revision).view(), {});
    AppendChange(payload, false, Bucket::kKey, RevisionKey(revision, true).view(), {});
  }
  for (const auto& [key, value] : batch.changes.map()) {
    AppendChange(payload, value.has_value(), key.bucket, key.key, value ? *value : "");
  }
  return payload;
}

std::string EncodeState(std::uint64_t commit, const State& state) {
  std::string payload;
  AppendNumber(payload, commit);
  for (std::size_t i = 0; i < state.buckets.size(); ++i) {
    for (const auto& [key, value] : state.buckets[i]) {
      AppendChange(payload, true, static_cast<Bucket>(i), key, *value);
    }
  }
  return payload;
}

std::string FrameHeader(std::string_view payload) {
  std::string header;
  AppendNumber(header, static_cast<std::uint32_t>(payload.size()));
  AppendNumber(header, Crc32c(0, payload));
  return header;
}

std::string EncodeSlot(std::uint64_t commit, std::uint64_t log_end) {
  std::string slot;
  AppendNumber(slot, kMagic);
  AppendNumber(slot, commit);
  AppendNumber(slot, kLmdbMark);
  AppendNumber(slot, log_end);
  AppendNumber(slot, Crc32c(0, slot));
  return slot;
}

struct Slot {
  std::uint64_t commit = 0;
  std::uint64_t log_end = 0;
};

std::optional<Slot> DecodeSlot(std::string_view file, std::uint64_t at) {
  const std::string_view bytes = file.substr(at, 4 * sizeof(std::uint64_t));
  if (LoadNumber<std::uint64_t>(bytes, 0) != kMagic) return std::nullopt;
  if (LoadNumber<std::uint32_t>(file, at + bytes.size()) != Crc32c(0, bytes)) return std::nullopt;
  return Slot{LoadNumber<std::uint64_t>(bytes, 8), LoadNumber<std::uint64_t>(bytes, 24)};
}

// The payload of a sound frame at the offset.
std::optional<std::string_view> DecodeFrame(std::string_view file, std::uint64_t at) {
  if (file.size() - at < kFrameHeaderBytes) return std::nullopt;
  const std::size_t size = LoadNumber<std::uint32_t>(file, at);
  if (size < sizeof(std::uint64_t) ||
      file.size() - at - kFrameHeaderBytes < size + kFrameEnd.size()) {
    return std::nullopt;
  }
  const std::string_view payload = file.substr(at + kFrameHeaderBytes, size);
  if (LoadNumber<std::uint32_t>(file, at + 4) != Crc32c(0, payload)) return std::nullopt;
  if (!file.substr(at + kFrameHeaderBytes + size).starts_with(kFrameEnd)) return std::nullopt;
  return payload;
}

// The part that a backend shares with its snapshots.
struct Readers {
  std::mutex mutex;  // guards the references to the backend's state
  std::atomic<int> count{0};
  std::atomic<bool> must_end{false};
};

class MemorySnapshot final : public Snapshot {
 public:
  MemorySnapshot(std::shared_ptr<const State> state, Readers& readers)
      : state_(std::move(state)), readers_(readers) {
    ++readers_.count;
  }

  Result<std::optional<std::string_view>> Get(Bucket bucket, std::string_view key) override {
    const Entries& entries = state_->Of(bucket);
    const auto at = entries.find(key);
    if (at == entries.end()) return std::nullopt;
    return *at->second;
  }

  Result<std::optional<RevisionRecord>> GetRevision(Revision revision) override {
    const RevisionKey key(revision);
    const Entries& entries = state_->Of(Bucket::kKey);
    const auto at = entries.lower_bound(key.view());
    if (at == entries.end() || !at->first.starts_with(key.view())) return std::nullopt;
    return RevisionRecord{revision, *at->second, at->first.size() != key.view().size()};
  }

  Result<void> Scan(Bucket bucket, std::string_view from, std::string_view to,
                    const Visit& visit) override {
    const Entries& entries = state_->Of(bucket);
    for (auto at = entries.lower_bound(from); at != entries.end(); ++at) {
      if (!to.empty() && at->first >= to) break;
      if (!visit(at->first, *at->second)) break;
    }
    return {};
  }

  Result<std::uint64_t> CountRevisions() override { return state_->Of(Bucket::kKey).size(); }
  std::uint64_t CommitNumber() const override { return state_->commit; }
  bool MustEnd() const override { return readers_.must_end; }

 private:
  // Under the lock: a commit that finds no other holder changes the state in place.
  void Release() override {
    {
      std::lock_guard lock(readers_.mutex);
      state_.reset();
    }
    --readers_.count;
    delete this;
  }

  std::shared_ptr<const State> state_;
  Readers& readers_;
};

// FinishDefragment does everything.
class MemoryDefragmentCopy final : public DefragmentCopy {
 public:
  explicit MemoryDefragmentCopy(std::shared_ptr<int> token) : token_(std::move(token)) {}
  Result<void> Copy() override {
    KV_FAILPOINT("defragBeforeCopy");
    KV_FAILPOINT_RETURN("defragdbFail", text) { return Fail(Code::kUnknown, text); }
    return {};
  }

 private:
  std::shared_ptr<int> token_;
};

class MemoryBackend final : public Backend {
 public:
  MemoryBackend(FileSystem& files, std::string path, CommitSync sync)
      : files_(files), path_(std::move(path)), sync_(sync) {}

  Result<void> Open() {
    KV_RETURN_IF_ERROR(RemoveUnfinished());
    KV_TRY(const bool there, files_.Exists(path_));
    if (!there) KV_RETURN_IF_ERROR(WriteAnew(nullptr));
    KV_TRY(file_, files_.Open(path_, FileSystem::OpenMode::kReadWrite));
    return Recover();
  }

  Result<void> TakePlace(const std::string& path) override {
    KV_FAILPOINT("backendBetweenRenames");
    Result<void> placed = files_.Rename(path_, path);
    if (placed.has_value()) {
      path_ = path;
      KV_FAILPOINT("backendBeforeDirectorySync");
      placed = SyncFolder();
    }
    if (!placed.has_value()) failed_ = placed.error();
    return placed;
  }

  Result<void> Sync() override {
    if (failed_.has_value()) return Fail(*failed_);
    if (sync_ == CommitSync::kEachCommit) return {};
    sync_ = CommitSync::kEachCommit;
    Result<void> synced = MakeDurable();
    if (!synced.has_value()) failed_ = synced.error();
    return synced;
  }

  Result<void> Commit(const WriteBatch& batch) override {
    if (failed_.has_value()) return Fail(*failed_);
    CheckOrder(batch);
    KV_FAILPOINT("beforeStartDBTxn");
    KV_FAILPOINT("afterStartDBTxn");
    const std::string payload = EncodeBatch(commit_ + 1, batch);
    KV_FAILPOINT("beforeCommit");
    return CommitPayload(payload);
  }

  Result<bool> SpoilNewest(std::string_view key, SpoilKind kind) {
    if (failed_.has_value()) return Fail(*failed_);
    const Entries& records = state_->Of(Bucket::kKey);
    for (auto at = records.rbegin(); at != records.rend(); ++at) {
      const auto kv = DecodeKeyValue(*at->second);
      if (!kv.has_value() || kv->key != key || kv->value.empty()) continue;
      std::string value(kv->value);
      value.back() = static_cast<char>(value.back() ^ 1);
      KeyValue changed = *kv;
      changed.value = value;
      std::string payload;
      AppendNumber(payload, commit_ + 1);
      AppendChange(payload, kind == SpoilKind::kChange, Bucket::kKey, at->first,
                   kind == SpoilKind::kChange ? Encode(changed) : "");
      KV_RETURN_IF_ERROR(CommitPayload(payload));
      return true;
    }
    return false;
  }

  Readers& readers() { return readers_; }
  Result<Reader> OpenReader(ReaderPlace) override {
    std::lock_guard lock(readers_.mutex);
    return Reader(new MemorySnapshot(state_, readers_));
  }

  std::uint64_t SizeBytes() const override { return size_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t SizeInUseBytes() const override {
    return size_in_use_bytes_.load(std::memory_order_relaxed);
  }

  Result<std::unique_ptr<DefragmentCopy>> StartDefragment() override {
    if (failed_.has_value()) return Fail(*failed_);
    if (!defragment_token_.expired()) {
      return Fail(Code::kFailedPrecondition, "mvcc: a defragmentation is running already");
    }
    KV_FAILPOINT_RETURN("defragOpenFileError", text) { return Fail(Code::kUnknown, text); }
    auto token = std::make_shared<int>();
    defragment_token_ = token;
    return std::make_unique<MemoryDefragmentCopy>(std::move(token));
  }

  std::expected<void, DefragmentError> FinishDefragment(
      std::unique_ptr<DefragmentCopy> copy) override {
    copy.reset();
    if (failed_.has_value()) return std::unexpected(DefragmentError{*failed_, true});
    bool renamed = false;
    Result<void> done = RemoveUnfinished();
    if (done.has_value()) done = WriteAnew(&renamed);
    if (!done.has_value() && !renamed) return std::unexpected(DefragmentError{done.error(), false});
    if (done.has_value()) done = Reopen();
    if (!done.has_value()) {
      failed_ = done.error();
      return std::unexpected(DefragmentError{done.error(), true});
    }
    std::lock_guard lock(readers_.mutex);
    RefreshSizes();
    return {};
  }

 private:
  Result<void> CommitPayload(const std::string& payload) {
    const std::string header = FrameHeader(payload);
    const std::array<std::string_view, 3> frame = {header, payload, kFrameEnd};
    if (Result<void> written = file_->WriteAt(log_end_, frame); !written.has_value()) {
      // A full disk may have taken a part of it, after the log's end: the next one overwrites that.
      if (written.error().code != Code::kResourceExhausted) failed_ = written.error();
      return written;
    }
    if (Result<void> counted = Count(header.size() + payload.size() + kFrameEnd.size());
        !counted.has_value()) {
      failed_ = Error{Code::kDataLoss, counted.error().message};
      return Fail(*failed_);
    }
    KV_FAILPOINT("afterCommit");
    std::lock_guard lock(readers_.mutex);
    // Readers take and drop the state under the lock: if we are its only holder, we stay so.
    if (state_.use_count() > 1) state_ = std::make_shared<State>(*state_);
    KV_CHECK(ApplyPayload(*state_, payload), "a commit of our own cannot be applied");
    state_->commit = commit_;
    RefreshSizes();
    return {};
  }

  std::string UnfinishedPath() const { return path_ + ".tmp"; }

  Result<void> RemoveUnfinished() {
    KV_TRY(const bool there, files_.Exists(UnfinishedPath()));
    if (!there) return {};
    return files_.Remove(UnfinishedPath());
  }

  // Replaces the file by one with the whole state in one frame. *renamed, if given, is set once
  // that may have happened.
  Result<void> WriteAnew(bool* renamed) {
    const std::string payload = EncodeState(commit_, *state_);
    const std::string header = FrameHeader(payload);
    const std::uint64_t log_end = kLogBegin + header.size() + payload.size() + kFrameEnd.size();
    std::string slots = EncodeSlot(commit_, log_end);
    slots.resize(kLogBegin);
    KV_TRY(std::unique_ptr<File> file,
           files_.Open(UnfinishedPath(), FileSystem::OpenMode::kCreate));
    const std::array<std::string_view, 4> parts = {slots, header, payload, kFrameEnd};
    KV_RETURN_IF_ERROR(file->WriteAt(0, parts));
    KV_RETURN_IF_ERROR(file->Sync());
    KV_FAILPOINT("defragBeforeRename");
    KV_RETURN_IF_ERROR(files_.Rename(UnfinishedPath(), path_));
    if (renamed != nullptr) *renamed = true;
    return SyncFolder();
  }

  Result<void> SyncFolder() {
    const std::size_t slash = path_.find_last_of('/');
    return files_.SyncDirectory(slash == std::string::npos ? "." : path_.substr(0, slash));
  }

  Result<void> Reopen() {
    KV_TRY(file_, files_.Open(path_, FileSystem::OpenMode::kReadWrite));
    KV_TRY(log_end_, file_->Size());
    newest_slot_ = 0;
    return {};
  }

  std::unexpected<Error> Damaged(std::string_view why) const {
    return Fail(Code::kDataLoss,
                fmt::format("mvcc: cannot use {} as the database: {}", path_, why));
  }

  Result<void> Recover() {
    KV_TRY(const std::string file, ReadWholeFile(files_, path_, kMaxFileBytes));
    if (file.size() < kLogBegin) return Damaged("the file is truncated");
    const auto first = DecodeSlot(file, 0);
    const auto second = DecodeSlot(file, kSlotBytes);
    if (!first && !second) return Damaged("its header is damaged");
    const bool second_is_newer = !first || (second && second->commit > first->commit);
    const Slot slot = second_is_newer ? *second : *first;
    log_end_ = kLogBegin;
    bool any = false;
    while (const auto payload = DecodeFrame(file, log_end_)) {
      const auto commit = LoadNumber<std::uint64_t>(*payload, 0);
      if (any && commit != commit_ + 1) break;
      if (!ApplyPayload(*state_, *payload)) break;
      any = true;
      commit_ = commit;
      log_end_ += kFrameHeaderBytes + payload->size() + kFrameEnd.size();
    }
    if (log_end_ < slot.log_end) {
      return Damaged(
          fmt::format("checksum mismatch or truncated at offset {} of {}", log_end_, slot.log_end));
    }
    if (commit_ < slot.commit) return Damaged("its header is damaged");
    // Makes the frames that count from now on as durable as if their commit had returned; a
    // defragmentation that was killed may have put the file in place without making sure of it.
    KV_RETURN_IF_ERROR(SyncFolder());
    if (file.size() > log_end_) KV_RETURN_IF_ERROR(file_->Truncate(log_end_));
    KV_RETURN_IF_ERROR(file_->Sync());
    state_->commit = commit_;
    newest_slot_ = second_is_newer ? 1 : 0;
    KV_RETURN_IF_ERROR(WriteSlot());
    RefreshSizes();
    return {};
  }

  // The frame that was written after the log's end becomes part of the log.
  Result<void> Count(std::uint64_t frame_bytes) {
    ++commit_;
    log_end_ += frame_bytes;
    return sync_ == CommitSync::kEachCommit ? MakeDurable() : Result<void>();
  }

  Result<void> MakeDurable() {
    KV_RETURN_IF_ERROR(file_->Sync());
    return WriteSlot();
  }

  Result<void> WriteSlot() {
    newest_slot_ ^= 1;
    const std::string slot = EncodeSlot(commit_, log_end_);
    const std::array<std::string_view, 1> parts = {slot};
    KV_RETURN_IF_ERROR(file_->WriteAt(newest_slot_ * kSlotBytes, parts));
    return file_->Sync();
  }

  void CheckOrder(const WriteBatch& batch) const {
    const Entries& revisions = state_->Of(Bucket::kKey);
    std::string last = revisions.empty() ? "" : revisions.rbegin()->first;
    for (const std::span<const RevisionRecord> records : batch.appends) {
      for (const RevisionRecord& record : records) {
        const RevisionKey key(record.revision, record.tombstone);
        KV_CHECK(key.view() > last, "a revision was committed out of order");
        last = key.view();
      }
    }
  }

  void RefreshSizes() {
    size_bytes_.store(log_end_, std::memory_order_relaxed);
    size_in_use_bytes_.store(kLogBegin + state_->live_bytes, std::memory_order_relaxed);
  }

  FileSystem& files_;
  std::string path_;
  CommitSync sync_;
  std::unique_ptr<File> file_;
  std::optional<Error> failed_;
  std::uint64_t commit_ = 0;
  std::uint64_t log_end_ = kLogBegin;
  std::uint64_t newest_slot_ = 0;
  std::weak_ptr<int> defragment_token_;

  Readers readers_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::atomic<std::uint64_t> size_bytes_{0};
  std::atomic<std::uint64_t> size_in_use_bytes_{0};
};

}  // namespace

Result<std::unique_ptr<Backend>> OpenMemoryBackend(FileSystem& file_system, std::string path,
                                                   CommitSync sync) {
  auto backend = std::make_unique<MemoryBackend>(file_system, std::move(path), sync);
  KV_RETURN_IF_ERROR(backend->Open());
  return backend;
}

Result<bool> SpoilNewest(Backend& backend, std::string_view key, SpoilKind kind) {
  return static_cast<MemoryBackend&>(backend).SpoilNewest(key, kind);
}

void TellReadersToEnd(Backend& backend, bool must_end) {
  static_cast<MemoryBackend&>(backend).readers().must_end = must_end;
}

int ReadersOf(Backend& backend) { return static_cast<MemoryBackend&>(backend).readers().count; }

}  // namespace kvorum::mvcc
