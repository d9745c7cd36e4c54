#include "tools/watch_exec.h"

#include "base/go_quote.h"
#include "tools/run_program.h"

namespace kvorum::ctl {

std::expected<void, std::string> RunForEvent(std::span<const std::string> command,
                                             std::vector<std::string> environment,
                                             std::int64_t revision, const mvccpb::Event& event) {
  environment.push_back("ETCD_WATCH_REVISION=" + std::to_string(revision));
  environment.push_back("ETCD_WATCH_EVENT_TYPE=" +
                        GoQuote(mvccpb::Event_EventType_Name(event.type())));
  environment.push_back("ETCD_WATCH_KEY=" + GoQuote(event.kv().key()));
  environment.push_back("ETCD_WATCH_VALUE=" + GoQuote(event.kv().value()));
  const auto ran = RunProgram(command, environment);
  if (!ran) return std::unexpected(ran.error());
  if (!ran->reason.empty()) return std::unexpected(ran->reason);
  return {};
}

}  // namespace kvorum::ctl
