#include <optional>
#include <utility>

#include "mvcc/records/snapshot_format.h"
#include "mvcc/transfer/etcd_image.h"
#include "mvcc/transfer/snapshot_content.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::mvcc {
namespace {

namespace format = snapshot_format;

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

  Result<bool> Prepare() override {
    if (failed_.has_value()) return Fail(*failed_);
    if (format_ == SnapshotFormat::kOwn) return true;
    return Image().Prepare();
  }

  Result<SharedBytes> Next() override {
    if (failed_.has_value()) return Fail(*failed_);
    if (format_ == SnapshotFormat::kEtcd) return Image().Next();
    if (ended_) return SharedBytes();
    if (!crc_.has_value()) return SharedBytes::Own(Header());
    const Result<std::string> body = NextBody();
    if (!body.has_value()) return FailForGood(body.error());
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

  Result<void> Look() override {
    if (image_ != nullptr) return image_->Look();
    if (failed_.has_value()) return Fail(*failed_);
    if (reader_.has_value() && (*reader_)->MustEnd()) return FailForGood(kReaderMustEnd.ToError());
    return {};
  }

 private:
  std::unexpected<Error> FailForGood(Error error) {
    failed_ = std::move(error);
    reader_.reset();
    return Fail(*failed_);
  }
  EtcdImage& Image() {
    if (image_ == nullptr) {
      image_ = MakeEtcdImage(*std::move(reader_), owner_, image_options_);
      reader_.reset();
    }
    return *image_;
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
  std::unique_ptr<EtcdImage> image_;
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

}  // namespace kvorum::mvcc
