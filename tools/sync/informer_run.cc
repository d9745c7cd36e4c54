#include "tools/sync/informer_run.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/base64.h"
#include "sync/informer/informer.h"
#include "sync/store/client_store.h"
#include "tools/carry/change_queue.h"
#include "tools/run/exec_counts.h"
#include "tools/run/long_run.h"
#include "tools/shell/exec_thread.h"
#include "tools/sync/told_keys.h"
#include "tools/text/json_index.h"

namespace kvorum::ctl {
namespace {

using sync::Json;
using BytesInformer = sync::Informer<sync::BytesCodec>;
using Entry = BytesInformer::Entry;

const Entry& AsEntry(const sync::ObjectRef& object) { return static_cast<const Entry&>(*object); }

enum class Values : std::uint8_t { kShown, kLeftOut };

Json ObjectOf(const sync::Object& object, Values values) {
  Json json;
  sync::SetBytes(json, "key", std::string(object.key()));
  if (values == Values::kShown)
    sync::SetBytes(json, "value", std::string(static_cast<const Entry&>(object).value()));
  json["create_revision"] = object.create_revision();
  json["mod_revision"] = object.mod_revision();
  json["version"] = object.version();
  json["lease"] = object.lease();
  return json;
}

struct Told {
  std::string_view name;
  sync::ObjectRef object;  // the newest there is, or was
};
Told Describe(const sync::ObjectRef& before, const sync::ObjectRef& after) {
  if (!before) return {.name = "add", .object = after};
  if (!after) return {.name = "delete", .object = before};
  return {.name = before == after ? "resync" : "update", .object = after};
}

// Tells each change as a line.
class ChangeLines {
 public:
  explicit ChangeLines(Reporter& reporter) : reporter_(reporter) {}

  void Tell(const sync::Notification& notification) {
    const Told told = Describe(notification.before, notification.after);
    reporter_.EventWithRoom(
        told.name, reporter_.in_json() ? MembersOf(notification, told) : Reporter::Members(),
        std::string(told.name) + " " + ShownName(told.object->key()));
  }

 private:
  static Reporter::Members MembersOf(const sync::Notification& notification, const Told& told) {
    Json json;
    sync::SetBytes(json, "key", std::string(told.object->key()));
    sync::SetBytes(json, "value", std::string(AsEntry(told.object).value()));
    json["mod_revision"] = told.object->mod_revision();
    if (notification.is_initial) json["initial"] = true;
    Reporter::Members members;
    for (const auto& [name, value] : json.items()) members.emplace_back(name, ControlText(value));
    return members;
  }

  Reporter& reporter_;
};

// Runs the program for each change, and for the newest alone of a key that changes meanwhile. A
// change whose run failed is delivered again, together with the key's state by then. With a list
// of reported keys the next start delivers the deletions that were missed.
class ChangeProgram {
 public:
  ChangeProgram(const std::string& command, const World& world, LongRun& run,
                std::unique_ptr<ToldKeys> told)
      : reporter_(run.reporter()),
        counts_(run.metrics()),
        told_(std::move(told)),
        thread_(command, world.environment, run.reporter(),
                {.next = [this] { return Next(); },
                 .ended = [this](bool is_ok) { Ended(is_ok); },
                 .retry = [this] { Retry(); }}) {}

  void Put(const sync::Notification& notification) {
    const sync::Change change{.before = notification.before, .after = notification.after};
    bool is_kept = false;
    {
      const std::lock_guard lock(mutex_);
      // A failed change is delivered with later changes, and at once: the command may work again.
      const auto failed = failed_.TakeOf(KeyOf(change));
      if (failed) queue_.Return(*failed);
      is_kept = queue_.Put(change);
      // It came and went here, but an earlier process has reported it.
      if (is_kept && !change.after && !queue_.Has(KeyOf(change)) && WasTold(KeyOf(change)))
        is_kept = queue_.Put(change);
    }
    if (!is_kept) WarnForgotten(change);
    thread_.Wake();
  }
  // Once, when all objects of the first list have been put: a reported key that is not among them
  // is gone. Its last value is not known any more.
  void PutGone(const std::function<bool(const std::string& key)>& exists) {
    if (told_ == nullptr) return;
    std::vector<std::string> gone;
    {
      const std::lock_guard lock(told_mutex_);
      for (const std::string& key : told_->keys()) {
        if (!exists(key)) gone.push_back(key);
      }
    }
    for (const std::string& key : gone)
      Put({.before = Entry::Make({.key = key}, ""), .after = nullptr});
  }

