#include "server/metrics/pprof_http.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "base/text/parse_number.h"
#include "base/words.h"
#include "rpc/http/http_error.h"
#include "server/metrics/cpu_profiler.h"
#include "server/metrics/pprof_format.h"
#include "server/metrics/symbols.h"

namespace kvorum::server {
namespace {

using namespace std::string_literals;

constexpr std::string_view kRoot = "/debug/pprof/";
constexpr std::chrono::seconds kDefaultTime = std::chrono::seconds(30);
constexpr Duration kCollectInterval = std::chrono::milliseconds(100);
// Symbols asked for at once.
constexpr std::size_t kMaxSymbols = 4'096;

struct Page {
  std::string_view name;
  std::string_view help;
};
constexpr Page kPages[] = {
    {"cmdline", "The command line of this process."},
    {"heap", "The C library's heap, as text."},
    {"profile", "A profile of processor time for go tool pprof: ?seconds=30."},
    {"symbol", "The names of functions: POST addresses, 0x1+0x2."},
    {"threads", "The threads, their states and their processor time, as text."},
};

rpc::HttpResponse PlainText(std::string text) {
  rpc::HttpResponse response = rpc::HttpResponse::Text(200, std::move(text));
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

rpc::HttpResponse Refusal(unsigned status, std::string_view text) {
  rpc::HttpResponse response = rpc::HttpError(status, text);
  response.headers.push_back({"X-Go-Pprof", "1"});  // pprof shows the text then
  return response;
}

std::string IndexText() {
  std::string text = "<html>\n<head><title>/debug/pprof/</title></head>\n<body>\n<table>\n";
  for (const Page& page : kPages) {
    text.append("<tr><td><a href=\"").append(page.name).append("\">").append(page.name);
    text.append("</a></td><td>").append(page.help).append("</td></tr>\n");
  }
  return text + "</table>\n</body>\n</html>\n";
}

std::string HeapText() {
  const struct mallinfo2 heap = mallinfo2();
  const auto line = [](const char* name, std::size_t value) {
    return std::string(name) + " " + std::to_string(value) + "\n";
  };
  std::string text = line("heap_bytes_in_use", heap.uordblks + heap.hblkhd) +
                     line("heap_bytes_free", heap.fordblks) +
                     line("heap_bytes_from_the_system", heap.arena + heap.hblkhd) +
                     line("mapped_blocks", heap.hblks) + line("mapped_bytes", heap.hblkhd) +
                     line("releasable_bytes_on_top", heap.keepcost) + "\n";
  std::ifstream status("/proc/self/status");
  for (std::string row; std::getline(status, row);)
    if (row.starts_with("Vm") || row.starts_with("Rss")) text += row + "\n";
  return text;
}

// The fields of a thread's stat file behind its name, which may hold blanks.
std::string ThreadLine(const std::string& id) {
  std::ifstream file("/proc/self/task/" + id + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(')');
  if (open == stat.npos || close == stat.npos || close + 2 > stat.size())
    return {};  // it has ended
  const std::string name = stat.substr(open + 1, close - open - 1);
  const auto fields = Split(std::string_view(stat).substr(close + 2), ' ');
  constexpr std::size_t kUserTicks = 11;
  if (fields.size() <= kUserTicks + 1) return {};
  const auto seconds = [&fields](std::size_t field) {
    const std::uint64_t ticks = ParseNumber<std::uint64_t>(fields[field]).value_or(0);
    const std::uint64_t ms = ticks * 1000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100);
  };
  return id + "\t" + name + "\t" + std::string(fields[0]) + "\t" + seconds(kUserTicks) + "\t" +
         seconds(kUserTicks + 1) + "\n";
}

std::string ThreadsText() {
  std::string text = "id\tname\tstate\tuser seconds\tsystem seconds\n";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored))
    text += ThreadLine(entry.path().filename().string());
  return text;
}

// Go's protocol: a first line that says that there are symbols, then one for each address.
std::string SymbolText(const rpc::HttpRequest& request) {
  std::string text = "num_symbols: 1\n";
  std::string_view asked = request.method == "POST" ? request.body.view() : request.Query();
  Symbols symbols;
  for (std::size_t i = 0; i < kMaxSymbols && !asked.empty(); ++i) {
    const auto [word, rest] = Cut(asked, '+');
    std::string_view digits = word;
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    const auto address = ParseNumber<std::uintptr_t>(digits, 16);
    if (const std::string name = address ? symbols.NameAt(*address) : ""; !name.empty())
      text.append(word).append(" ").append(name).append("\n");
    asked = rest.value_or("");
  }
  return text;
}

std::chrono::seconds TimeOf(const rpc::HttpRequest& request) {
  std::int64_t seconds = 0;
  for (const std::string_view pair : Split(request.Query(), '&')) {
    const auto [name, value] = Cut(pair, '=');
    if (name != "seconds" || !value.has_value()) continue;
    seconds = ParseNumber<std::int64_t>(*value).value_or(0);
    break;
  }
  return seconds <= 0 ? kDefaultTime : std::chrono::seconds(seconds);
}

}  // namespace

