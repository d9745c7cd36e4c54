#include "server/process/process/archiving.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "archive/store/open_store.h"
#include "base/clock.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "datadir/archive_origin.h"
#include "server/process/settings/part_options.h"
#include "server/replica/recovery/local_member_options.h"

namespace kvorum::server {
namespace {

std::optional<archive::Departure> DepartureOf(const std::optional<datadir::ArchiveOrigin>& origin) {
  if (!origin.has_value()) return std::nullopt;
  return archive::Departure{.reason = origin->reason,
                            .origin = {.history = archive::HistoryId{origin->history},
                                       .index = origin->index,
                                       .revision = origin->revision}};
}

}  // namespace

std::unique_ptr<Archiving> Archiving::Make(const Options& options) {
  if (options.archive_url.empty()) return nullptr;
  return std::unique_ptr<Archiving>(new Archiving(options));
}

Archiving::Archiving(const Options& options)
    : options_(options), notes_(SystemClock(), options.archive_max_log_bytes) {}

Archiving::~Archiving() = default;

Result<void> Archiving::Open(FileSystem& fs, LocalMember& member,
                             const datadir::DataDirectory& directory) {
  KV_TRY(const auto origin, datadir::ReadArchiveOrigin(fs, directory.root));
  KV_TRY(member_, MemberArchive::Open({.fs = fs,
                                       .member = member,
                                       .notes = notes_,
                                       .clock = SystemClock(),
                                       .stop = stop_,
                                       .wal_dir = directory.wal},
                                      DepartureOf(origin)));
  archiver_ = std::make_unique<archive::Archiver>(
      *member_,
      [this, &fs] {
        return archive::OpenStore(ArchiveStoreOf(options_), fs, SystemClock(), stop_);
      },
      SystemClock(), stop_, status_, ArchiverOptionsOf(options_));
  return {};
}

void Archiving::Start() {
  KV_INFO("archiving this member while it leads", {"url", options_.archive_url},
          {"interval", FormatDuration(options_.archive_interval)},
          {"base-interval", FormatDuration(options_.archive_base_interval)});
  archiver_->Start();
}

void Archiving::Stop() {
  stop_.Stop();
  archiver_->Stop();
}

std::int64_t Archiving::LagMillis() {
  if (!member_->IsLeader()) return 0;
  const auto marks = member_->MarksBehind(status_.values().archived.index, 1);
  if (marks.empty()) return 0;
  const std::int64_t now_ms = SystemClock().WallNanos() / 1'000'000;
  return std::max<std::int64_t>(0, now_ms - marks.front().time_ms);
}

void NoteDepartures(FileSystem& fs, const datadir::DataDirectory& directory,
                    LocalMemberOptions& member) {
  member.on_departure = [&fs, root = directory.root](raft::Index last,
                                                     std::int64_t revision) -> Result<void> {
    return datadir::WriteArchiveOrigin(
        fs, root,
        {.reason = std::string(datadir::kForcedNewCluster), .index = last, .revision = revision});
  };
}

}  // namespace kvorum::server