 private:
  static std::string KeyOf(const sync::Change& change) {
    return std::string((change.after ? change.after : change.before)->key());
  }
  void WarnForgotten(const sync::Change& change) {
    reporter_.Warn(ShownName(KeyOf(change)) + ": --exec: skipped, too many deletions are waiting");
  }

  void Ended(bool is_ok) {
    const auto change = std::exchange(running_, std::nullopt);
    bool is_kept = true;
    std::size_t waiting = 0;
    {
      const std::lock_guard lock(mutex_);
      // A key is in one of the two: changes that came while the program ran are delivered with the
      // failed one.
      if (!is_ok && change)
        is_kept = (queue_.Has(KeyOf(*change)) ? queue_ : failed_).Return(*change);
      waiting = failed_.size();
    }
    counts_.Ended(is_ok, waiting);
    if (!is_kept) WarnForgotten(*change);
    if (is_ok && change && !change->after) Remember(&ToldKeys::Remove, KeyOf(*change));
  }

  void Retry() {
    counts_.Due();
    const std::lock_guard lock(mutex_);
    while (const auto change = failed_.Take()) queue_.Return(*change);
  }

  bool WasTold(const std::string& key) {
    if (told_ == nullptr) return false;
    const std::lock_guard lock(told_mutex_);
    return told_->keys().contains(key);
  }
  void Remember(Result<void> (ToldKeys::*note)(const std::string& key), const std::string& key) {
    if (told_ == nullptr) return;
    const std::lock_guard lock(told_mutex_);
    if (const auto noted = ((*told_).*note)(key); !noted)
      reporter_.Warn(ShownName(key) + ": --state: " + noted.error().message);
  }

  std::optional<ExecRun> Next() {
    {
      const std::lock_guard lock(mutex_);
      running_ = queue_.Take();
    }
    if (!running_) return std::nullopt;
    if (running_->after) Remember(&ToldKeys::Add, KeyOf(*running_));
    const Told told = Describe(running_->before, running_->after);
    const std::string key(told.object->key());
    ExecRun run{.about = ShownName(key), .input = std::string(AsEntry(told.object).value())};
    run.environment = {
        "KVORUM_EVENT=" + std::string(told.name),
        "KVORUM_KEY_BASE64=" + EncodeBase64(Base64::kStandard, key),
        "KVORUM_MOD_REVISION=" + std::to_string(told.object->mod_revision()),
        // The environment has no zero bytes: what stands before one would be another key.
        "KVORUM_KEY=" + (key.find('\0') == std::string::npos ? key : std::string())};
    return run;
  }

  Reporter& reporter_;
  ExecCounts counts_;  // the thread's
  std::mutex mutex_;
  ChangeQueue queue_;                    // guarded by the mutex
  ChangeQueue failed_;                   // guarded by the mutex; until the pause is over
  std::optional<sync::Change> running_;  // the thread's
  std::mutex told_mutex_;
  const std::unique_ptr<ToldKeys> told_;  // guarded by its mutex; null: nothing is remembered
  ExecThread thread_;
};

// Answers the control socket's requests, on the informer's executor.
class Answers {
 public:
  Answers(BytesInformer& informer, std::string prefix)
      : informer_(informer), prefix_(std::move(prefix)) {}

  ControlHandlers Handlers() {
    ControlHandlers handlers;
    handlers["get"] = [this](const Json& request, ControlReply reply) {
      Get(request, std::move(reply));
    };
    handlers["list"] = [this](const Json& request, ControlReply reply) {
      List(request, std::move(reply));
    };
    handlers["status"] = [this](const Json&, ControlReply reply) { Status(std::move(reply)); };
    return handlers;
  }