struct PprofHttp::Session {
  rpc::HttpReply reply;
  std::unique_ptr<CpuProfiler> profiler;
  TimePoint begin;
  TimePoint end;
  std::int64_t begin_unix_ns = 0;
};

void PprofHttp::Serve(std::move_only_function<std::string()> make, rpc::HttpReply reply) {
  if (waiting_.fetch_add(1) >= kMaxWaiting) {
    waiting_.fetch_sub(1);
    return reply.Send(Refusal(503, "too many requests wait"));
  }
  thread_.Post([this, make = std::move(make), reply = std::move(reply)]() mutable {
    rpc::HttpResponse page = PlainText(make());
    waiting_.fetch_sub(1);
    reply.Send(std::move(page));
  });
}

void PprofHttp::ServeProfile(const rpc::HttpRequest& request, rpc::HttpReply reply) {
  const std::chrono::seconds time = TimeOf(request);
  if (time > kLongest) return reply.Send(Refusal(400, "profile duration exceeds ten minutes"));
  if (is_profiling_.exchange(true)) {
    return reply.Send(Refusal(500, "Could not enable CPU profiling: cpu profiling already in use"));
  }
  thread_.Post([this, time, reply = std::move(reply)]() mutable {
    auto profiler = CpuProfiler::Start();
    if (!profiler.has_value()) {
      is_profiling_ = false;
      return reply.Send(
          Refusal(500, "Could not enable CPU profiling: " + profiler.error().message));
    }
    const TimePoint now = thread_.clock().Now();
    GoOn(std::make_unique<Session>(Session{.reply = std::move(reply),
                                           .profiler = *std::move(profiler),
                                           .begin = now,
                                           .end = now + time,
                                           .begin_unix_ns = thread_.clock().WallNanos()}));
  });
}

void PprofHttp::GoOn(std::unique_ptr<Session> session) {
  session->profiler->Collect();
  const TimePoint now = thread_.clock().Now();
  if (now < session->end) {
    const TimePoint next = std::min(session->end, now + kCollectInterval);
    return thread_.PostAt(
        next, [this, session = std::move(session)]() mutable { GoOn(std::move(session)); });
  }
  const CpuProfile profile = session->profiler->Stop();
  rpc::HttpResponse response =
      rpc::HttpResponse::Text(200, EncodePprof(profile, {.begin_unix_ns = session->begin_unix_ns,
                                                         .duration = now - session->begin}));
  is_profiling_ = false;
  response.content_type = "application/octet-stream";
  response.headers = {{"X-Content-Type-Options", "nosniff"},
                      {"Content-Disposition", "attachment; filename=\"profile\""}};
  session->reply.Send(std::move(response));
}

void PprofHttp::AddRoutes(rpc::HttpMux& mux) {
  const auto add = [&mux](std::string_view name, rpc::HttpHandler handler) {
    mux.Handle(std::string(kRoot) + std::string(name), std::move(handler));
  };
  add("", [](const rpc::HttpRequest&, rpc::HttpReply reply) {
    rpc::HttpResponse index = PlainText(IndexText());
    index.content_type = "text/html; charset=utf-8";
    reply.Send(std::move(index));
  });
  add("cmdline", [this](const rpc::HttpRequest&, rpc::HttpReply reply) {
    std::string text;
    for (const std::string& argument : arguments_) text += (text.empty() ? "" : "\0"s) + argument;
    reply.Send(PlainText(std::move(text)));
  });
  add("profile", [this](const rpc::HttpRequest& request, rpc::HttpReply reply) {
    ServeProfile(request, std::move(reply));
  });
  // These read files: not on an I/O loop.
  add("symbol", [this](const rpc::HttpRequest& request, rpc::HttpReply reply) {
    if (request.body.size() > kMaxSymbolsBytes)
      return reply.Send(Refusal(413, "more addresses than are looked up"));
    Serve([request] { return SymbolText(request); }, std::move(reply));
  });
  add("heap",
      [this](const rpc::HttpRequest&, rpc::HttpReply reply) { Serve(HeapText, std::move(reply)); });
  add("threads", [this](const rpc::HttpRequest&, rpc::HttpReply reply) {
    Serve(ThreadsText, std::move(reply));
  });
  mux.HandlePrefix(std::string(kRoot), [](const rpc::HttpRequest&, rpc::HttpReply reply) {
    reply.Send(Refusal(404, "Unknown profile"));
  });
}

}  // namespace kvorum::server
