// The events that the long-running commands of kvorumctl snapshot-server tell. In text, names
// and values are cut at 4096 bytes, and what a terminal would obey is shown as spaces; in JSON,
// values are whole and in base64.
#pragma once

#include <string>
#include <string_view>

#include "sync/delta/delta_message.h"
#include "sync/delta/delta_subscription.h"
#include "tools/shell/reporter.h"

namespace kvorum::ctl {

void ReportListening(Reporter& reporter, const std::string& address);
void ReportRefusal(Reporter& reporter, const std::string& node,
                   const sync::SubscriptionState& state);
// Waits for room: a server can be held up.
void ReportResponse(Reporter& reporter, const sync::DeltaResponse& response,
                    const sync::DeltaRequest& answer);

// The text on one line.
std::string OneLine(std::string_view text);

}  // namespace kvorum::ctl