 private:
  static bool IsSet(const Json& request, const std::string& name) {
    const auto found = request.find(name);
    return found != request.end() && found->is_boolean() && found->get<bool>();
  }
  // False, and answered, before there is a copy.
  bool CheckListed(ControlReply& reply) const {
    if (informer_.is_listed()) return true;
    reply.Fail("the first list has not come yet");
    return false;
  }
  static void AnswerGet(ControlReply& reply, std::int64_t revision, const sync::ObjectRef& object) {
    Json answer{{"revision", revision}};
    if (object) answer["kv"] = ObjectOf(*object, Values::kShown);
    reply.Ok(answer);
  }

  void Get(const Json& request, ControlReply reply) {
    auto key = sync::BytesOf(request, "key");
    if (!key) return reply.Fail(key.error().message);
    if (!key->starts_with(prefix_))
      return reply.Fail("the key does not begin with the informer's prefix " + prefix_);
    if (IsSet(request, "consistent")) {
      return informer_.core().ConsistentGet(
          *std::move(key), [this, reply = std::move(reply)](Result<sync::ObjectRef> got) mutable {
            if (!got) return reply.Fail(got.error().message);
            AnswerGet(reply, informer_.revision(), *got);
          });
    }
    if (CheckListed(reply)) AnswerGet(reply, informer_.revision(), informer_.core().Get(*key));
  }

  void List(const Json& request, ControlReply reply) {
    if (!CheckListed(reply)) return;
    const Values values = IsSet(request, "keys_only") ? Values::kLeftOut : Values::kShown;
    if (!request.contains("index")) {
      return reply.Stream(
          [values, at = informer_.core().Objects().Begin()]() mutable -> std::optional<Json> {
            if (at.get() == nullptr) return std::nullopt;
            Json item = ObjectOf(*at.get(), values);
            at.Next();
            return item;
          });
    }
    const auto index = sync::StringOf(request, "index");
    const auto value = sync::StringOf(request, "value");
    if (!index || !value) return reply.Fail((index ? value : index).error().message);
    auto objects = informer_.core().ByIndex(*index, *value);
    if (!objects) return reply.Fail(objects.error().message);
    reply.Stream([values, objects = *std::move(objects),
                  at = std::size_t{0}]() mutable -> std::optional<Json> {
      if (at == objects.size()) return std::nullopt;
      return ObjectOf(*std::exchange(objects[at++], nullptr), values);
    });
  }

  void Status(ControlReply reply) const {
    Json status;
    sync::SetBytes(status, "prefix", prefix_);
    status["listed"] = informer_.is_listed();
    status["revision"] = informer_.revision();
    status["objects"] = informer_.List().size();
    reply.Ok(status);
  }

  BytesInformer& informer_;
  const std::string prefix_;
};

Outcome<std::vector<JsonIndex>> IndexesOf(const FlagSet& flags) {
  std::vector<JsonIndex> indexes;
  std::set<std::string> names;
  for (const std::string& text : flags.Strings("index")) {
    auto index = ParseJsonIndex(text);
    if (!index) return BadArguments("--index " + index.error().message);
    if (!names.insert(index->name).second)
      return BadArguments("--index has the name \"" + index->name + "\" twice");
    indexes.push_back(*std::move(index));
  }
  return indexes;
}

Outcome<std::unique_ptr<ToldKeys>> OpenMemory(const FlagSet& flags, const std::string& prefix) {
  const std::string& path = flags.String("state");
  if (path.empty()) return nullptr;
  if (flags.String("exec").empty()) return BadArguments("--state is for --exec");
  return OfThisMachine(ToldKeys::Open(path, prefix));
}

// The numbers of the terminal's line, as of the last change.
struct InformerCounts {
  std::atomic<std::int64_t> changes = 0;
  std::atomic<std::size_t> objects = 0;
  std::atomic<std::int64_t> revision = 0;  // 0: there is no copy yet

