#include "mvcc/transfer/etcd_image.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bbolt/file_writer.h"
#include "bbolt/writer.h"
#include "mvcc/lmdb/long_key.h"
#include "mvcc/records/bucket.h"
#include "mvcc/transfer/etcd_content.h"

namespace kvorum::mvcc {
namespace {

// So many steps of a plan take about a millisecond when the pages are in memory.
constexpr int kStepsAtOnce = 16;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
// etcd's pages are the system's; this is the size everywhere but on a few machines.
constexpr std::uint32_t kPageSize = 4096;

// Puts the content into a writer, in steps.
class ImageWalk {
 public:
  ImageWalk(Snapshot& content, const EtcdImageOptions& options)
      : content_(content), options_(options) {}

  // Puts a number of records, or as many as make a chunk; false when there are no more.
  Result<bool> Step(bbolt::Writer& writer) {
    return StepWith<std::string_view>(writer, [this](Bucket bucket, const auto& visit) {
      return content_.Scan(bucket, last_key_, {}, visit);
    });
  }
  // The same for a writer that sizes, by the values' sizes.
  Result<bool> SizingStep(bbolt::Writer& writer) {
    return StepWith<std::size_t>(writer, [this](Bucket bucket, const auto& visit) {
      return content_.ScanSizes(bucket, last_key_, {}, visit);
    });
  }

 private:
  // `Value` is a value or its size.
  template <class Value, class Scan>
  Result<bool> StepWith(bbolt::Writer& writer, const Scan& scan) {
    if (bucket_ == kBucketsByName.size()) return false;
    const Bucket bucket = kBucketsByName[bucket_];
    if (!begun_) KV_RETURN_IF_ERROR(writer.BeginBucket(BucketName(bucket)));
    bool full = false;
    std::uint64_t records = 0;
    Result<void> put;
    KV_RETURN_IF_ERROR(scan(bucket, [&](std::string_view key, const Value& value) {
      if (begun_ && key == last_key_) return true;  // where the previous step ended
      if (!IsEtcds(bucket, key)) return true;
      put = PutInOrder(writer, bucket, key, value);
      if (!put.has_value()) return false;
      full = group_.empty() &&
             (++records >= kRecordsBetweenLooks || writer.ReadyBytes() >= kChunkBytes);
      if (full) next_key_.assign(key);
      return !full;
    }));
    KV_RETURN_IF_ERROR(put);
    if (!full) KV_RETURN_IF_ERROR(PutGroup<Value>(writer));
    begun_ = full;
    last_key_ = full ? next_key_ : std::string();
    if (!full) ++bucket_;
    return true;
  }

  // Long names come in another order than etcd's file has them in.
  template <class Value>
  Result<void> PutInOrder(bbolt::Writer& writer, Bucket bucket, std::string_view key,
                          const Value& value) {
    if (!group_.IsOf(key)) KV_RETURN_IF_ERROR(PutGroup<Value>(writer));
    if (!KeyGroup::Holds(bucket, key)) return Put(writer, bucket, key, value);
    KV_TRY(const auto stored, content_.Get(bucket, key));
    KV_TRY(const auto record, ReadStored(bucket, key, stored.value_or("")));
    group_.Add(record.key, record.value);
    return {};
  }
  template <class Value>
  Result<void> PutGroup(bbolt::Writer& writer) {
    return group_.Drain([&](std::string_view key, std::string_view value) {
      if constexpr (std::is_same_v<Value, std::size_t>) return PutOne(writer, key, value.size());
      return PutOne(writer, key, value);
    });
  }

  // The value, or its size.
  template <class Value>
  Result<void> Put(bbolt::Writer& writer, Bucket bucket, std::string_view key,
                   const Value& value) const {
    const auto& version = options_.storage_version;
    if (bucket != Bucket::kMeta || key != meta_key::kStorageVersion || !version.has_value())
      return PutOne(writer, key, value);
    if (version->empty()) return {};
    return writer.Put(key, *version);
  }
  static Result<void> PutOne(bbolt::Writer& writer, std::string_view key, std::string_view value) {
    return writer.Put(key, value);
  }
  static Result<void> PutOne(bbolt::Writer& writer, std::string_view key, std::size_t value_bytes) {
    return writer.PutSize(key, value_bytes);
  }

