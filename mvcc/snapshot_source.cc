#include <optional>
#include <utility>

#include "mvcc/etcd_image.h"
#include "mvcc/snapshot_content.h"
#include "mvcc/snapshot_format.h"
#include "mvcc/snapshot_stream.h"

namespace kvorum::mvcc {
namespace {

namespace format = snapshot_format;

// Walks the content in the stream's order, a body of records at a time.
class ContentWalk {
 public:
  explicit ContentWalk(Snapshot& content) : content_(content) {}

  // Empty at the end.
  Result<std::string> NextBody() {
    std::string body;
    while (body.empty() && tag_index_ < format::kTags.size()) {
      bool full = false;
      const auto tag = static_cast<std::uint8_t>(tag_index_ + 1);
      KV_RETURN_IF_ERROR(content_.Scan(
          format::kTags[tag_index_], last_key_, {},
          [&](std::string_view key, std::string_view value) {
            if (key == last_key_) return true;  // where the previous body ended
            const std::size_t size = format::kRecordHeadBytes + key.size() + value.size();
            if (!body.empty() && body.size() + size > format::kChunkBytes) {
              full = true;
              return false;
            }
            format::AppendRecord(body, tag, key, value);
            ++records_;
            next_key_.assign(key);
            return true;
          }));
      last_key_ = next_key_;
      if (full) break;
      ++tag_index_;
      last_key_.clear();
      next_key_.clear();
    }
    totals_.AddBody(body, std::exchange(records_, 0));
    return body;
  }
  const format::Totals& totals() const { return totals_; }

 private:
  Snapshot& content_;
  std::size_t tag_index_ = 0;
  std::string last_key_;  // of the bucket, in a previous body; empty at its start
  std::string next_key_;
  std::uint64_t records_ = 0;
  format::Totals totals_;
};

class BackendSource final : public SnapshotSource {
 public:
  BackendSource(Reader reader, std::shared_ptr<const void> owner, EtcdImageOptions image)
      : owner_(std::move(owner)),
        image_options_(std::move(image)),
        reader_(std::move(reader)),
        walk_(**reader_) {}

  Result<void> Use(SnapshotFormat format) override {
    format_ = format;
    return {};
  }

  Result<SharedBytes> Next() override {
    if (format_ == SnapshotFormat::kEtcd) return NextOfImage();
    if (failed_.has_value()) return Fail(*failed_);
    if (ended_) return SharedBytes();
    if (!crc_.has_value()) return SharedBytes::Own(Header());
    Result<std::string> body = NextBody();
    if (!body.has_value()) {
      failed_ = body.error();
      reader_.reset();
      return Fail(*failed_);
    }
    if (!body->empty())
      return SharedBytes::Own(Part(static_cast<std::uint32_t>(body->size()), *body));
    ended_ = true;
    reader_.reset();
    std::string totals;
    format::AppendNumber(totals, walk_.totals().records);
    format::AppendNumber(totals, walk_.totals().bytes);
    format::AppendNumber(totals, walk_.totals().crc);
    return SharedBytes::Own(Part(0, totals));
  }

 private:
  // Begins the image, which reads everything once, only here: callers of Use may not wait.
  Result<SharedBytes> NextOfImage() {
    if (failed_.has_value()) return Fail(*failed_);
    if (image_ != nullptr) return image_->Next();
    Result<EtcdImage> image = MakeEtcdImage(*std::move(reader_), owner_, image_options_);
    reader_.reset();
    if (!image.has_value()) {
      failed_ = image.error();
      return Fail(*failed_);
    }
    image_ = std::move(image->source);
    return image_->Next();
  }

  Result<std::string> NextBody() {
    if ((*reader_)->MustEnd()) return kReaderMustEnd.Fail();
    return walk_.NextBody();
  }
  std::string Header() {
    std::string header(format::kMagic);
    format::AppendNumber(header, format::kVersion);
    crc_ = Crc32c(0, header);
    format::AppendNumber(header, *crc_);
    return header;
  }
  std::string Part(std::uint32_t size, std::string_view body) {
    std::string part;
    part.reserve(format::kChunkHeadBytes + body.size());
    format::AppendNumber(part, size);
    crc_ = format::PartCrc(*crc_, part, body);
    format::AppendNumber(part, *crc_);
    part.append(body);
    return part;
  }

  const std::shared_ptr<const void> owner_;
  const EtcdImageOptions image_options_;
  SnapshotFormat format_ = SnapshotFormat::kOwn;
  std::unique_ptr<SnapshotSource> image_;
  std::optional<Reader> reader_;  // released at the end
  ContentWalk walk_;
  std::optional<std::uint32_t> crc_;  // of the last part
  bool ended_ = false;
  std::optional<Error> failed_;
};

}  // namespace

Result<void> SnapshotSource::Use(SnapshotFormat format) {
  if (format == SnapshotFormat::kOwn) return {};
  return Fail(Code::kUnimplemented, "mvcc: the snapshot has one format only");
}

std::unique_ptr<SnapshotSource> MakeSnapshotSource(Reader reader, std::shared_ptr<const void> owner,
                                                   EtcdImageOptions image) {
  return std::make_unique<BackendSource>(std::move(reader), std::move(owner), std::move(image));
}

Result<snapshot_format::Totals> ComputeSnapshotTotals(Snapshot& content) {
  ContentWalk walk(content);
  while (true) {
    KV_TRY(const std::string body, walk.NextBody());
    if (body.empty()) return walk.totals();
  }
}

}  // namespace kvorum::mvcc
