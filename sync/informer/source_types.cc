#include "sync/informer/source_types.h"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "sync/informer/source.h"

namespace kvorum::sync {

// One type: the content of its prefix.
class SourceTypes::Prefix final : public SourceSink {
 public:
  Prefix(Store& store, Executor& executor, std::string type, std::string prefix,
         const SourceTypesOptions& options)
      : type_(std::move(type)),
        prefix_(std::move(prefix)),
        options_(options),
        source_(store, executor, *this,
                {.prefix = prefix_, .seed = options.seed, .metrics = options.metrics}) {}

  void Start() { source_.Start(); }
  Result<Objects> Read() const {
    const std::lock_guard lock(mutex_);
    if (is_listed_) return objects_;
    if (error_) return Fail(Code::kUnavailable, "not listed yet: " + error_->message);
    return Fail(Code::kCanceled, "not listed yet");
  }

  void OnListBegin(std::int64_t) override { listed_.clear(); }
  void OnListPage(std::vector<KeyValue> kvs) override {
    for (KeyValue& kv : kvs) Put(listed_, kv);
  }
  void OnListEnd() override {
    {
      const std::lock_guard lock(mutex_);
      // An unchanged value stays the same object, whose hash is known.
      for (auto& [name, bytes] : listed_) {
        const auto known = objects_.find(name);
        if (known != objects_.end() && *known->second == *bytes) bytes = known->second;
      }
      objects_ = std::exchange(listed_, {});
      is_listed_ = true;
      error_.reset();
    }
    Tell();
  }
  void OnRevision(std::int64_t, std::vector<Event> events) override {
    {
      const std::lock_guard lock(mutex_);
      for (Event& event : events) {
        if (event.is_delete) {
          objects_.erase(NameOf(event.kv));
        } else {
          Put(objects_, event.kv);
        }
      }
    }
    Tell();
  }
  void OnProgress(std::int64_t) override {}
  void OnError(const Error& error) override {
    {
      const std::lock_guard lock(mutex_);
      error_ = error;
    }
    if (options_.on_error != nullptr)
      options_.on_error({error.code, "type " + type_ + ": " + error.message});
  }

 private:
  std::string NameOf(const KeyValue& kv) const { return kv.key.substr(prefix_.size()); }
  void Put(Objects& objects, KeyValue& kv) const {
    objects.insert_or_assign(NameOf(kv), std::make_shared<const std::string>(std::move(kv.value)));
  }
  void Tell() const {
    if (options_.on_changed != nullptr) options_.on_changed(type_);
  }

  const std::string type_;
  const std::string prefix_;
  const SourceTypesOptions& options_;
  Objects listed_;            // the list in progress
  mutable std::mutex mutex_;  // guards what follows
  Objects objects_;
  bool is_listed_ = false;
  std::optional<Error> error_;  // the last one before the list
  Source source_;
};

SourceTypes::SourceTypes(Store& store, Executor& executor, SourceTypesOptions options)
    : options_(std::move(options)) {
  for (const auto& [type, prefix] : options_.prefixes)
    types_.emplace(type, std::make_unique<Prefix>(store, executor, type, prefix, options_));
}
SourceTypes::~SourceTypes() = default;

void SourceTypes::Start() {
  for (const auto& [type, prefix] : types_) prefix->Start();
}

void SourceTypes::Read(const std::string& type, Done done) {
  const auto place = types_.find(type);
  if (place == types_.end()) return done(Fail(Code::kNotFound, "there is no such type"));
  done(place->second->Read());
}

}  // namespace kvorum::sync
