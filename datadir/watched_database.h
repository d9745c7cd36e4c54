// A database whose reader tells its progress.
#pragma once

#include <memory>

#include "datadir/database_file.h"
#include "datadir/progress.h"

namespace kvorum::datadir {

// Each pass over the content is a step: Check is "checking", Visit and VisitRevisions are
// "reading". The last two count keys and values, so that a pass may end short of the file's size.
std::unique_ptr<DatabaseFile> Watch(std::unique_ptr<DatabaseFile> database, OnProgress on_progress);

}  // namespace kvorum::datadir
