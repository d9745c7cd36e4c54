#include "server/replica/upkeep/start_defragment.h"

#include <utility>

#include "base/log/logging.h"
#include "base/text/human_bytes.h"

namespace kvorum::server {
namespace {

using mvcc::Backend;

std::expected<void, Backend::DefragmentError> Defragment(Backend& backend,
                                                         const BeforeReplacement& before) {
  auto copy = backend.StartDefragment();
  if (!copy.has_value()) return std::unexpected(Backend::DefragmentError{copy.error(), false});
  if (const auto copied = (*copy)->Copy(); !copied.has_value())
    return std::unexpected(Backend::DefragmentError{copied.error(), false});
  if (const auto begun = before(); !begun.has_value())
    return std::unexpected(Backend::DefragmentError{begun.error(), false});
  return backend.FinishDefragment(*std::move(copy));
}

}  // namespace

Result<void> DefragmentAtStart(mvcc::Backend& backend, std::uint64_t threshold_bytes,
                               const BeforeReplacement& before) {
  if (threshold_bytes == 0) return {};
  const std::uint64_t size = backend.SizeBytes();
  const std::uint64_t in_use = backend.SizeInUseBytes();
  if (size < in_use || size - in_use < threshold_bytes) {
    KV_INFO("Skipping defragmentation", {"current-db-size-bytes", size},
            {"current-db-size", HumanBytes(size)}, {"current-db-size-in-use-bytes", in_use},
            {"current-db-size-in-use", HumanBytes(in_use)},
            {"bootstrap-defrag-threshold-bytes", threshold_bytes},
            {"bootstrap-defrag-threshold", HumanBytes(threshold_bytes)});
    return {};
  }
  KV_INFO("defragmenting", {"current-db-size-bytes", size}, {"current-db-size", HumanBytes(size)},
          {"current-db-size-in-use-bytes", in_use}, {"current-db-size-in-use", HumanBytes(in_use)});
  if (const auto done = Defragment(backend, before); !done.has_value()) {
    if (done.error().fatal) return Fail(done.error().error);
    KV_WARN("failed to defragment", {"error", done.error().error.message});
    return {};
  }
  const std::uint64_t after = backend.SizeBytes();
  KV_INFO("finished defragmenting directory",
          {"current-db-size-bytes-diff",
           static_cast<std::int64_t>(after) - static_cast<std::int64_t>(size)},
          {"current-db-size-bytes", after}, {"current-db-size", HumanBytes(after)});
  return {};
}

}  // namespace kvorum::server
