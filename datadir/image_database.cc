#include "datadir/image_database.h"

#include <string_view>

#include "api/version.h"
#include "bbolt/reader.h"
#include "datadir/content_check.h"
#include "mvcc/records/bucket.h"
#include "mvcc/transfer/snapshot_content.h"

namespace kvorum::datadir {

Result<std::string> StorageVersionOfImage(const mvcc::EtcdMeta& meta) {
  if (meta.storage_version == server::kStorageVersion) return meta.storage_version;
  if (meta.storage_version.empty() || meta.storage_version.starts_with("3.6.")) return "";
  return Fail(Code::kFailedPrecondition, "the snapshot has storage version " +
                                             meta.storage_version + "; this program reads " +
                                             std::string(server::kStorageVersion));
}

Result<std::unique_ptr<mvcc::Backend>> MakeDatabaseOfImage(bbolt::Reader& image,
                                                           const ImageDatabase& options) {
  mvcc::EtcdImport import;
  import.meta = options.meta;
  if (options.on_progress) {
    import.on_progress = [&](std::uint64_t, std::uint64_t bytes) -> Result<void> {
      options.on_progress(bytes);
      return {};
    };
  }
  ContentCheck content;
  import.check = [&](mvcc::Bucket bucket, std::string_view key,
                     std::string_view value) -> Result<void> {
    const bool is_members =
        bucket == mvcc::Bucket::kMembers || bucket == mvcc::Bucket::kMembersRemoved;
    if (is_members && options.passes_over_members) return {};
    return content.AddSmall(bucket, key, value);
  };
  KV_TRY(auto backend, options.open(options.path));
  KV_TRY(const auto put, mvcc::ImportEtcdContent(image, import, *backend));
  KV_RETURN_IF_ERROR(content.CheckWhole());
  {
    KV_TRY(const mvcc::Reader reader, backend->NewReader());
    KV_TRY(const auto found, mvcc::ComputeSnapshotTotals(*reader));
    if (found != put)
      return Fail(Code::kDataLoss, options.path + " differs from the snapshot it was made of");
  }
  return backend;
}

}  // namespace kvorum::datadir
