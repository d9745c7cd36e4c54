#include "tools/utl/utl_archive_state.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "archive/format/names.h"
#include "archive/format/records.h"
#include "archive/restore/base_reader.h"
#include "archive/restore/listing.h"
#include "base/file_system.h"
#include "base/log/logging.h"
#include "datadir/image_database.h"
#include "tools/text/json.h"
#include "tools/utl/utl_archive_target.h"
#include "tools/utl/utl_log.h"
#include "tools/utl/utl_restore.h"

namespace kvorum::utl {
namespace {

constexpr std::string_view kFetching = "reading the base";

Error AsError(const ctl::Failure& failure) { return {Code::kUnknown, failure.message}; }

}  // namespace

void ArchiveProgress::Replayed(const server::Replayed& state, raft::Index from, raft::Index to) {
  const auto whole = static_cast<double>(to - from);
  const std::lock_guard lock(mutex_);
  replay_ = ctl::ProgressBar::State{
      .share = whole == 0 ? 1 : static_cast<double>(state.index - from) / whole,
      .text = fmt::format("replaying the log, revision {}", state.revision)};
}

ctl::ProgressBar::State ArchiveProgress::State() const {
  {
    const std::lock_guard lock(mutex_);
    if (replay_) return *replay_;
  }
  return bytes_.State();
}

archive::Read<BaseImage> FetchBase(archive::ObjectStore& store, const archive::BaseToRead& base,
                                   const std::string& folder, ArchiveProgress& progress) {
  auto created = UnnamedFile::CreateIn(folder);
  if (!created.has_value()) return std::unexpected(AsError(created.error()));
  BaseImage image = {.file = *std::move(created), .reader = nullptr};
  {
    KV_TRY(const auto file,
           PosixFileSystem().Open(image.file.path(), FileSystem::OpenMode::kReadWrite));
    const auto sink = [&](std::uint64_t offset, std::string_view bytes) {
      const std::array parts = {bytes};
      return file->WriteAt(offset, parts);
    };
    KV_TRY(const archive::ImageEnd end,
           archive::ReadBase(
               store, base, sink,
               [tell = progress.Bytes()](std::uint64_t done, std::uint64_t total) {
                 tell(kFetching, done, total);
               },
               archive::Ahead::kThread));
    image.term = end.term;
  }
  auto reader = bbolt::Reader::Open(PosixFileSystem(), image.file.path());
  if (!reader.has_value())
    return std::unexpected(BlameBase(std::move(reader).error(), base.history, base.name));
  image.reader = *std::move(reader);
  return image;
}

archive::ObjectError BlameBase(Error error, archive::HistoryId history,
                               const archive::BaseName& base) {
  if (error.code != Code::kDataLoss) return {std::move(error)};
  const std::string key =
      archive::KeyText({.history = history, .name = archive::ManifestName{base}});
  error.message = key + ": the image cannot be restored: " + error.message;
  return {std::move(error), key};
}

ctl::Outcome<std::unique_ptr<ScratchFolder>> ScratchFolder::Create() {
  KV_TRY(const std::string folder, TemporaryFolder());
  std::string path = folder + "/kvorumutl-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return Fail(ctl::ExitCode::kError, "create " + path + ": " + GoErrnoText(errno));
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;  // what cannot be removed is in the folder for temporary files
  std::filesystem::remove_all(path_, error);
}

archive::Read<std::unique_ptr<server::Replay>> ReplayInto(
    const std::string& folder, archive::ObjectStore& store, const archive::Plans& plans,
    const archive::Plan& plan, mvcc::PublishListener* listener, ArchiveProgress& progress) {
  KV_TRY(const BaseImage image, FetchBase(store, plans.BaseOf(plan), folder, progress));
  const auto imported = [&]() -> Result<void> {
    KV_RETURN_IF_ERROR(image.reader->Check());
    datadir::ImageDatabase database = {.path = folder + "/db", .open = OpenUnfinished, .meta = {}};
    KV_TRY(database.meta, mvcc::ReadEtcdMeta(*image.reader));
    KV_TRY(database.meta.storage_version, datadir::StorageVersionOfImage(database.meta));
    database.on_progress = [&, tell = progress.Bytes()](std::uint64_t bytes) {
      tell(datadir::kCopying, bytes, image.reader->SizeBytes());
    };
    KV_RETURN_IF_ERROR(datadir::MakeDatabaseOfImage(*image.reader, database));
    return {};
  }();
  if (!imported.has_value())
    return std::unexpected(BlameBase(imported.error(), plan.history, plan.base));
  auto opened = server::Replay::Open(PosixFileSystem(), {.folder = folder,
                                                         .open = OpenUnfinished,
                                                         .to_revision = server::StopRevision(plan),
                                                         .listener = listener});
  if (!opened.has_value())
    return std::unexpected(BlameBase(std::move(opened).error(), plan.history, plan.base));
  auto replay = *std::move(opened);
  const auto replayed = server::ReplayLog(store, plan, image.term, *replay, archive::Ahead::kThread,
                                          [&](const server::Replayed& state) {
                                            progress.Replayed(state, plan.base.index, EndOf(plan));
                                          });
  if (!replayed.has_value()) return std::unexpected(replayed.error());
  return replay;
}

ctl::Outcome<archive::Contents> ListArchive(ctl::World& world, archive::ObjectStore& store) {
  auto listing = archive::ReadListing(store);
  if (!listing.has_value()) return ctl::FailLocally(listing.error());
  for (const std::string& problem : listing->problems)
    LogWarning(world, "a history of the archive is not known in full",
               {{"reason", ctl::JsonString(problem)}});
  return std::move(listing->contents);
}

void WarnOfWhatIsMissing(ctl::World& world, archive::ObjectStore& store,
                         const archive::Plan& plan) {
  const std::string key = archive::KeyText({.history = plan.history, .name = archive::MarkName{}});
  const auto bytes = archive::ReadBytes(store, key, archive::kMaxHeaderBytes);
  const auto mark =
      bytes.has_value() ? archive::ParseMark(*bytes) : kvorum::Fail(Code::kNotFound, "no mark");
  if (!mark.has_value()) return;
  const raft::Index end = EndOf(plan);
  if (std::holds_alternative<archive::ToLatest>(plan.target) && mark->index > end && !plan.end) {
    LogWarning(world, "newer changes were archived, and their objects are missing",
               {{"last-index", std::to_string(end.value())},
                {"archived-index", std::to_string(mark->index.value())}});
  }
  const auto* to = std::get_if<archive::ToTime>(&plan.target);
  if (to == nullptr) return;
  const archive::UnixMillis known =
      plan.logs.empty() ? plan.base.time_ms : plan.logs.back().time_ms;
  const bool is_all = mark->index <= end && mark->time_ms >= to->time_ms;
  if (to->time_ms > known && !is_all && !plan.end) {
    LogWarning(world, "the archive does not say what was changed before the time that is asked for",
               {{"asked-for", ctl::JsonString(TimeText(to->time_ms))},
                {"last-change", ctl::JsonString(TimeText(known))},
                {"archiver-alive", ctl::JsonString(TimeText(mark->time_ms))}});
  }
}

ctl::Outcome<void> AlongPlans(ctl::World& world, archive::Plans& plans,
                              const std::function<archive::Read<void>(const archive::Plan&)>& go) {
  // The lines of a member that applies entries are not for a terminal.
  SetLogLevel(LogLevel::kError);
  while (true) {
    const auto plan = plans.Next();
    if (!plan.has_value()) return ctl::FailLocally(plan.error());
    const auto gone = go(*plan);
    if (gone.has_value()) return {};
    if (!plans.PassOver(gone.error())) return ctl::FailLocally(gone.error().error);
    LogWarning(world, "an object of the archive cannot be used; looking for a way around it",
               {{"object", ctl::JsonString(gone.error().object)},
                {"reason", ctl::JsonString(gone.error().error.message)}});
  }
}

}  // namespace kvorum::utl
