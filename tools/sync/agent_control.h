// The agent's side of the commands that ask it through its control socket (agent_ask.cc), and how
// it is, for them and for the terminal.
//
//   register {"entry":ENTRY}, deregister {"id"}, list {"all"}, check
//   {"id","check","status","output"}, pause, resume, sync, reload, status, leave
//
// Threading: handlers run one at a time, Synced and Failed on any thread; Status is thread-safe.
// The objects that Parts names outlive this.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "sync/agent/syncer.h"
#include "sync/checks/check_runner.h"
#include "tools/run/control.h"

namespace kvorum::ctl {

class AgentControl {
 public:
  struct Parts {
    std::string node;
    sync::Syncer& syncer;
    sync::CheckRunner& checks;
    const Clock& clock;
    // Reads the folder of services, and answers with what changed. Null: there is none.
    std::function<Result<sync::Json>()> reload;
    // The keys are gone: the command is to end.
    std::function<void()> on_left;
  };
  explicit AgentControl(Parts parts) : parts_(std::move(parts)) {}
  AgentControl(const AgentControl&) = delete;
  AgentControl& operator=(const AgentControl&) = delete;
  // Lets go of a pause.
  ~AgentControl();

  ControlHandlers Handlers();
  // A full sync has succeeded, or something failed: callers that wait for a full sync that began
  // after the request are answered.
  void Synced();
  void Failed(const Error& error);

  sync::Json Status() const;

 private:
  // Adds what is answered at once.
  void Answer(ControlHandlers& handlers, const std::string& command,
              Result<sync::Json> (AgentControl::*handle)(const sync::Json& request));
  Result<sync::Json> Register(const sync::Json& request);
  Result<sync::Json> Deregister(const sync::Json& request);
  Result<sync::Json> Check(const sync::Json& request);
  Result<sync::Json> PauseNow(const sync::Json& request);
  Result<sync::Json> Resume(const sync::Json& request);
  Result<sync::Json> Reload(const sync::Json& request);
  void List(const sync::Json& request, ControlReply reply);
  void Sync(ControlReply reply);
  void Leave(ControlReply reply);
  // Those who wait for the full pass that has ended, or for an earlier one.
  std::vector<ControlReply> TakeWaiting();

  struct Waiting {
    ControlReply reply;
    std::uint64_t passes;  // that had begun when it came
  };
  const Parts parts_;
  mutable std::mutex mutex_;  // guards what follows
  bool is_paused_ = false;
  std::vector<Waiting> waiting_;
};

// The agent's state in a line: for the terminal and for `agent status`.
std::string StatusLine(const sync::Json& status);

}  // namespace kvorum::ctl