  Snapshot& content_;
  const EtcdImageOptions options_;
  std::size_t bucket_ = 0;
  bool begun_ = false;    // the bucket
  std::string last_key_;  // that was put, if it is begun
  std::string next_key_;
  KeyGroup group_;  // empty between the steps
};

// A writer and the records passed to it so far.
struct Pass {
  Pass(Snapshot& content, const EtcdImageOptions& options, bbolt::Writer used)
      : walk(content, options), writer(std::move(used)) {}

  ImageWalk walk;
  bbolt::Writer writer;
};

class PlannedImage final : public EtcdImage {
 public:
  PlannedImage(Reader reader, std::shared_ptr<const void> owner, EtcdImageOptions options)
      : owner_(std::move(owner)), options_(std::move(options)), reader_(std::move(reader)) {
    planning_.emplace(**reader_, options_, bbolt::Writer::Sizing(kPageSize));
  }

  std::uint64_t size_bytes() const override { return size_bytes_; }

  Result<bool> Prepare() override {
    return Kept([this] { return PrepareSome(); });
  }
  Result<SharedBytes> Next() override {
    return Kept([this] { return NextChunk(); });
  }
  Result<void> Look() override {
    return Kept([this]() -> Result<void> {
      if (reader_.has_value() && (*reader_)->MustEnd()) return kReaderMustEnd.Fail();
      return {};
    });
  }

 private:
  // An error lasts, and releases the reader.
  template <class Work>
  std::invoke_result_t<Work> Kept(const Work& work) {
    if (failed_.has_value()) return Fail(*failed_);
    auto result = work();
    if (result.has_value()) return result;
    failed_ = result.error();
    planning_.reset();
    writing_.reset();
    reader_.reset();
    return result;
  }

  Result<bool> PrepareSome() {
    for (int i = 0; i < kStepsAtOnce && planning_.has_value(); ++i) {
      if ((*reader_)->MustEnd()) return kReaderMustEnd.Fail();
      KV_TRY(const bool more, planning_->walk.SizingStep(planning_->writer));
      if (more) continue;
      KV_TRY(const bbolt::Plan plan, planning_->writer.Finish());
      size_bytes_ = plan.SizeBytes();
      planning_.reset();
      writing_.emplace(**reader_, options_, bbolt::Writer::Writing(plan));
    }
    return !planning_.has_value();
  }

  Result<SharedBytes> NextChunk() {
    while (planning_.has_value()) KV_RETURN_IF_ERROR(PrepareSome());
    bbolt::Writer& writer = writing_->writer;
    while (reader_.has_value() && writer.ReadyBytes() < kChunkBytes) {
      if ((*reader_)->MustEnd()) return kReaderMustEnd.Fail();
      KV_TRY(const bool more, writing_->walk.Step(writer));
      if (more) continue;
      KV_RETURN_IF_ERROR(writer.Finish());
      reader_.reset();
    }
    return SharedBytes::Own(writer.Take(reader_.has_value() ? kImageUnitBytes : 1));
  }

  const std::shared_ptr<const void> owner_;
  const EtcdImageOptions options_;
  std::optional<Reader> reader_;  // released at the end
  std::optional<Pass> planning_;
  std::optional<Pass> writing_;  // then
  std::uint64_t size_bytes_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<EtcdImage> MakeEtcdImage(Reader reader, std::shared_ptr<const void> owner,
                                         EtcdImageOptions options) {
  return std::make_unique<PlannedImage>(std::move(reader), std::move(owner), std::move(options));
}

Result<void> WriteEtcdFile(Snapshot& content, const EtcdImageOptions& options, File& file,
                           const std::function<void(std::uint64_t written_bytes)>& on_progress) {
  bbolt::FileWriter writer(file, kPageSize, on_progress);
  ImageWalk walk(content, options);
  while (true) {
    KV_TRY(const bool more, walk.Step(writer.content()));
    if (!more) return writer.Finish();
    KV_RETURN_IF_ERROR(writer.WriteReady());
  }
}

}  // namespace kvorum::mvcc
