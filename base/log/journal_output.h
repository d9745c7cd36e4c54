// systemd's journal as a destination of log lines, by its own protocol: each line is an entry with
// MESSAGE, PRIORITY, PACKAGE (the folder of the source file) and SYSLOG_IDENTIFIER.
//
// Used by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log/log_output.h"

namespace kvorum {

inline constexpr char kJournalSocket[] = "/run/systemd/journal/socket";

class JournalOutput final : public LogOutput {
 public:
  // Fails where no journal listens.
  static Result<std::unique_ptr<LogOutput>> Open(const std::string& socket_path);
  ~JournalOutput() override;

  // A line that the journal does not take goes to stderr.
  void Write(std::string_view lines) override;

 private:
  explicit JournalOutput(int descriptor);

  bool Send(std::string_view line) const;

  int descriptor_;
  std::string identifier_;
};

// The level's number in syslog(3) and the caller's folder of a line as FormatLogLine writes it.
struct JournalFields {
  int priority = 6;
  std::string_view package;
};
JournalFields JournalFieldsOf(std::string_view line);

}  // namespace kvorum
