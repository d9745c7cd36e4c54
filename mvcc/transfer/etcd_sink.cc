#include "mvcc/transfer/etcd_sink.h"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "bbolt/check_pages.h"
#include "bbolt/format.h"
#include "bbolt/meta.h"
#include "bbolt/reader.h"
#include "mvcc/transfer/unfinished_backend.h"

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
    importer_.reset();
    check_.reset();
    received_.reset();
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

  Result<bool> FinishPart() override {
    switch (phase_) {
      case Phase::kReceiving: {
        KV_RETURN_IF_ERROR(BeginCheck());
        phase_ = Phase::kChecking;
        return false;
      }
      case Phase::kChecking: {
        KV_TRY(const bool is_checked, check_->Step());
        if (!is_checked) return false;
        check_.reset();
        KV_RETURN_IF_ERROR(BeginImport());
        phase_ = Phase::kImporting;
        return false;
      }
      case Phase::kImporting: {
        KV_TRY(const bool is_imported, importer_->Step());
        if (is_imported) phase_ = Phase::kReadingBack;
        return false;
      }
      case Phase::kReadingBack:
        return unfinished_.FinishPart(importer_->totals());
    }
    std::unreachable();
  }

 private:
  enum class Phase : std::uint8_t { kReceiving, kChecking, kImporting, kReadingBack };

  Result<void> BeginCheck() {
    KV_RETURN_IF_ERROR(WriteWaiting());
    KV_TRY(received_, bbolt::Reader::Open(std::exchange(file_, nullptr)));
    check_ = received_->NewCheck();
    return {};
  }
  Result<void> BeginImport() {
    KV_TRY(const EtcdMeta meta, ReadEtcdMeta(*received_));
    if (options_.check_meta) KV_RETURN_IF_ERROR(options_.check_meta(meta));
    KV_RETURN_IF_ERROR(unfinished_.Open());
    importer_.emplace(*received_, EtcdImport{.meta = options_.meta, .on_progress = {}},
                      unfinished_.backend());
    return {};
  }

  // Both meta pages of a file that is sent are of one state.
  Result<void> ReadSize() {
    constexpr std::size_t kMagicAt = bbolt::kHeaderBytes;
    if (waiting_.size() < kMagicAt + sizeof(bbolt::kMagic)) return {};
    if (bbolt::Load<std::uint32_t>(waiting_, kMagicAt) != bbolt::kMagic)
      return Fail(Code::kDataLoss, "mvcc: it is not a snapshot of kvorum or etcd");
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
  Phase phase_ = Phase::kReceiving;
  std::unique_ptr<File> file_;               // while receiving
  std::unique_ptr<bbolt::Reader> received_;  // then
  std::unique_ptr<bbolt::PageCheck> check_;
  std::optional<EtcdImporter> importer_;
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
