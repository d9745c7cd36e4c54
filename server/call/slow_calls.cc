#include "server/call/slow_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/inner_text.h"
#include "base/log/log_time.h"
#include "base/rng.h"
#include "base/text/duration_text.h"
#include "server/call/api.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxRangesBytes = 4096;

// -1: it does not say.
std::int64_t CountOf(const SlowLine& line, const rpc::CallContext& call, const rpc::CallEnd& end) {
  switch (line.count) {
    case AnswerCount::kUnsaid:
      return -1;
    case AnswerCount::kZero:
      return 0;
    case AnswerCount::kRows:
      return end.code == Code::kOk ? call.answer_count() : 0;
  }
  return -1;
}

std::string SizeText(std::uint64_t bytes) { return "size:" + std::to_string(bytes); }

std::string CountText(std::int64_t count) {
  return "range_response_count:" + std::to_string(count);
}

// The numbers of rows that a txn's ranges have found.
std::string RangesText(const std::vector<std::int64_t>& rows) {
  std::string text = "responses:<";
  for (const std::int64_t count : rows) {
    if (text.size() > kMaxRangesBytes) {
      text += " ...";
      break;
    }
    if (!text.ends_with('<')) text += ' ';
    text += CountText(count);
  }
  return text + ">";
}

// The answer of a call that only reads.
std::string ReadText(const SlowLine& line, const rpc::CallContext& call, const rpc::CallEnd& end) {
  if (end.code != Code::kOk) return {};
  const std::string size = SizeText(end.sent_bytes);
  if (line.count == AnswerCount::kRows) {
    const std::int64_t count = CountOf(line, call, end);
    return count < 0 ? size : CountText(count) + " " + size;
  }
  const auto rows = call.answer_rows();
  return rows.has_value() ? RangesText(*rows) + " " + size : size;
}

// etcd's errors stand in a line only if there is one.
std::string_view NameIf(bool is_there, std::string_view name) { return is_there ? name : ""; }

}  // namespace

// etcd's names of the parts that were long, each with its time. A write is over when it is applied.
std::vector<std::string> SlowCalls::StepsOf(const rpc::CallContext& call, const rpc::CallEnd& end,
                                            bool only_reads) {
  struct Step {
    std::string_view name;
    Duration took;
  };
  std::vector<Step> steps;
  if (!only_reads) {
    steps.push_back({"process raft request", end.duration});
  } else {
    Duration waited{};
    if (const auto begun = call.begun()) {
      waited = std::clamp(*begun - call.started(), Duration::zero(), end.duration);
      steps.push_back({"agreement among raft nodes before linearized reading", waited});
    }
    steps.push_back({"range keys from bolt db", end.duration - waited});
  }
  const Duration least = kTraced / static_cast<int>(steps.size() + 1);
  std::vector<std::string> texts;
  for (const auto& [name, took] : steps) {
    if (took > least)
      texts.push_back(fmt::format("'{}'  (duration: {})", name, FormatDuration(took)));
  }
  return texts;
}

void SlowCalls::Log(const rpc::CallContext& call, const rpc::CallEnd& end) const {
  const rpc::MethodInfo& method = *call.method();
  const std::int64_t ended_ns = SystemClock().WallNanos();
  const std::int64_t started_ns =
      ended_ns - std::chrono::duration_cast<std::chrono::nanoseconds>(end.duration).count();
  const ApiMethod* const row = FindApiMethod(method.path);
  const SlowLine line = row == nullptr ? SlowLine{} : row->slow;
  const bool is_shown = line.summarize != nullptr && !call.kept_request().empty();
  const CallSummary summary = is_shown ? line.summarize(call.kept_request()) : CallSummary{};
  const std::string took = FormatDuration(end.duration);
  const bool failed = end.code != Code::kOk;

  if (summary.only_reads && limits_.apply > Duration::zero() && end.duration > limits_.apply) {
    KV_WARN("apply request took too long", {"took", took},
            {"expected-duration", FormatDuration(limits_.apply)}, {"prefix", line.read_prefix},
            {"request", summary.text}, {"response", ReadText(line, call, end)},
            {NameIf(failed, "error"), InnerText(end.message)});
  }
  // One line, at debug if that is wanted: then every call has it.
  const bool is_debug = LogEnabled(LogLevel::kDebug);
  if (is_debug || end.duration > limits_.call) {
    KV_LOG(is_debug ? LogLevel::kDebug : LogLevel::kWarn, "request stats",
           {"start time", LogTime(started_ns)}, {"time spent", took}, {"remote", call.peer()},
           {"response type", method.path}, {"request count", summary.operations},
           {"request size", end.received_bytes}, {"response count", CountOf(line, call, end)},
           {"response size", end.sent_bytes}, {"request content", summary.text},
           {NameIf(failed, "code"), static_cast<int>(end.code)},
           {NameIf(failed, "error"), end.message});
  }
  if (end.duration > kTraced && !line.operation.empty()) {
    const std::vector<std::string> steps = StepsOf(call, end, summary.only_reads);
    KV_INFO(
        "trace", {"trace_id", Rng(EntropySeed()).Below(INT32_MAX)}, {"operation", line.operation},
        {"detail", "{request:" + summary.text + "; response_" + SizeText(end.sent_bytes) + "; }"},
        {"duration", took}, {"start", LogTime(started_ns)}, {"end", LogTime(ended_ns)},
        {"steps", std::span(steps)}, {"step_count", steps.size()});
  }
}

}  // namespace kvorum::server
