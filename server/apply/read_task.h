// What waits for a linearizable read's turn.
#pragma once

#include <functional>

#include "base/error.h"

namespace kvorum::server {

// Runs when what was committed before it was asked for has been applied, or with the reason why
// that is not known.
using ReadTask = std::move_only_function<void(const Result<void>& confirmed)>;

}  // namespace kvorum::server