  void Take(const BytesInformer& informer) {
    objects = informer.List().size();
    revision = informer.revision();
  }
  std::string Line(const std::string& prefix) const {
    if (revision == 0) return prefix + ": listing";
    return prefix + ": " + std::to_string(objects) + " objects at revision " +
           std::to_string(revision) + ", " + std::to_string(changes) + " changes";
  }
};

}  // namespace

Outcome<void> RunInformer(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (invocation.args.size() != 1) return BadArguments("informer run takes one prefix");
  const std::string prefix = invocation.args.front();
  KV_TRY(const auto indexes, IndexesOf(flags));
  if (flags.Duration("resync") < std::chrono::nanoseconds::zero())
    return BadArguments("--resync is below zero");
  InformerCounts counts;
  const std::string shown_prefix = prefix.empty() ? "all keys" : ShownName(prefix);
  KV_TRY(const auto run, LongRun::Open(invocation, {.progress = [&counts, shown_prefix] {
                                         return counts.Line(shown_prefix);
                                       }}));
  KV_TRY(auto told, OpenMemory(flags, prefix));
  KV_TRY(const auto client, run->session().Connect());
  Reporter& reporter = run->reporter();

  ThreadExecutor executor("informer");
  sync::ClientStore store(*client);
  BytesInformer::Options options;
  options.source.prefix = prefix;
  options.source.metrics = &run->metrics();
  options.resync = flags.Duration("resync");
  options.on_report = [&reporter](const std::string& text) { reporter.Warn(text); };
  std::unique_ptr<ChangeProgram> program;
  if (!flags.String("exec").empty())
    program = std::make_unique<ChangeProgram>(flags.String("exec"), invocation.world, *run,
                                              std::move(told));
  ChangeLines lines(reporter);
  BytesInformer informer(store, executor, options);
  for (const JsonIndex& index : indexes) {
    KV_RETURN_IF_ERROR(OfThisMachine(informer.AddIndex(
        index.name, [&index](const Entry& entry) { return IndexEntries(index, entry.value()); })));
  }
  const auto on_synced = [&] {
    counts.Take(informer);
    const std::string objects = std::to_string(counts.objects);
    const std::string revision = std::to_string(counts.revision);
    reporter.EventWithRoom("synced", {{"objects", objects}, {"revision", revision}},
                           "synced: " + objects + " objects at revision " + revision);
  };
  KV_TRY([[maybe_unused]] const auto shown,
         OfThisMachine(informer.core().AddListener({.name = "lines", .on_synced = on_synced},
                                                   [&](const sync::Notification& notification) {
                                                     ++counts.changes;
                                                     counts.Take(informer);
                                                     lines.Tell(notification);
                                                   })));
  if (program != nullptr) {
    const auto on_put = [&] {
      program->PutGone([&](const std::string& key) { return bool{informer.core().Get(key)}; });
    };
    KV_TRY([[maybe_unused]] const auto executed,
           OfThisMachine(informer.core().AddListener(
               {.name = "exec", .on_synced = on_put},
               [&](const sync::Notification& notification) { program->Put(notification); })));
  }
  KV_RETURN_IF_ERROR(OfThisMachine(informer.Run()));
  Answers answers(informer, prefix);
  KV_RETURN_IF_ERROR(run->Serve(executor, answers.Handlers()));
  run->WaitForStop();
  run->StopServing();
  informer.Stop();
  return {};
}

std::vector<Flag> InformerRunFlags() {
  return {{"index", FlagType::kStrings, "", "name=json-pointer: an index for `informer list --by`"},
          {"resync", FlagType::kDuration, "0s",
           "interval at which every object is reported again (0: never)"},
          {"exec", FlagType::kString, "", "run this shell command for each change"},
          {"state", FlagType::kString, "",
           "state file: the next start runs the command of --exec for keys deleted meanwhile, too"},
          LongRun::ServedSocketFlag(),
          LongRun::MetricsFlag()};
}

}  // namespace kvorum::ctl
