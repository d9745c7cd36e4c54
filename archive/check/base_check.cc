#include "archive/check/base_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "archive/format/frame.h"
#include "archive/format/records.h"
#include "base/digest/sha256.h"

namespace kvorum::archive {
namespace {

const Base* FindBase(const Survey& survey, HistoryId history, const BaseName& name) {
  const History* found = FindHistory(survey, history);
  if (found == nullptr) return nullptr;
  const auto base = std::ranges::find(found->bases, name, &Base::name);
  return base == found->bases.end() ? nullptr : &*base;
}

class BaseCheck {
 public:
  BaseCheck(ObjectReader& reader, HistoryId history, const Base& base, raft::Index floor,
            Report& report)
      : reader_(reader), history_(history), base_(base), floor_(floor), report_(report) {}

  StoreResult<void> Run() {
    KV_RETURN_IF_ERROR(ListParts());
    if (base_.has_manifest) KV_RETURN_IF_ERROR(ReadManifest());
    for (const std::uint32_t number : numbers_) KV_RETURN_IF_ERROR(ReadPart(number));
    manifest_ ? CheckWhole() : CheckUnfinished();
    if (is_bad_) report_.Exclude(history_, base_.name);
    return {};
  }
  std::optional<TermClaim> claim() const {
    if (!manifest_ || is_bad_) return std::nullopt;
    return TermClaim{.term = manifest_->end.term, .key = ManifestKey(), .base = base_.name};
  }

 private:
  std::string KeyOf(const ObjectName& name) const {
    return KeyText({.history = history_, .name = name});
  }
  std::string ManifestKey() const { return KeyOf(ManifestName{base_.name}); }
  std::string PartKey(std::uint32_t number) const {
    return KeyOf(PartName{.base = base_.name, .number = number});
  }
  void Add(FindingKind kind, std::string key, std::string text) {
    is_bad_ = true;
    report_.Add(kind, std::move(key), std::move(text));
  }
  // Retention may have taken the whole base meanwhile.
  void AddMissing(std::string key, std::string text) {
    is_bad_ = true;
    report_.AddAbsence(FindingKind::kMissing, std::move(key), std::move(text),
                       [history = history_, name = base_.name](const Survey& survey) {
                         const Base* base = FindBase(survey, history, name);
                         return base != nullptr && base->has_manifest;
                       });
  }

  // The numbers that there are; the contents have their count alone.
  StoreResult<void> ListParts() {
    const std::string prefix = PartKey(0).substr(0, PartKey(0).rfind('/') + 1);
    return reader_.store().List({.prefix = prefix, .after = {}},
                                [&](std::string_view key, std::uint64_t) {
                                  const auto parsed = ParseKey(key);
                                  if (!parsed) return true;
                                  if (const auto* part = std::get_if<PartName>(&parsed->name))
                                    numbers_.push_back(part->number);
                                  return true;
                                });
  }

  StoreResult<void> ReadManifest() {
    KV_TRY(const ObjectRead read, reader_.Read(ManifestKey(), kMaxManifestBytes));
    if (read.state == ObjectRead::State::kAbsent) {
      AddMissing(ManifestKey(), "it was listed and is gone");
      return {};
    }
    if (read.state == ObjectRead::State::kUnreadable) {
      Add(FindingKind::kDamaged, ManifestKey(), read.problem);
      return {};
    }
    auto manifest = ParseManifest(read.bytes);
    if (!manifest) {
      Add(FindingKind::kDamaged, ManifestKey(), manifest.error().message);
    } else if (manifest->history != history_ || manifest->base != base_.name) {
      Add(FindingKind::kDamaged, ManifestKey(), "its content is that of another base");
    } else {
      manifest_ = *std::move(manifest);
    }
    return {};
  }

  StoreResult<void> ReadPart(std::uint32_t number) {
    const std::string key = PartKey(number);
    KV_TRY(const ObjectRead read, reader_.Read(key, kMaxFrameBytes));
    if (read.state == ObjectRead::State::kAbsent) {
      AddMissing(key, "it was listed and is gone");
      return {};
    }
    if (read.state == ObjectRead::State::kUnreadable) {
      Add(FindingKind::kDamaged, key, read.problem);
      return {};
    }
    if (auto checked = CheckPart(number, read.bytes); !checked.has_value())
      Add(FindingKind::kDamaged, key, std::move(checked).error().message);
    return {};
  }

