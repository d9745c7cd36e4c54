// --config-check: what would run, and what is wrong with it, before anybody starts it.
//
// Reads certificates, keys and lists, and binds the addresses for a moment. Data, logs and other
// members are left alone: that a data directory belongs to this cluster shows only at a start.
#pragma once

#include <string>

#include "server/process/settings/options.h"

namespace kvorum::server {

struct CheckReport {
  std::string text;   // for stdout
  int exit_code = 0;  // 1 with a fault
};

CheckReport CheckSettings(const Reading& reading);

}  // namespace kvorum::server
