#include <fmt/format.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <thread>
#include <utility>

#include "base/api_errors.h"
#include "client/error_text.h"
#include "tools/health/health_commands.h"
#include "tools/health/top_frame.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/stop_signals.h"
#include "tools/text/prefix_range.h"

namespace kvorum::ctl {
namespace {

// Enough to tell the shares; a busy cluster is not asked for more.
constexpr std::uint64_t kSampleEvents = 1'000;

// Sleeps until `until`; false if the stop came first.
bool SleepUntil(const std::stop_token& stop, std::chrono::steady_clock::time_point until) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_until(lock, stop, until, [] { return false; });
  return !stop.stop_requested();
}

// Samples the events on a separate thread: of each interval the first 1,000, over a new watch,
// which begins with the interval.
class EventSampler {
 public:
  EventSampler(client::Client& client, std::string prefix, std::string separator,
               std::chrono::nanoseconds interval)
      : client_(client),
        prefix_(std::move(prefix)),
        separator_(std::move(separator)),
        interval_(interval),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}
  ~EventSampler() {
    thread_.request_stop();
    Cancel();
  }
  EventSampler(const EventSampler&) = delete;
  EventSampler& operator=(const EventSampler&) = delete;

  // The sample since the last call, and why there may be none.
  std::pair<EventSample, std::string> Take() {
    const std::lock_guard lock(mutex_);
    return {std::exchange(sample_, {}), why_not_};
  }

 private:
  void Cancel() {
    const std::lock_guard lock(mutex_);
    if (watch_ != nullptr) watch_->Cancel();
  }

  Result<void> Add(const etcdserverpb::WatchResponse& response) {
    const std::lock_guard lock(mutex_);
    why_not_ = response.canceled() ? response.cancel_reason() : "";
    for (const mvccpb::Event& event : response.events()) sample_.Add(event.kv().key(), separator_);
    if (sample_.events() < kSampleEvents) return {};
    return kvorum::Fail(Code::kCanceled, "");
  }

  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto end = std::chrono::steady_clock::now() + interval_;
      etcdserverpb::WatchCreateRequest request;
      SetPrefix(request, prefix_);
      const auto watch = client_.NewWatch(request);
      {
        const std::lock_guard lock(mutex_);
        watch_ = watch.get();
      }
      const auto ended = stop.stop_requested()
                             ? Result<void>()
                             : watch->Run([this](const auto& response) { return Add(response); });
      {
        const std::lock_guard lock(mutex_);
        watch_ = nullptr;
        if (!ended && ended.error().code != Code::kCanceled)
          why_not_ = client::ErrorText(ended.error());
      }
      SleepUntil(stop, end);
    }
  }

  client::Client& client_;
  const std::string prefix_;
  const std::string separator_;
  const std::chrono::nanoseconds interval_;
  std::mutex mutex_;  // guards what follows
  client::Watch* watch_ = nullptr;
  EventSample sample_;
  std::string why_not_;
  std::jthread thread_;
};

// The terminal's other screen, without a cursor; left as it was found.
class Screen {
 public:
  explicit Screen(std::ostream& out) : out_(out) { out_ << "\x1b[?1049h\x1b[?25l" << std::flush; }
  ~Screen() { out_ << "\x1b[?25h\x1b[?1049l" << std::flush; }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static winsize Size() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
      return {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    return size;
  }

  // Draws over what was there; what is beyond the last row is left out.
  void Show(const std::string& text) {
    std::size_t rows = std::max<std::size_t>(Size().ws_row, 2) - 1;
    out_ << "\x1b[H";
    for (std::size_t at = 0; at < text.size() && rows > 0; --rows) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      out_ << std::string_view(text).substr(at, end - at) << "\x1b[K\r\n";
      at = end + 1;
    }
    out_ << "\x1b[J" << std::flush;
  }

 private:
  std::ostream& out_;
};

std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::int64_t UnixMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

TopReading ReadMembers(MemberProbe& probe) {
  TopReading reading{.list = probe.List()};
  reading.members = probe.Read(reading.list);
  reading.at = std::chrono::steady_clock::now();
  return reading;
}

enum class Form : std::uint8_t { kRedrawn, kFrame, kLines, kJson };

// Frames until the stop, or the one.
class TopRun {
 public:
  TopRun(const Invocation& invocation, MemberProbe& probe, EventSampler* sampler, Form form)
      : invocation_(invocation),
        probe_(probe),
        sampler_(sampler),
        form_(form),
        colors_(invocation) {
    if (form == Form::kRedrawn) screen_.emplace(invocation.world.out);
  }

