// Reports the process's state to systemd, on the socket named by $NOTIFY_SOCKET (sd_notify(3)), if
// there is one.
#pragma once

#include <string_view>

namespace kvorum::server {

// "READY=1", "STOPPING=1", "STATUS=..." lines. Never blocks, never fails.
void NotifySupervisor(std::string_view state);

}  // namespace kvorum::server
