#include "tools/run/control.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "sync/kernel/json_depth.h"

namespace kvorum::ctl {
namespace {

std::string Line(std::string_view name, const sync::Json& value) {
  sync::Json line;
  line[std::string(name)] = value;
  return ControlText(line) + '\n';
}

}  // namespace

ControlReply::~ControlReply() {
  if (sink_ != nullptr) Fail("the request was dropped");
}

bool ControlReply::Item(const sync::Json& item) { return sink_->Write(Line("item", item)); }

void ControlReply::Ok() { Ok(sync::Json::object()); }

void ControlReply::Ok(const sync::Json& value) {
  const auto sink = std::exchange(sink_, nullptr);
  sink->Write(Line("ok", value));
  sink->End();
}

void ControlReply::Fail(const std::string& text) {
  const auto sink = std::exchange(sink_, nullptr);
  sink->Write(Line("error", text));
  sink->End();
}

void ControlReply::Stream(ControlItems items) {
  std::exchange(sink_, nullptr)->Stream(std::move(items));
}

Result<sync::Json> ParseControlRequest(std::string_view line, const ControlLimits& limits) {
  if (sync::JsonDepth(line) > limits.request_depth)
    return kvorum::Fail(Code::kInvalidArgument, "the request is nested too deeply");
  KV_TRY(sync::Json request, sync::ParseObject("the request", line));
  KV_RETURN_IF_ERROR(sync::StringOf(request, "command"));
  return request;
}

std::string ControlText(const sync::Json& json) {
  return json.dump(-1, ' ', false, sync::Json::error_handler_t::replace);
}

}  // namespace kvorum::ctl
