#include "mvcc/etcd_image.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bbolt/writer.h"
#include "mvcc/bucket.h"
#include "mvcc/etcd_content.h"

namespace kvorum::mvcc {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
// etcd's pages are the system's; this is the size everywhere but on a few machines.
constexpr std::uint32_t kPageSize = 4096;

// Puts the content into a writer, in steps.
class ContentWalk {
 public:
  ContentWalk(Snapshot& content, const EtcdImageOptions& options)
      : content_(content), options_(options) {}

  // Puts a number of records, or as many as make a chunk; false when there are no more.
  Result<bool> Step(bbolt::Writer& writer) {
    if (bucket_ == kBucketsByName.size()) return false;
    const Bucket bucket = kBucketsByName[bucket_];
    if (!begun_) KV_RETURN_IF_ERROR(writer.BeginBucket(BucketName(bucket)));
    bool full = false;
    std::uint64_t records = 0;
    Result<void> put;
    KV_RETURN_IF_ERROR(
        content_.Scan(bucket, last_key_, {}, [&](std::string_view key, std::string_view value) {
          if (begun_ && key == last_key_) return true;  // where the previous step ended
          if (!IsEtcds(bucket, key)) return true;
          put = Put(writer, bucket, key, value);
          if (!put.has_value()) return false;
          full = ++records == kRecordsBetweenLooks || writer.ReadyBytes() >= kChunkBytes;
          if (full) next_key_.assign(key);
          return !full;
        }));
    KV_RETURN_IF_ERROR(put);
    begun_ = full;
    last_key_ = full ? next_key_ : std::string();
    if (!full) ++bucket_;
    return true;
  }

 private:
  Result<void> Put(bbolt::Writer& writer, Bucket bucket, std::string_view key,
                   std::string_view value) const {
    const auto& version = options_.storage_version;
    if (bucket != Bucket::kMeta || key != meta_key::kStorageVersion || !version.has_value())
      return writer.Put(key, value);
    if (version->empty()) return {};
    return writer.Put(key, *version);
  }

  Snapshot& content_;
  const EtcdImageOptions options_;
  std::size_t bucket_ = 0;
  bool begun_ = false;    // the bucket
  std::string last_key_;  // that was put, if it is begun
  std::string next_key_;
};

Result<bbolt::Plan> PlanOf(Snapshot& content, const EtcdImageOptions& options) {
  bbolt::Writer sizing = bbolt::Writer::Sizing(kPageSize);
  ContentWalk walk(content, options);
  while (true) {
    if (content.MustEnd()) return kReaderMustEnd.Fail();
    KV_TRY(const bool more, walk.Step(sizing));
    if (!more) return sizing.Finish();
  }
}

class ImageSource final : public SnapshotSource {
 public:
  ImageSource(Reader reader, std::shared_ptr<const void> owner, const EtcdImageOptions& options,
              const bbolt::Plan& plan)
      : owner_(std::move(owner)),
        reader_(std::move(reader)),
        walk_(**reader_, options),
        writer_(bbolt::Writer::Writing(plan)) {}

  Result<SharedBytes> Next() override {
    if (failed_.has_value()) return Fail(*failed_);
    Result<SharedBytes> chunk = NextChunk();
    if (chunk.has_value()) return chunk;
    failed_ = chunk.error();
    reader_.reset();
    return chunk;
  }

 private:
  Result<SharedBytes> NextChunk() {
    while (reader_.has_value() && writer_.ReadyBytes() < kChunkBytes) {
      if ((*reader_)->MustEnd()) return kReaderMustEnd.Fail();
      KV_TRY(const bool more, walk_.Step(writer_));
      if (more) continue;
      KV_RETURN_IF_ERROR(writer_.Finish());
      reader_.reset();
    }
    return SharedBytes::Own(writer_.Take(reader_.has_value() ? kImageUnitBytes : 1));
  }

  const std::shared_ptr<const void> owner_;
  std::optional<Reader> reader_;  // released at the end
  ContentWalk walk_;
  bbolt::Writer writer_;
  std::optional<Error> failed_;
};

}  // namespace

Result<EtcdImage> MakeEtcdImage(Reader reader, std::shared_ptr<const void> owner,
                                const EtcdImageOptions& options) {
  KV_TRY(const bbolt::Plan plan, PlanOf(*reader, options));
  return EtcdImage{
      .size_bytes = plan.SizeBytes(),
      .source = std::make_unique<ImageSource>(std::move(reader), std::move(owner), options, plan)};
}

Result<void> WriteEtcdFile(Snapshot& content, const EtcdImageOptions& options, File& file,
                           const std::function<void(std::uint64_t written_bytes)>& on_progress) {
  bbolt::Writer writer = bbolt::Writer::WritingWithoutPlan(kPageSize);
  ContentWalk walk(content, options);
  std::uint64_t written_bytes = 0;
  const auto write = [&](const std::string& bytes) -> Result<void> {
    const std::array<std::string_view, 1> part = {bytes};
    KV_RETURN_IF_ERROR(file.WriteAt(written_bytes, part));
    written_bytes += bytes.size();
    if (on_progress) on_progress(written_bytes);
    return {};
  };
  while (true) {
    KV_TRY(const bool more, walk.Step(writer));
    if (!more) break;
    if (writer.ReadyBytes() >= kChunkBytes) KV_RETURN_IF_ERROR(write(writer.Take(kImageUnitBytes)));
  }
  KV_TRY(const bbolt::Plan plan, writer.Finish());
  KV_RETURN_IF_ERROR(write(writer.Take()));
  KV_RETURN_IF_ERROR(file.Sync());
  const std::string metas = bbolt::MetaPages(plan);
  const std::array<std::string_view, 1> part = {metas};
  KV_RETURN_IF_ERROR(file.WriteAt(0, part));
  return file.Sync();
}

}  // namespace kvorum::mvcc
