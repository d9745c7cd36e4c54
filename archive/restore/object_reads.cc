#include "archive/restore/object_reads.h"

#include <string_view>

#include "archive/format/frame.h"

namespace kvorum::archive {
namespace {

Read<PartHeader> HeaderOf(const ObjectKey& key, const Result<Framed>& framed) {
  const std::string text = KeyText(key);
  if (!framed.has_value()) return FailObject(text, framed.error().message);
  auto header = ParsePartHeader(framed->header);
  if (!header.has_value()) return FailObject(text, header.error().message);
  const auto* name = std::get_if<PartName>(&key.name);
  if (name == nullptr || header->history != key.history || header->name != *name)
    return FailObject(text, "its header is that of another object");
  return *std::move(header);
}

}  // namespace

std::unexpected<ObjectError> FailObject(const std::string& key, const std::string& reason) {
  const std::string text = reason.starts_with(key) ? reason : key + ": " + reason;
  return std::unexpected(ObjectError({Code::kDataLoss, text}, key));
}

ObjectError ObjectErrorOf(const StoreError& error, const std::string& key) {
  const bool is_objects =
      error.kind == StoreErrorKind::kAbsent || error.kind == StoreErrorKind::kDamaged;
  Error cause = ToError(error);
  if (!cause.message.contains(key)) cause.message = key + ": " + cause.message;
  return {std::move(cause), is_objects ? key : ""};
}

Read<std::string> ReadBytes(ObjectStore& store, const std::string& key, std::size_t limit_bytes) {
  auto bytes = ReadObject(store, key, limit_bytes);
  if (!bytes.has_value()) return std::unexpected(ObjectErrorOf(bytes.error(), key));
  return *std::move(bytes);
}

Read<PartHeader> ReadPartHeader(ObjectStore& store, const ObjectKey& key) {
  const std::string text = KeyText(key);
  std::string head;
  const auto got = store.Get(text, {.length = kHeadBytes}, [&](std::string_view piece) {
    head.append(piece.substr(0, kHeadBytes - head.size()));
    return StoreResult<void>();
  });
  if (!got.has_value()) return std::unexpected(ObjectErrorOf(got.error(), text));
  return HeaderOf(key, ReadFrame(head));
}

Read<PartContent> UnpackPart(const ObjectKey& key, std::string_view bytes) {
  const auto framed = ReadFrame(bytes);
  KV_TRY(PartHeader header, HeaderOf(key, framed));
  auto content = Unpack(*framed, header.raw_bytes, header.sha256);
  if (!content.has_value()) return FailObject(KeyText(key), content.error().message);
  return PartContent{.header = std::move(header), .content = *std::move(content)};
}

}  // namespace kvorum::archive
