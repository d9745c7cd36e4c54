#include "tools/utl/utl_archive_store.h"

#include <chrono>
#include <string>
#include <utility>

#include "archive/store/open_store.h"
#include "archive/store/retrying_store.h"
#include "base/clock.h"
#include "base/file_system.h"

namespace kvorum::utl {
namespace {

using ctl::FlagType;

// The limit of one call: a person waits.
constexpr std::chrono::seconds kArchivePatience(30);

ctl::Outcome<archive::StoreSettings> ArchiveSettings(const ctl::FlagSet& flags,
                                                     ArchiveAccess access) {
  if (flags.String("url").empty()) return ctl::BadArguments("--url is required");
  const auto style = archive::ParseBucketStyle(flags.String("path-style"));
  if (!style) {
    return ctl::BadArguments("--path-style is auto, path or virtual, not \"" +
                             flags.String("path-style") + "\"");
  }
  return archive::StoreSettings{.url = flags.String("url"),
                                .read_only = access == ArchiveAccess::kRead,
                                .endpoint = flags.String("endpoint"),
                                .region = flags.String("region"),
                                .style = *style,
                                .credentials = {.file = flags.String("credentials-file")},
                                .ca_file = flags.String("ca-file")};
}

}  // namespace

std::vector<ctl::Flag> ArchiveStoreFlags() {
  return {
      {"url", FlagType::kString, "", "the archive: file:///folder or s3://bucket/prefix"},
      {"history", FlagType::kString, "",
       "the history to work on, 16 hexadecimal digits (default: the newest, and what it came "
       "from)"},
      {"endpoint", FlagType::kString, "", "URL of the S3 service (default: AWS's of the region)"},
      {"region", FlagType::kString, "",
       "region of the bucket (default: AWS_REGION, AWS_DEFAULT_REGION, else us-east-1)"},
      {"path-style",
       FlagType::kString,
       "auto",
       "how requests name the bucket: auto, path (https://host/bucket) or virtual "
       "(https://bucket.host)",
       {"auto", "path", "virtual"}},
      {"credentials-file", FlagType::kString, "",
       "file with the access key, in the form of AWS's tools (default: the environment, then "
       "~/.aws/credentials)"},
      {"ca-file", FlagType::kString, "",
       "certificates that are trusted for the endpoint (default: the system's)"}};
}

ctl::Outcome<std::unique_ptr<OpenedArchive>> OpenedArchive::Open(const ctl::Invocation& invocation,
                                                                 ArchiveAccess access) {
  KV_TRY(const archive::StoreSettings settings, ArchiveSettings(invocation.flags, access));
  std::unique_ptr<OpenedArchive> opened(new OpenedArchive());
  if (const std::string& history = invocation.flags.String("history"); !history.empty()) {
    opened->history_ = archive::ParseHistory(history);
    if (!opened->history_)
      return ctl::BadArguments("--history has 16 lower-case hexadecimal digits, not all 0");
  }
  auto store = archive::OpenStore(settings, PosixFileSystem(), SystemClock(), opened->stop_);
  if (!store.has_value()) {
    const bool is_flags = store.error().kind == archive::StoreErrorKind::kInvalid;
    return Fail(is_flags ? ctl::ExitCode::kBadArguments : ctl::ExitCode::kError,
                store.error().text);
  }
  archive::RetryOptions retries;
  retries.give_up_after = kArchivePatience;
  opened->store_ = std::make_unique<archive::RetryingStore>(*std::move(store), SystemClock(),
                                                            opened->stop_, std::move(retries));
  return opened;
}

}  // namespace kvorum::utl
