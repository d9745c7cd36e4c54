#include "server/process/bootstrap/adopt_at_start.h"

#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <string_view>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "datadir/adopt.h"
#include "datadir/layout.h"
#include "mvcc/lmdb/backend.h"

namespace kvorum::server {
namespace {

// The server's signals are left waiting until it serves. A conversion may take long and may be cut
// off at any point, so while this lives they end the process at once.
class EndedBySignals {
 public:
  EndedBySignals() {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &ends, &before_);
  }
  ~EndedBySignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndedBySignals(const EndedBySignals&) = delete;
  EndedBySignals& operator=(const EndedBySignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Result<void> AdoptAtStart(FileSystem& fs, const std::string& data_dir, const std::string& wal_dir) {
  const datadir::Layout layout(data_dir, wal_dir);
  KV_TRY(const bool has_database, fs.Exists(layout.database));
  KV_TRY(const bool was_cut_off, fs.Exists(layout.Adopted()));
  KV_TRY(const bool is_ours, datadir::IsOurs(fs, layout));
  if (is_ours || (!has_database && !was_cut_off)) return {};
  KV_INFO("adopting the data of etcd", {"path", layout.database});
  const EndedBySignals signals;
  std::uint64_t told_tenths = 0;
  KV_TRY(const datadir::Adopted done,
         datadir::Adopt(
             fs, {.data_dir = data_dir,
                  .wal_dir = wal_dir,
                  .open =
                      [](const std::string& path) {
                        return mvcc::OpenLmdbBackend({.path = path,
                                                      .sync = mvcc::CommitSync::kByHand,
                                                      .check = mvcc::LmdbCheck::kAllPages});
                      },
                  .on_progress =
                      [&](std::string_view step, std::uint64_t bytes, std::uint64_t total) {
                        if (step != datadir::kCopying || total == 0) return;
                        const std::uint64_t tenths = bytes * 10 / total;
                        if (tenths <= told_tenths) return;
                        told_tenths = tenths;
                        KV_INFO("adopting the data of etcd", {"bytes", bytes}, {"of", total});
                      }}));
  KV_INFO("adopted the data of etcd", {"local-member-id", IdText(done.member)},
          {"cluster-id", IdText(done.cluster)}, {"records", done.records}, {"kept", done.kept});
  return {};
}

}  // namespace kvorum::server
