// The output of a long-running command: events as lines on the standard output (JSON objects with
// `-w json`), warnings on the error stream, and on a terminal one line that shows how things are,
// drawn anew in its place.
//
// Thread-safe. Lines are written by a separate thread, so that a reader who stops does not stop
// the command: at most kMaxLines or kMaxBytes wait for it, and as many are being written. No other
// code writes to the two streams while a reporter exists.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tools/shell/command.h"

namespace kvorum::ctl {

struct ReporterOptions {
  // A member of a JSON event; the value is encoded already (tools/text/json.h).
  using Member = std::pair<std::string, std::string>;

  bool in_json = false;
  std::vector<Member> about = {};  // in every event, behind its name
  std::string prefix = {};         // of every warning in text, such as "n1: "
  // The terminal's line; called on the reporter's thread. Null: there is none.
  std::function<std::string()> progress = {};
  std::stop_token stop = {};  // no caller waits for room after it
};

class Reporter {
 public:
  using Members = std::vector<ReporterOptions::Member>;
  static constexpr std::size_t kMaxLines = 4096;
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20U;

  Reporter(World& world, ReporterOptions options);
  // Writes what waits, as Finish does.
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  bool in_json() const { return options_.in_json; }

  // The event in the form that is asked for: {"event":NAME,...} or the text, each without the
  // line's end. Never waits: without room the line is lost, and a warning says how many were.
  void Event(std::string_view name, const Members& members, std::string text);
  // Like Event, but waits for room: for reports whose source can be held up.
  void EventWithRoom(std::string_view name, const Members& members, std::string text);
  // {"event":"error","error":TEXT}, or "Warning: TEXT" on the error stream. Never waits.
  void Warn(const std::string& text);

  // Everything has been written once it returns. A reader who has stopped is given two seconds;
  // then the process ends, with code 0: to be called last.
  void Finish();

 private:
  struct Line {
    bool is_warning = false;
    std::string text;
  };

  Line Make(std::string_view name, const Members& members, std::string text) const;
  Line MakeWarning(const std::string& text) const;
  bool HasRoom() const { return queue_.size() < kMaxLines && queued_bytes_ < kMaxBytes; }
  void Put(std::unique_lock<std::mutex>& lock, Line line);
  void Run();
  void Show(const std::vector<Line>& lines);
  void Draw();

  World& world_;
  const ReporterOptions options_;
  const bool has_progress_;
  std::string drawn_;  // the writer's: the terminal's line as it stands there

  std::mutex mutex_;                   // guards what follows
  std::condition_variable_any wake_;   // something to write, or the end
  std::condition_variable_any taken_;  // there is room, or all is written
  std::vector<Line> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t lost_lines_ = 0;
  bool finishing_ = false;
  bool has_ended_ = false;
  std::thread writer_;
};

// A key or a path in a line of text: as it is, or quoted as Go does if a terminal or a line would
// not show it so.
std::string ShownName(std::string_view name);

}  // namespace kvorum::ctl
