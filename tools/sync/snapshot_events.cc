#include "tools/sync/snapshot_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "sync/agent/entry.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

std::string ResourceJson(const sync::DeltaResource& resource) {
  return JsonObject()
      .Add("name", JsonString(resource.name))
      .Add("version", JsonString(resource.version))
      .Add("value", JsonBytes(*resource.bytes))
      .Finish();
}

Reporter::Members ResponseMembers(const sync::DeltaResponse& response,
                                  const sync::DeltaRequest& answer) {
  Reporter::Members members = {{"type", JsonString(response.type)},
                               {"nonce", JsonString(response.nonce)},
                               {"version", JsonString(response.system_version)}};
  if (!response.resources.empty())
    members.emplace_back("resources", JsonList(response.resources, ResourceJson));
  if (!response.removed.empty())
    members.emplace_back("removed", JsonList(response.removed, JsonString));
  if (answer.refusal) members.emplace_back("refused", JsonString(*answer.refusal));
  return members;
}

std::string ResponseText(const sync::DeltaResponse& response, const sync::DeltaRequest& answer) {
  std::string text = fmt::format(
      "{} {}: {}", OneLine(response.type), OneLine(response.nonce),
      answer.refusal ? "refused: " + OneLine(*answer.refusal) : std::string("accepted"));
  for (const std::string& name : response.removed) text += "\n- " + OneLine(name);
  for (const sync::DeltaResource& resource : response.resources)
    text += fmt::format("\n+ {} = {}", OneLine(resource.name), OneLine(*resource.bytes));
  return text;
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line = sync::CleanOutput(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

void ReportListening(Reporter& reporter, const std::string& address) {
  reporter.Event("listening", {{"address", JsonString(address)}}, "listening on " + address);
}

void ReportRefusal(Reporter& reporter, const std::string& node,
                   const sync::SubscriptionState& state) {
  reporter.Event("refused",
                 {{"node", JsonString(node)},
                  {"type", JsonString(state.type)},
                  {"nonce", JsonString(state.refused)},
                  {"refusal", JsonString(state.refusal)}},
                 fmt::format("{}: {} {}: refused: {}", OneLine(node), OneLine(state.type),
                             OneLine(state.refused), OneLine(state.refusal)));
}

void ReportResponse(Reporter& reporter, const sync::DeltaResponse& response,
                    const sync::DeltaRequest& answer) {
  // Either may be large, and one of them is used.
  if (reporter.in_json())
    reporter.EventWithRoom("response", ResponseMembers(response, answer), "");
  else
    reporter.EventWithRoom("response", {}, ResponseText(response, answer));
}

}  // namespace kvorum::ctl
