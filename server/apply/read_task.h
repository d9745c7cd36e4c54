// A task that waits for a linearizable read's turn.
#pragma once

#include <functional>

#include "base/error.h"

namespace kvorum::server {

// Runs when everything committed before the request has been applied, or with the reason why that
// is unknown.
using ReadTask = std::move_only_function<void(const Result<void>& confirmed)>;

}  // namespace kvorum::server