  Outcome<void> Run(const std::stop_token& stop) {
    const auto interval = invocation_.flags.Duration("interval");
    TopReading before = ReadMembers(probe_);
    do {
      if (!SleepUntil(stop, std::chrono::steady_clock::now() + interval)) return {};
      TopReading now = ReadMembers(probe_);
      if (stop.stop_requested()) return {};
      Show(MakeFrame(now, before));
      if (!invocation_.world.out.good())
        return Fail(ExitCode::kError, "the output can't be written");
      before = std::move(now);
    } while (!invocation_.flags.Switch("once"));
    const bool any = std::ranges::any_of(
        before.members, [](const MemberReading& m) { return m.status.has_value(); });
    if (!any) return Fail(ExitCode::kError, "no member answers");
    return {};
  }

 private:
  void Show(TopFrame frame) {
    if (sampler_ != nullptr) {
      auto [sample, why_not] = sampler_->Take();
      frame.hot = sample.Hottest(static_cast<std::size_t>(invocation_.flags.Int("hot")));
      frame.no_hot = why_not;
    }
    std::ostream& out = invocation_.world.out;
    switch (form_) {
      case Form::kRedrawn:
        screen_->Show(DrawFrame(frame, Screen::Size().ws_col, colors_));
        return;
      case Form::kFrame:
        out << DrawFrame(frame, 0, colors_);
        break;
      case Form::kLines:
        out << FrameLines(frame, TimeText());
        break;
      case Form::kJson:
        out << FrameJson(frame, UnixMilliseconds()) << '\n';
        break;
    }
    out.flush();
  }

  const Invocation& invocation_;
  MemberProbe& probe_;
  EventSampler* const sampler_;
  const Form form_;
  const Colors colors_;
  std::optional<Screen> screen_;
};

Outcome<void> RunTop(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (!invocation.args.empty()) return BadArguments("top takes no arguments");
  constexpr std::chrono::milliseconds kShortest(100);
  if (flags.Duration("interval") < kShortest)
    return BadArguments("--interval must be at least 100ms");
  if (flags.Int("hot") < 0) return BadArguments("--hot must not be negative");
  if (flags.String("separator").empty()) return BadArguments("--separator must not be empty");
  const StopSignals signals;
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  const bool once = flags.Switch("once");
  const Form form = format == "json"                   ? Form::kJson
                    : once                             ? Form::kFrame
                    : invocation.world.out_is_terminal ? Form::kRedrawn
                                                       : Form::kLines;
  // A member that is down must not hold up the others' numbers for long.
  const auto patience =
      std::max<std::chrono::nanoseconds>(2 * flags.Duration("interval"), std::chrono::seconds(2));
  MemberProbe probe(session, std::min(flags.Duration("command-timeout"), patience));
  client::Options options = session.options();
  options.on_unreachable = {};
  KV_TRY(const auto client, Session::ConnectWith(options));
  std::optional<EventSampler> sampler;
  if (flags.Int("hot") > 0)
    sampler.emplace(*client, flags.String("prefix"), flags.String("separator"),
                    flags.Duration("interval"));
  return TopRun(invocation, probe, sampler ? &*sampler : nullptr, form).Run(signals.token());
}

}  // namespace

Command TopCommand() {
  return {
      .use = "top [options]",
      .brief = "Shows the cluster's activity live",
      .description =
          R"(Shows, again and again, who leads, how far each member is behind, its reads and writes a second, the
99th percentiles of requests, log syncs and database commits, and the prefixes with the most writes.

Rates and percentiles are those of the last interval, from the members' /metrics, where that is served;
the prefixes are those of a sample of the events. On a terminal one screen is redrawn; elsewhere each
member gets a line per interval. Interrupt it to end it.
)",
      .group = kClusterGroup,
      .flags = {{"interval", FlagType::kDuration, "2s", "time between two updates"},
                {.name = "once", .help = "show one interval and exit"},
                {"hot", FlagType::kInt, "5",
                 "number of prefixes with the most writes to show (0: none, without a watch)"},
                {"prefix", FlagType::kString, "", "count only prefixes below this one"},
                {"separator", FlagType::kString, "/", "separator between the parts of a key"}},
      .run = RunTop};
}

}  // namespace kvorum::ctl
