// The state of an archive that a command's flags name, and how it is named back to people.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/format/names.h"
#include "tools/shell/command.h"
#include "tools/text/outcome.h"

namespace kvorum::utl {

// "2026-11-28T10:00:00Z", with any fraction and offset, or seconds since 1970, with any fraction.
// Rounded down to milliseconds; nothing for another text, or a time before 1970.
std::optional<archive::UnixMillis> ParseTime(std::string_view text);
// "2026-11-28T10:00:00.123Z".
std::string TimeText(archive::UnixMillis time_ms);

// The flags of restore: --to-revision, --to-time, --to-index and --latest, of which a line has
// exactly one; of show: --revision and --time, at most one.
enum class TargetFlags : std::uint8_t { kRestore, kShow };
std::vector<ctl::Flag> ArchiveTargetFlags(TargetFlags which);
ctl::Outcome<archive::Target> ArchiveTarget(const ctl::Invocation& invocation, TargetFlags which);

}  // namespace kvorum::utl
