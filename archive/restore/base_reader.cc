#include "archive/restore/base_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "base/digest/sha256.h"

namespace kvorum::archive {
namespace {

// nullopt without one.
Read<std::optional<Manifest>> FindManifest(ObjectStore& store, const BaseToRead& base) {
  if (!base.has_manifest) return std::nullopt;
  const std::string key = KeyText({.history = base.history, .name = ManifestName{base.name}});
  const auto bytes = ReadObject(store, key, kMaxManifestBytes);
  if (!bytes.has_value() && bytes.error().kind == StoreErrorKind::kAbsent) return std::nullopt;
  if (!bytes.has_value()) return std::unexpected(ObjectErrorOf(bytes.error(), key));
  auto manifest = ParseManifest(*bytes);
  if (!manifest.has_value()) return FailObject(key, manifest.error().message);
  if (manifest->history != base.history || manifest->base != base.name)
    return FailObject(key, "it is the manifest of another base");
  if (manifest->parts.empty()) return FailObject(key, "it names no parts");
  return *std::move(manifest);
}

ObjectKey PartKey(const BaseToRead& base, std::uint32_t number) {
  return {.history = base.history, .name = PartName{.base = base.name, .number = number}};
}

// Takes the parts in turn.
class Assembly {
 public:
  Assembly(const BaseToRead& base, std::optional<Manifest> manifest)
      : base_(base), manifest_(std::move(manifest)) {}

  // The key of the part after those that were asked for; nothing once the last one is known.
  std::optional<std::string> NextKey() {
    if (asked_ == kMaxParts || (manifest_ && asked_ == manifest_->parts.size()))
      return std::nullopt;
    return KeyText(PartKey(base_, asked_++));
  }

  // Checks a part, and gives its content.
  Read<std::string> Take(std::string_view bytes) {
    const ObjectKey key = PartKey(base_, taken_);
    KV_TRY(PartContent part, UnpackPart(key, bytes));
    const PartHeader& header = part.header;
    if (header.offset != size_bytes_)
      return FailObject(KeyText(key), "it is not the image's next part");
    if (manifest_) KV_RETURN_IF_ERROR(CheckAgainstManifest(key, header));
    sha256_.Add(part.content);
    size_bytes_ += part.content.size();
    ++taken_;
    end_ = header.end;
    return std::move(part.content);
  }

  // Called once a part has named the image's end.
  Read<ImageEnd> Finish() {
    const std::string last = KeyText(PartKey(base_, taken_ - 1));
    if (end_->size_bytes != size_bytes_)
      return FailObject(last, "the image has another size than it says");
    if (HexText(sha256_.Finish()) != end_->sha256)
      return FailObject(last, "the image has another SHA-256 than it says");
    return *end_;
  }

  bool is_ended() const { return end_.has_value(); }
  std::uint64_t size_bytes() const { return size_bytes_; }
  std::uint64_t total_bytes() const { return manifest_ ? manifest_->end.size_bytes : 0; }

 private:
  Read<void> CheckAgainstManifest(const ObjectKey& key, const PartHeader& header) const {
    const ManifestPart& told = manifest_->parts[taken_];
    const bool is_last = taken_ + 1 == manifest_->parts.size();
    const bool agrees = told.raw_bytes == header.raw_bytes && told.sha256 == header.sha256 &&
                        header.end.has_value() == is_last &&
                        (!is_last || *header.end == manifest_->end);
    if (!agrees) return FailObject(KeyText(key), "it is not the part that the manifest names");
    return {};
  }

  const BaseToRead base_;
  const std::optional<Manifest> manifest_;
  // The thread's that reads ahead.
  std::uint32_t asked_ = 0;
  // The caller's.
  std::uint32_t taken_ = 0;
  std::uint64_t size_bytes_ = 0;
  Sha256 sha256_;
  std::optional<ImageEnd> end_;
};

}  // namespace

Read<ImageEnd> ReadBase(ObjectStore& store, const BaseToRead& base, const ImageSink& sink,
                        const OnBytes& on_bytes, Ahead ahead) {
  KV_TRY(std::optional<Manifest> manifest, FindManifest(store, base));
  // Without a manifest the part behind the last one would be asked for.
  const Ahead how = manifest ? ahead : Ahead::kNone;
  Assembly assembly(base, std::move(manifest));
  ReadAhead parts(store, [&] { return assembly.NextKey(); }, how);
  while (!assembly.is_ended()) {
    KV_TRY(const auto object, parts.Next());
    if (!object.has_value()) {
      return FailObject(KeyText({.history = base.history, .name = ManifestName{base.name}}),
                        "no part of the base tells the image's end");
    }
    const std::uint64_t offset = assembly.size_bytes();
    KV_TRY(const std::string content, assembly.Take(object->bytes));
    KV_RETURN_IF_ERROR(sink(offset, content));
    if (on_bytes) on_bytes(assembly.size_bytes(), assembly.total_bytes());
  }
  return assembly.Finish();
}

}  // namespace kvorum::archive
