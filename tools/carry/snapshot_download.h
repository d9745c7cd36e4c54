// A member's snapshot, fetched into a file: under a temporary name until it is whole,
// compared with the SHA-256 that ends it, and synced. So a file that has its name is a snapshot.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

struct SnapshotDownload {
  std::string path;
  std::string part_path;  // until it is whole; in the same folder
  bool compress = false;  // with gzip
};

// Read by another thread while it runs.
struct DownloadProgress {
  std::atomic<std::uint64_t> done_bytes = 0;
  std::atomic<std::uint64_t> whole_bytes = 0;
};

// Returns the storage version that the member tells; empty before etcd 3.6. After an error nothing
// is left, and a file of that name is as it was.
Outcome<std::string> DownloadSnapshot(client::Client& client, const client::CallOptions& call,
                                      const SnapshotDownload& download, DownloadProgress& progress);

// ---- Snapshots of a series, named by their time ----

// "snapshot-20261124T093000Z.db", with ".gz" if it is compressed.
std::string SeriesName(std::int64_t unix_s, bool compress);
// The names of a series' oldest snapshots beyond `keep`, of which `newest` is one: it stays though
// a clock that was ahead has given others later names. Other files are left alone.
// Precondition: keep > 0.
std::vector<std::string> OutdatedNames(std::vector<std::string> names, std::size_t keep,
                                       std::string_view newest);

}  // namespace kvorum::ctl
