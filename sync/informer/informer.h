// A cached copy of a prefix, kept equal to the store, with handlers that are called for every
// change:
//
//   Informer<JsonCodec> pods(store, executor, {.source = {.prefix = "/pods/"}});
//   pods.AddListener({.name = "log"}, {.on_add = [](const auto& pod, bool initial) { ... }});
//   pods.Run();
//
// Threads, errors and bounds are those of InformerCore. Handlers see each key's values in the order
// of their revisions; which of them a slow listener sees is its overflow policy's to say.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sync/informer/informer_core.h"
#include "sync/store/codec.h"

namespace kvorum::sync {

template <Codec C>
class Informer {
 public:
  using Value = typename C::Value;
  using Entry = TypedObject<Value>;
  using EntryRef = Ref<const Entry>;

  struct Options : InformerOptions {
    // Runs once for each value that is stored, before the filter.
    std::function<Value(std::string_view key, Value value)> transform = nullptr;
    // False: the key is not kept. A change across it is an add or a delete.
    std::function<bool(std::string_view key, const Value& value)> filter = nullptr;
  };

  // Null ones are not called.
  struct Handler {
    std::function<void(const EntryRef& added, bool is_initial)> on_add = nullptr;
    // Both are the same entry if a resync delivers it.
    std::function<void(const EntryRef& before, const EntryRef& after)> on_update = nullptr;
    std::function<void(const EntryRef& last)> on_delete = nullptr;
  };

  Informer(Store& store, Executor& executor, Options options)
      : core_(store, executor, options,
              MakeOf(std::move(options.transform), std::move(options.filter))) {}

  Result<void> Run() { return core_.Run(); }
  void Stop() { core_.Stop(); }

  Result<ListenerHandle> AddListener(ListenerOptions options, Handler handler) {
    return core_.AddListener(std::move(options), [handler = std::move(handler)](
                                                     const Notification& notification) {
      switch (notification.kind) {
        case Notification::Kind::kAdd:
          if (handler.on_add)
            handler.on_add(Lent(notification.after).entry(), notification.is_initial);
          return;
        case Notification::Kind::kUpdate:
          if (handler.on_update)
            handler.on_update(Lent(notification.before).entry(), Lent(notification.after).entry());
          return;
        case Notification::Kind::kDelete:
          if (handler.on_delete) handler.on_delete(Lent(notification.before).entry());
          return;
      }
    });
  }

  Result<void> AddIndex(const std::string& name,
                        std::function<std::vector<std::string>(const Entry& entry)> function) {
    return core_.AddIndex(name, [function = std::move(function)](const Object& object) {
      return function(static_cast<const Entry&>(object));
    });
  }
  Result<std::vector<EntryRef>> ByIndex(std::string_view name, std::string_view value) const {
    KV_TRY(const auto objects, core_.ByIndex(name, value));
    std::vector<EntryRef> entries;
    for (const ObjectRef& object : objects) entries.push_back(Typed(object));
    return entries;
  }
  Result<std::vector<std::string>> IndexValues(std::string_view name) const {
    return core_.IndexValues(name);
  }

  EntryRef Get(std::string_view key) const { return Typed(core_.Get(key)); }
  // Never older than a put that had returned before the call.
  Result<EntryRef> ConsistentGet(std::string key, Duration timeout) {
    KV_TRY(const ObjectRef object, core_.ConsistentGet(std::move(key), timeout));
    return Typed(object);
  }

  // An immutable set of entries in order of their keys.
  class View {
   public:
    explicit View(ObjectMap objects) : objects_(std::move(objects)) {}
    std::size_t size() const { return objects_.size(); }
    EntryRef Get(std::string_view key) const { return Typed(objects_.Find(key)); }
    template <class Visit>  // void(const Entry&)
    void ForEach(Visit visit) const {
      for (auto place = objects_.Begin(); place.get() != nullptr; place.Next())
        visit(static_cast<const Entry&>(*place.get()));
    }

   private:
    ObjectMap objects_;
  };
  View List() const { return View(core_.Objects()); }
  // kOutOfRange: the revision is older than the window, or still to come.
  Result<View> Snapshot(std::int64_t revision) const {
    KV_TRY(ObjectMap objects, core_.Snapshot(revision));
    return View(std::move(objects));
  }

  bool is_listed() const { return core_.is_listed(); }
  std::int64_t revision() const { return core_.revision(); }
  InformerCore& core() { return core_; }

 private:
  static EntryRef Typed(const ObjectRef& object) {
    return EntryRef::Share(static_cast<const Entry*>(object.get()));
  }

  // An object as a typed one for as long as a handler runs, without counting it.
  class Lent {
   public:
    explicit Lent(const ObjectRef& object)
        : entry_(EntryRef::Adopt(static_cast<const Entry*>(object.get()))) {}
    ~Lent() { entry_.Detach(); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    const EntryRef& entry() const { return entry_; }

   private:
    EntryRef entry_;
  };

  static InformerCore::Make MakeOf(decltype(Options::transform) transform,
                                   decltype(Options::filter) filter) {
    return [transform = std::move(transform),
            filter = std::move(filter)](KeyValue&& kv) -> Result<ObjectRef> {
      KV_TRY(Value value, C::Decode(kv.value));
      if (transform) value = transform(kv.key, std::move(value));
      if (filter && !filter(kv.key, value)) return ObjectRef();
      return ObjectRef(Entry::Make(kv, std::move(value)));
    };
  }

  InformerCore core_;
};

}  // namespace kvorum::sync
