#include "tools/sync/catalog_watch.h"

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/executor.h"
#include "sync/informer/informer_core.h"
#include "sync/store/client_store.h"

namespace kvorum::ctl {
namespace {

// That something may have changed, for the one who shows it.
class Changed {
 public:
  void Fire() {
    const std::lock_guard lock(mutex_);
    is_fired_ = true;
    wake_.notify_one();
  }
  // False: the command is to stop.
  bool Wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return wake_.wait(lock, stop, [this] { return std::exchange(is_fired_, false); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool is_fired_ = false;
};

void ShowRow(Reporter& reporter, const char* event, char mark, const CatalogRow& row) {
  Reporter::Members members;
  for (const CatalogCell& cell : row) members.emplace_back(cell.name, cell.Json());
  reporter.EventWithRoom(event, members, std::string(1, mark) + '\t' + RowText(row));
}

void ShowDifference(Reporter& reporter, const CatalogRows& before, const CatalogRows& after) {
  for (const auto& [key, row] : before) {
    if (!after.contains(key)) ShowRow(reporter, "removed", '-', row);
  }
  for (const auto& [key, row] : after) {
    const auto old = before.find(key);
    if (old == before.end())
      ShowRow(reporter, "added", '+', row);
    else if (old->second != row)
      ShowRow(reporter, "changed", '~', row);
  }
}

sync::InformerCore::Make MakeOf(const CatalogWatch& watch) {
  return [&watch](sync::KeyValue&& kv) -> Result<sync::ObjectRef> {
    if (watch.check) {
      const std::string_view rest = std::string_view(kv.key).substr(watch.prefix.size());
      KV_RETURN_IF_ERROR(watch.check(rest, kv.value));
    }
    return sync::ObjectRef(sync::TypedObject<std::string>::Make(kv, kv.value));
  };
}

}  // namespace

Outcome<void> WatchCatalog(LongRun& run, const CatalogWatch& watch) {
  KV_TRY(const auto client, run.session().Connect());
  Changed changed;
  ThreadExecutor executor("catalog");
  sync::ClientStore store(*client);
  sync::InformerOptions options;
  options.source = {.prefix = watch.prefix, .metrics = &run.metrics()};
  options.window = 1;
  options.on_report = [&](const std::string& text) { run.reporter().Warn(text); };
  sync::InformerCore informer(store, executor, options, MakeOf(watch));
  KV_TRY(const auto listener,
         OfThisMachine(informer.AddListener({.name = "catalog"},
                                            [&](const sync::Notification&) { changed.Fire(); })));
  KV_RETURN_IF_ERROR(OfThisMachine(informer.Run()));
  CatalogRows shown;
  while (changed.Wait(run.token())) {
    CatalogRows rows = watch.rows(informer.Objects());
    ShowDifference(run.reporter(), shown, rows);
    shown = std::move(rows);
  }
  informer.Stop();
  return {};
}

}  // namespace kvorum::ctl
