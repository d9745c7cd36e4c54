// Words of the commands of "archive" that look at all of it: states, ranges, and their JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "archive/catalog/ranges.h"

namespace kvorum::utl {

using ArchiveJson = nlohmann::ordered_json;

// "revisions 5 to 90 (index 7 to 120), 2026-...Z to 2026-...Z"
std::string RangeText(const archive::StateRange& range);

ArchiveJson StateJson(const archive::StatePlace& state);
ArchiveJson RangeJson(const archive::StateRange& range);

// Compact. Bytes that are not UTF-8 are replaced.
std::string ArchiveJsonText(const ArchiveJson& json);

}  // namespace kvorum::utl
