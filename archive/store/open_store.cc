#include "archive/store/open_store.h"

#include <utility>

#include "archive/store/folder_store.h"
#include "archive/store/http_transport.h"
#include "archive/store/s3_store.h"
#include "base/words.h"

namespace kvorum::archive {
namespace {

constexpr std::string_view kFileScheme = "file://";
constexpr std::string_view kS3Scheme = "s3://";

std::unexpected<StoreError> UrlFail(std::string_view url, std::string_view why) {
  return StoreFail(StoreErrorKind::kInvalid, "\"" + std::string(url) + "\": " + std::string(why));
}

// The folder's path, without slashes at its end.
StoreResult<std::string> FolderOfUrl(std::string_view url) {
  std::string_view path = url.substr(kFileScheme.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with('/')) return UrlFail(url, "a folder is given as file:///path");
  if (path.contains('%'))
    return UrlFail(url, "the folder's path is taken as it stands, without escapes");
  for (const std::string_view part : Split(path.substr(1), '/')) {
    if (part == "." || part == "..") return UrlFail(url, "the path has a part that is . or ..");
  }
  return std::string(path);
}

StoreResult<S3Settings> BucketOfUrl(std::string_view url, const StoreSettings& settings) {
  std::string_view rest = url.substr(kS3Scheme.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto [bucket, prefix] = Cut(rest, '/');
  if (bucket.contains('@')) {
    // Not its text, which may have a key.
    return StoreFail(StoreErrorKind::kInvalid, "credentials do not belong into an archive's URL");
  }
  return S3Settings{.bucket = std::string(bucket),
                    .prefix = std::string(prefix.value_or("")),
                    .endpoint = settings.endpoint,
                    .region = settings.region,
                    .style = settings.style};
}

}  // namespace

StoreResult<void> CheckStoreUrl(std::string_view url) {
  if (url.starts_with(kFileScheme)) {
    KV_RETURN_IF_ERROR(FolderOfUrl(url));
    return {};
  }
  if (!url.starts_with(kS3Scheme)) {
    return StoreFail(StoreErrorKind::kInvalid,
                     "an archive's URL is file:///path or s3://bucket/prefix");
  }
  KV_TRY(const S3Settings bucket, BucketOfUrl(url, {}));
  KV_RETURN_IF_ERROR(FindS3Place(bucket, [](const char*) { return std::nullopt; }));
  return {};
}

StoreResult<std::unique_ptr<ObjectStore>> OpenStore(const StoreSettings& settings,
                                                    FileSystem& files, const Clock& clock,
                                                    const StopSignal& stop) {
  KV_RETURN_IF_ERROR(CheckStoreUrl(settings.url));
  if (settings.url.starts_with(kFileScheme)) {
    KV_TRY(std::string folder, FolderOfUrl(settings.url));
    KV_TRY(std::unique_ptr<ObjectStore> store,
           FolderStore::Open(files, clock, stop,
                             {.folder = std::move(folder), .read_only = settings.read_only}));
    return store;
  }
  KV_TRY(const S3Settings bucket, BucketOfUrl(settings.url, settings));
  KV_TRY(S3Place place, FindS3Place(bucket, &ProcessEnvironment));
  return std::make_unique<S3Store>(
      std::move(place), CredentialSource(files, settings.credentials, &ProcessEnvironment),
      TransportOptions{.ca_file = settings.ca_file}, clock, stop);
}

}  // namespace kvorum::archive
