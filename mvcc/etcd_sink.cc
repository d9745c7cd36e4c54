#include "mvcc/etcd_sink.h"

#include <cstdint>
#include <span>
#include <utility>

#include "base/check.h"
#include "bbolt/format.h"
#include "bbolt/meta.h"
#include "bbolt/reader.h"
#include "mvcc/unfinished_backend.h"

namespace kvorum::mvcc {
namespace {

// Small pieces are written together.
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 62;

class EtcdSink final : public SnapshotSink {
 public:
  EtcdSink(FileSystem& files, EtcdSinkOptions options)
      : files_(files),
        options_(std::move(options)),
        received_path_(options_.sink.path + ".etcd"),
        unfinished_(files, options_.sink) {}
  ~EtcdSink() override {
    file_.reset();
    static_cast<void>(RemoveIfThere(files_, received_path_));  // else at the next start
  }

  Result<void> Open() {
    KV_RETURN_IF_ERROR(RemoveIfThere(files_, received_path_));
    KV_TRY(file_, files_.Open(received_path_, FileSystem::OpenMode::kCreate));
    return {};
  }

  Result<void> Write(std::string_view bytes) override {
    waiting_.append(bytes);
    if (size_bytes_ == 0) KV_RETURN_IF_ERROR(ReadSize());
    if (size_bytes_ != 0 && written_bytes_ + waiting_.size() > size_bytes_)
      return Fail(Code::kDataLoss, "mvcc: etcd's file goes on behind its last page");
    return waiting_.size() < kWriteBytes ? Result<void>() : WriteWaiting();
  }

  Result<void> Finish() override {
    KV_CHECK(file_ != nullptr, "a snapshot is finished once");
    KV_RETURN_IF_ERROR(WriteWaiting());
    KV_TRY(const auto received, bbolt::Reader::Open(std::exchange(file_, nullptr)));
    KV_RETURN_IF_ERROR(received->Check());
    KV_TRY(const EtcdMeta meta, ReadEtcdMeta(*received));
    if (options_.check_meta) KV_RETURN_IF_ERROR(options_.check_meta(meta));
    KV_RETURN_IF_ERROR(unfinished_.Open());
    KV_TRY(const snapshot_format::Totals totals,
           ImportEtcdContent(*received, {.meta = options_.meta, .on_progress = {}},
                             unfinished_.backend()));
    return unfinished_.Finish(totals);
  }

 private:
  // Both meta pages of a file that is sent are of one state.
  Result<void> ReadSize() {
    constexpr std::size_t kMagicAt = bbolt::kHeaderBytes;
    if (waiting_.size() < kMagicAt + sizeof(bbolt::kMagic)) return {};
    if (bbolt::Load<std::uint32_t>(waiting_, kMagicAt) != bbolt::kMagic)
      return Fail(Code::kDataLoss, "mvcc: it is no snapshot of this server or of etcd");
    if (waiting_.size() < bbolt::kHeaderBytes + bbolt::kMetaBytes) return {};
    KV_TRY(const bbolt::Meta meta, bbolt::DecodeMetaPage(0, waiting_));
    size_bytes_ = meta.high_water > kMaxFileBytes / meta.page_size
                      ? kMaxFileBytes
                      : meta.high_water * meta.page_size;
    return {};
  }

  Result<void> WriteWaiting() {
    const std::string_view part = waiting_;
    if (part.empty()) return {};
    KV_RETURN_IF_ERROR(file_->WriteAt(written_bytes_, std::span(&part, 1)));
    written_bytes_ += part.size();
    waiting_.clear();
    return {};
  }

  FileSystem& files_;
  const EtcdSinkOptions options_;
  const std::string received_path_;
  UnfinishedBackend unfinished_;
  std::unique_ptr<File> file_;  // until Finish
  std::string waiting_;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;  // of the whole, once its first page is here
};

}  // namespace

Result<std::unique_ptr<SnapshotSink>> MakeEtcdSink(FileSystem& files, EtcdSinkOptions options) {
  auto sink = std::make_unique<EtcdSink>(files, std::move(options));
  KV_RETURN_IF_ERROR(sink->Open());
  return sink;
}

}  // namespace kvorum::mvcc
