#include "base/failpoint/failpoint_control.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "base/failpoint/failpoint_term.h"
#include "base/log/logging.h"
#include "base/rng.h"

namespace kvorum::failpoint {
namespace {

// A name's term and the number of times it acted.
struct State {
  std::string name;
  Point* point = nullptr;
  std::mutex mutex;  // guards what follows; never held while the point acts
  std::string text;
  Term term;
  std::uint64_t count = 0;
};

// The points of the program, which are fixed once main() has begun. A name that no code passes is
// unknown: a tool that sets it learns that nothing will happen.
class Registry {
 public:
  Registry() {
    for (Point* point = LastPoint(); point != nullptr; point = point->before()) Add(*point);
  }

  Result<State*> Find(std::string_view name) {
    const auto found = states_.find(name);
    if (found == states_.end()) {
      return Fail(Code::kNotFound, "unknown failpoint \"" + std::string(name) + "\"");
    }
    return found->second.get();
  }

  std::vector<State*> All() {
    std::vector<State*> all;
    for (const auto& [name, state] : states_) all.push_back(state.get());
    return all;
  }

 private:
  void Add(Point& point) {
    std::unique_ptr<State>& state = states_[point.name()];
    KV_CHECK(state == nullptr, "a failpoint's name stands for two points");
    state = std::make_unique<State>();
    state->name = point.name();
    state->point = &point;
  }

  std::map<std::string, std::unique_ptr<State>, std::less<>> states_;
};

// First called after main() has begun. Never destroyed: points are reached until the last thread
// ends.
Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

// Counts the HTTP answers that are being sent.
struct PendingAnswers {
  std::mutex mutex;
  std::condition_variable none_left;
  int count = 0;
};
PendingAnswers& ThePendingAnswers() {
  static PendingAnswers& pending = *new PendingAnswers;
  return pending;
}

[[noreturn]] void Panic(const std::string& name) {
  {
    PendingAnswers& pending = ThePendingAnswers();
    std::unique_lock lock(pending.mutex);
    pending.none_left.wait_for(lock, std::chrono::seconds(1), [&] { return pending.count == 0; });
  }
  WriteLogBeforeExit(LogLevel::kPanic, __FILE__, __LINE__, "failpoint panic", {{"name", name}});
  std::abort();
}

void SetState(State& state, std::string_view text, Term term) {
  const std::lock_guard lock(state.mutex);
  state.text = text;
  state.term = std::move(term);
  state.count = 0;
  state.point->Arm(!state.term.empty());
}

// The term, if the point can act as it says.
Result<Term> TermFor(const State& state, std::string_view text) {
  KV_TRY(Term term, ParseTerm(text));
  const auto returns = [](const Part& part) { return part.action == Action::kReturn; };
  if (!state.point->returns() && std::ranges::any_of(term, returns)) {
    return Fail(Code::kInvalidArgument,
                "failpoint \"" + state.name + "\" has nothing that return could change");
  }
  return term;
}

Rng& ThreadRng() {
  thread_local Rng rng(EntropySeed());
  return rng;
}

std::optional<std::string> ActAt(State& state) {
  Part part;
  {
    const std::lock_guard lock(state.mutex);
    const Part* chosen = Choose(state.term, ThreadRng());
    if (chosen == nullptr || chosen->action == Action::kOff) return std::nullopt;
    ++state.count;
    part = *chosen;
  }
  switch (part.action) {
    case Action::kOff:
      return std::nullopt;
    case Action::kReturn:
      return std::move(part.value);
    case Action::kSleep:
      std::this_thread::sleep_for(part.duration);
      return std::nullopt;
    case Action::kPanic:
      Panic(state.name);
    case Action::kPrint:
      KV_INFO("failpoint print", {"name", state.name});
      return std::nullopt;
  }
  return std::nullopt;
}

class LinkedControl final : public Control {
 public:
  LinkedControl() { Install(*this); }

  std::optional<std::string> Act(const Point& point) override {
    const Result<State*> state = TheRegistry().Find(point.name());
    return state.has_value() ? ActAt(**state) : std::nullopt;
  }

  Result<void> StartFromEnvironment() override {
    if (const char* points = std::getenv("GOFAIL_FAILPOINTS"); points != nullptr) {
      KV_RETURN_IF_ERROR(SetAll(points));
    }
    if (const char* address = std::getenv("GOFAIL_HTTP"); address != nullptr && *address != '\0') {
      static std::unique_ptr<ControlServer> server;
      KV_TRY(server, ControlServer::Start(address));
    }
    return {};
  }
};

LinkedControl linked_control;

}  // namespace

AnswerPending::AnswerPending() {
  PendingAnswers& pending = ThePendingAnswers();
  const std::lock_guard lock(pending.mutex);
  ++pending.count;
}

AnswerPending::~AnswerPending() {
  PendingAnswers& pending = ThePendingAnswers();
  const std::lock_guard lock(pending.mutex);
  if (--pending.count == 0) pending.none_left.notify_all();
}

Result<void> Set(std::string_view name, std::string_view term) {
  KV_TRY(State * state, TheRegistry().Find(name));
  KV_TRY(Term parsed, TermFor(*state, term));
  SetState(*state, term, std::move(parsed));
  return {};
}

Result<void> SetAll(std::string_view assignments) {
  struct Assignment {
    State* state;
    std::string_view text;
    Term term;
  };
  std::vector<Assignment> parsed;
  while (!assignments.empty()) {
    std::size_t end = 0;
    for (bool quoted = false; end < assignments.size() && (quoted || assignments[end] != ';');
         ++end) {
      if (assignments[end] == '"') quoted = !quoted;
      if (quoted && assignments[end] == '\\' && end + 1 < assignments.size()) ++end;
    }
    const std::string_view one = assignments.substr(0, end);
    assignments.remove_prefix(std::min(assignments.size(), end + 1));
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      return Fail(Code::kInvalidArgument, "\"" + std::string(one) + "\" is not name=term");
    }
    KV_TRY(State * state, TheRegistry().Find(one.substr(0, equals)));
    const std::string_view text = one.substr(equals + 1);
    KV_TRY(Term term, TermFor(*state, text));
    parsed.push_back({state, text, std::move(term)});
  }
  for (Assignment& assignment : parsed) {
    SetState(*assignment.state, assignment.text, std::move(assignment.term));
  }
  return {};
}

Result<void> Clear(std::string_view name) {
  KV_TRY(State * state, TheRegistry().Find(name));
  SetState(*state, "", {});
  return {};
}

void ClearAll() {
  for (State* state : TheRegistry().All()) SetState(*state, "", {});
}

Result<std::uint64_t> Count(std::string_view name) {
  KV_TRY(State * state, TheRegistry().Find(name));
  const std::lock_guard lock(state->mutex);
  return state->count;
}

Result<std::string> Get(std::string_view name) {
  KV_TRY(State * state, TheRegistry().Find(name));
  const std::lock_guard lock(state->mutex);
  return state->text;
}

std::vector<std::pair<std::string, std::string>> List() {
  std::vector<std::pair<std::string, std::string>> all;
  for (State* state : TheRegistry().All()) {
    const std::lock_guard lock(state->mutex);
    all.emplace_back(state->name, state->text);
  }
  return all;
}

}  // namespace kvorum::failpoint
