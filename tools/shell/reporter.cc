#include "tools/shell/reporter.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ostream>

#include "base/text/go_quote.h"
#include "base/utf8.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

constexpr std::chrono::milliseconds kDrawInterval(200);
constexpr std::chrono::seconds kFinishPatience(2);

// A longer line would wrap, and could not be drawn over.
std::string Fitting(std::string line) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && line.size() >= size.ws_col)
    line.resize(size.ws_col - 1U);
  return line;
}

}  // namespace

std::string ShownName(std::string_view name) {
  const bool is_plain =
      !name.empty() && IsValidUtf8(name) &&
      std::ranges::none_of(name, [](unsigned char c) { return c < ' ' || c == '"' || c == 0x7f; });
  return is_plain ? std::string(name) : GoQuote(name);
}

Reporter::Reporter(World& world, ReporterOptions options)
    : world_(world),
      options_(std::move(options)),
      has_progress_(world.err_is_terminal && !options_.in_json && options_.progress != nullptr),
      writer_([this] { Run(); }) {}

Reporter::~Reporter() { Finish(); }

Reporter::Line Reporter::Make(std::string_view name, const Members& members,
                              std::string text) const {
  if (!in_json()) return {.text = std::move(text)};
  JsonObject object;
  object.Add("event", JsonString(name));
  for (const auto& [key, value] : options_.about) object.Add(key, value);
  for (const auto& [key, value] : members) object.Add(key, value);
  return {.text = object.Finish()};
}

Reporter::Line Reporter::MakeWarning(const std::string& text) const {
  if (in_json()) return Make("error", {{"error", JsonString(text)}}, {});
  return {.is_warning = true, .text = "Warning: " + options_.prefix + text};
}

void Reporter::Put(std::unique_lock<std::mutex>& lock, Line line) {
  if (!HasRoom()) {
    ++lost_lines_;
    return;
  }
  queued_bytes_ += line.text.size();
  queue_.push_back(std::move(line));
  lock.unlock();
  wake_.notify_one();
}

void Reporter::Event(std::string_view name, const Members& members, std::string text) {
  Line line = Make(name, members, std::move(text));
  std::unique_lock lock(mutex_);
  Put(lock, std::move(line));
}

void Reporter::EventWithRoom(std::string_view name, const Members& members, std::string text) {
  Line line = Make(name, members, std::move(text));
  std::unique_lock lock(mutex_);
  taken_.wait(lock, options_.stop, [this] { return HasRoom(); });
  Put(lock, std::move(line));
}

void Reporter::Warn(const std::string& text) {
  Line line = MakeWarning(text);
  std::unique_lock lock(mutex_);
  Put(lock, std::move(line));
}

void Reporter::Finish() {
  if (!writer_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    finishing_ = true;
    wake_.notify_one();
    if (!taken_.wait_for(lock, kFinishPatience, [this] { return has_ended_; }))
      std::_Exit(EXIT_SUCCESS);
  }
  writer_.join();
}

void Reporter::Run() {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return finishing_ || !queue_.empty(); };
  while (true) {
    if (has_progress_)
      wake_.wait_for(lock, kDrawInterval, has_work);
    else
      wake_.wait(lock, has_work);
    std::vector<Line> lines = std::exchange(queue_, {});
    if (const std::uint64_t lost = std::exchange(lost_lines_, 0); lost > 0)
      lines.push_back(
          MakeWarning(std::to_string(lost) + " lines were lost: the reader did not keep up"));
    queued_bytes_ = 0;
    const bool is_last = finishing_;
    lock.unlock();
    taken_.notify_all();
    Show(lines);
    lock.lock();
    if (is_last && queue_.empty()) break;
  }
  if (!drawn_.empty()) world_.err << std::endl;
  has_ended_ = true;
  taken_.notify_all();
}

void Reporter::Show(const std::vector<Line>& lines) {
  if (!lines.empty() && !drawn_.empty()) {
    world_.err << "\r\x1b[K" << std::flush;
    drawn_.clear();
  }
  for (const Line& line : lines) (line.is_warning ? world_.err : world_.out) << line.text << '\n';
  if (!lines.empty()) {
    world_.out.flush();
    world_.err.flush();
  }
  if (has_progress_) Draw();
}

void Reporter::Draw() {
  std::string line = Fitting(options_.progress());
  if (line == drawn_) return;
  world_.err << '\r' << line << "\x1b[K" << std::flush;
  drawn_ = std::move(line);
}

}  // namespace kvorum::ctl