  Result<void> CheckPart(std::uint32_t number, std::string_view bytes) {
    KV_TRY(const Framed framed, ReadFrame(bytes));
    KV_TRY(const PartHeader header, ParsePartHeader(framed.header));
    if (header.history != history_ || header.name.base != base_.name ||
        header.name.number != number)
      return Fail(Code::kDataLoss, "its header is that of another object");
    KV_TRY(const std::string content, Unpack(framed, header.raw_bytes, header.sha256));
    CheckPlace(header);
    // Behind a part that is bad there is no image to make a sum of.
    if (!is_bad_ && number == next_) {
      image_.Add(content);
      image_bytes_ += content.size();
      ++next_;
    }
    if (header.end) end_ = header.end;
    return {};
  }

  // The part is whole by itself.
  void CheckPlace(const PartHeader& header) {
    const std::uint32_t number = header.name.number;
    if (number == next_ && !is_bad_ && header.offset != image_bytes_) {
      Add(FindingKind::kMismatch, PartKey(number),
          "its place in the image is not behind the part before it");
    }
    if (!manifest_) return;
    const auto& parts = manifest_->parts;
    if (number >= parts.size()) {
      Add(FindingKind::kMismatch, PartKey(number), ManifestKey() + " has no such part");
      return;
    }
    if (parts[number].raw_bytes != header.raw_bytes || parts[number].sha256 != header.sha256)
      Add(FindingKind::kMismatch, PartKey(number), ManifestKey() + " tells of another content");
    const bool is_last = number + 1 == parts.size();
    if (is_last != header.end.has_value() || (is_last && *header.end != manifest_->end))
      Add(FindingKind::kMismatch, PartKey(number),
          "it does not end the image as " + ManifestKey() + " tells");
  }

  void CheckWhole() {
    const auto count = static_cast<std::uint32_t>(manifest_->parts.size());
    for (std::uint32_t number = 0; number < count; ++number) {
      if (!std::ranges::binary_search(numbers_, number))
        AddMissing(PartKey(number), "a part of the base is missing");
    }
    if (is_bad_) return;
    if (image_bytes_ != manifest_->end.size_bytes ||
        HexText(image_.Finish()) != manifest_->end.sha256)
      Add(FindingKind::kMismatch, ManifestKey(), "the parts make another image");
  }

  // The manifest is there once the last part is, or at once behind it. Retention takes it first.
  void CheckUnfinished() {
    if (base_.has_manifest) return;  // its manifest is what is damaged
    if (!end_ || base_.name.index < floor_) {
      if (!is_bad_) {
        report_.Add(FindingKind::kUnfinished, ManifestKey(),
                    "the base is not whole: it is being made, or was given up, or retention has "
                    "begun to take it");
      }
      return;
    }
    // A writer that ends between the last part and the manifest leaves nothing that is lost.
    report_.AddAbsence(FindingKind::kUnfinished, ManifestKey(),
                       "the base has its last part, but no manifest", IsStillUnfinished());
    for (std::uint32_t number = 0; number < numbers_.back(); ++number) {
      if (std::ranges::binary_search(numbers_, number)) continue;
      is_bad_ = true;
      report_.AddAbsence(FindingKind::kMissing, PartKey(number), "a part of the base is missing",
                         IsStillUnfinished());
    }
    if (is_bad_) return;
    if (image_bytes_ == end_->size_bytes && HexText(image_.Finish()) == end_->sha256) {
      report_.Include(history_, base_.name);
    } else {
      Add(FindingKind::kMismatch, PartKey(numbers_.back()), "the parts make another image");
    }
  }
  Report::Still IsStillUnfinished() const {
    return [history = history_, name = base_.name](const Survey& survey) {
      const Base* base = FindBase(survey, history, name);
      return base != nullptr && !base->has_manifest;
    };
  }

  ObjectReader& reader_;
  const HistoryId history_;
  const Base& base_;
  const raft::Index floor_;
  Report& report_;
  std::vector<std::uint32_t> numbers_;  // in order: at most kMaxParts
  std::optional<Manifest> manifest_;
  std::optional<ImageEnd> end_;  // by the last part
  bool is_bad_ = false;
  // The sum of the parts so far.
  Sha256 image_;
  std::uint64_t image_bytes_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace

StoreResult<void> CheckBase(ObjectReader& reader, HistoryId history, const Base& base,
                            raft::Index floor, Report& report, TermClaims& claims) {
  BaseCheck check(reader, history, base, floor, report);
  KV_RETURN_IF_ERROR(check.Run());
  if (auto claim = check.claim()) claims.emplace(base.name.index, *std::move(claim));
  return {};
}

}  // namespace kvorum::archive
