#include "server/call/slow_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/entries/request_summary.h"
#include "api/inner_text.h"
#include "base/log/log_time.h"
#include "base/rng.h"
#include "base/text/duration_text.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxRangesBytes = 4096;

// etcd's name of the operation in a trace; empty: it has none.
std::string_view OperationOf(const rpc::MethodInfo& method) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"Range", "range"},
      {"Put", "put"},
      {"DeleteRange", "delete_range"},
      {"Txn", "transaction"},
      {"Compact", "compact"}};
  if (method.service != "etcdserverpb.KV") return {};
  for (const auto& [name, operation] : kNames) {
    if (method.name == name) return operation;
  }
  return {};
}

// etcd's count of what an answer tells of; -1: it does not say.
std::int64_t AnswerCount(const rpc::CallContext& call, const rpc::CallEnd& end) {
  const rpc::MethodInfo& method = *call.method();
  if (method.service != "etcdserverpb.KV") return -1;
  if (method.name == "Put" || method.name == "Txn") return 0;
  if (method.name != "Range" && method.name != "DeleteRange") return -1;
  return end.code == Code::kOk ? call.answer_count() : 0;
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
std::string ReadText(const rpc::CallContext& call, const rpc::CallEnd& end) {
  if (end.code != Code::kOk) return {};
  const std::string size = SizeText(end.sent_bytes);
  if (call.method()->name == "Range") {
    const std::int64_t count = AnswerCount(call, end);
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
  const bool is_shown = method.service == "etcdserverpb.KV" && !call.kept_request().empty();
  const CallSummary summary =
      is_shown ? SummarizeCall(method.name, call.kept_request()) : CallSummary{};
  const std::string took = FormatDuration(end.duration);
  const bool failed = end.code != Code::kOk;

  if (summary.only_reads && limits_.apply > Duration::zero() && end.duration > limits_.apply) {
    KV_WARN("apply request took too long", {"took", took},
            {"expected-duration", FormatDuration(limits_.apply)},
            {"prefix", method.name == "Range" ? "read-only range " : "read-only txn "},
            {"request", summary.text}, {"response", ReadText(call, end)},
            {NameIf(failed, "error"), InnerText(end.message)});
  }
  // One line, at debug if that is wanted: then every call has it.
  const bool is_debug = LogEnabled(LogLevel::kDebug);
  if (is_debug || end.duration > limits_.call) {
    KV_LOG(is_debug ? LogLevel::kDebug : LogLevel::kWarn, "request stats",
           {"start time", LogTime(started_ns)}, {"time spent", took}, {"remote", call.peer()},
           {"response type", method.path}, {"request count", summary.operations},
           {"request size", end.received_bytes}, {"response count", AnswerCount(call, end)},
           {"response size", end.sent_bytes}, {"request content", summary.text},
           {NameIf(failed, "code"), static_cast<int>(end.code)},
           {NameIf(failed, "error"), end.message});
  }
  const std::string_view operation = OperationOf(method);
  if (end.duration > kTraced && !operation.empty()) {
    const std::vector<std::string> steps = StepsOf(call, end, summary.only_reads);
    KV_INFO(
        "trace", {"trace_id", Rng(EntropySeed()).Below(INT32_MAX)}, {"operation", operation},
        {"detail", "{request:" + summary.text + "; response_" + SizeText(end.sent_bytes) + "; }"},
        {"duration", took}, {"start", LogTime(started_ns)}, {"end", LogTime(ended_ns)},
        {"steps", std::span(steps)}, {"step_count", steps.size()});
  }
}

}  // namespace kvorum::server
