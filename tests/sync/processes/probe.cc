// Follows a prefix of a real server, for tests: says in lines what the source, or the informer,
// delivers, and takes commands from standard input.
//
//   sync-probe ENDPOINT[,ENDPOINT...] PREFIX [USER PASSWORD]
//   sync-probe --source-alone ENDPOINT[,ENDPOINT...] PREFIX
//
//   list R | page N | listed | rev R +KEY -KEY ... | progress R | error TEXT
//   wait R -> reached R | refused TEXT         get KEY -> got KEY R | got KEY nothing | failed TEXT
//   tell changes -> told +KEY VALUE | told KEY OLD NEW | told -KEY LAST, of all keys and from then
//   on
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "sync/informer/informer.h"
#include "sync/informer/source.h"
#include "sync/store/client_store.h"
#include "tests/sync/processes/probe_client.h"

namespace kvorum::sync {
namespace {

class Speaker final : public SourceSink {
 public:
  void OnListBegin(std::int64_t revision) override { Say("list " + std::to_string(revision)); }
  void OnListPage(std::vector<KeyValue> kvs) override { Say("page " + std::to_string(kvs.size())); }
  void OnListEnd() override { Say("listed"); }
  void OnRevision(std::int64_t revision, std::vector<Event> events) override {
    std::string line = "rev " + std::to_string(revision);
    for (const Event& event : events) line += (event.is_delete ? " -" : " +") + event.kv.key;
    Say(line);
  }
  void OnProgress(std::int64_t revision) override { Say("progress " + std::to_string(revision)); }
  void OnError(const Error& error) override { Say("error " + error.message); }
};

void Get(Informer<BytesCodec>& informer, const std::string& key) {
  const auto got = informer.ConsistentGet(key, std::chrono::seconds(60));
  if (!got) return Say("failed " + got.error().message);
  Say("got " + key + (*got ? " " + std::to_string((*got)->mod_revision()) : " nothing"));
}

void Tell(Informer<BytesCodec>& informer) {
  const auto text = [](const auto& entry) {
    return std::string(entry->key()) + " " + std::string(entry->value());
  };
  const auto added = informer.AddListener(
      {.name = "probe"},
      {.on_add = [text](const auto& entry, bool) { Say("told +" + text(entry)); },
       .on_update =
           [text](const auto& before, const auto& after) {
             Say("told " + text(before) + " " + std::string(after->value()));
           },
       .on_delete = [text](const auto& last) { Say("told -" + text(last)); }});
  if (!added) Say("failed " + added.error().message);
}

void Wait(Source& source, std::int64_t revision) {
  source.WaitForRevision(revision, [revision](Result<void> reached) {
    Say(reached ? "reached " + std::to_string(revision) : "refused " + reached.error().message);
  });
}

int RunProbe(const std::vector<std::string>& arguments, bool source_alone) {
  client::Options options;
  std::istringstream endpoints(arguments[0]);
  for (std::string endpoint; std::getline(endpoints, endpoint, ',');)
    options.endpoints.push_back(endpoint);
  if (arguments.size() == 4) {
    options.user = arguments[2];
    options.password = arguments[3];
  }
  const auto client = client::Client::Connect(options);
  if (!client) {
    Say("error " + client.error().message);
    return 1;
  }
  ClientStore store(**client);
  ThreadExecutor executor("probe");
  Speaker speaker;
  Source source(store, executor, speaker,
                {.prefix = arguments[1], .page_keys = 100, .with_previous = true});
  Informer<BytesCodec>::Options informer_options;
  informer_options.source.prefix = arguments[1];
  Informer<BytesCodec> informer(store, executor, std::move(informer_options));
  source.Start();
  if (!source_alone && !informer.Run()) return 1;
  std::string verb;
  std::string what;
  while (std::cin >> verb >> what) {
    if (verb == "wait") Wait(source, std::stoll(what));
    if (verb == "get") Get(informer, what);
    if (verb == "tell") Tell(informer);
  }
  informer.Stop();
  source.Stop();
  return 0;
}

}  // namespace
}  // namespace kvorum::sync

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool source_alone = !arguments.empty() && arguments.front() == "--source-alone";
  if (source_alone) arguments.erase(arguments.begin());
  if (arguments.size() != 2 && arguments.size() != 4) return 2;
  return kvorum::sync::RunProbe(arguments, source_alone);
}
