// Shows a part of the catalog and then every change of it, until the command is stopped.
//
//   + a row that was added, ~ one that changed, - one that was removed; in JSON objects whose event
//   is added, changed or removed
//
// Changes that come together, or faster than they are read, are shown as what they amount to.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "sync/store/object_map.h"
#include "tools/run/long_run.h"
#include "tools/shell/command.h"
#include "tools/sync/catalog_rows.h"

namespace kvorum::ctl {

using CatalogRows = std::map<std::string, CatalogRow>;  // by a key that a changed row keeps

struct CatalogWatch {
  std::string prefix;
  // The rows of the objects below the prefix. An object that cannot be shown is reported once per
  // revision.
  std::function<CatalogRows(const sync::ObjectMap& objects)> rows;
  // Refuses a value; it is reported, and not among the objects.
  std::function<Result<void>(std::string_view rest, std::string_view value)> check = {};
};

Outcome<void> WatchCatalog(LongRun& run, const CatalogWatch& watch);

}  // namespace kvorum::ctl
