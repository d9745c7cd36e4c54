#include "dns/catalog_directory.h"

#include <string_view>
#include <utility>

#include "base/letter_case.h"
#include "sync/agent/catalog.h"
#include "sync/informer/informer.h"

namespace kvorum::dns {
namespace {

struct InstanceCodec {
  using Value = Instance;
  static Result<Instance> Decode(std::string_view bytes) {
    KV_TRY(const sync::CatalogRecord record, sync::DecodeRecord(bytes));
    return Instance{.is_healthy = sync::HealthOfRecord(record) != sync::Health::kCritical,
                    .endpoint = ParseEndpoint(record.value)};
  }
};

constexpr const char* kByName = "name";

}  // namespace

class CatalogDirectory::Copy {
 public:
  Copy(sync::Store& store, Executor& executor, CatalogDirectoryOptions options)
      : prefix_(sync::CatalogKeys(std::move(options.root)).Services()),
        informer_(store, executor, OptionsOf(prefix_, std::move(options))) {
    // ROOT/services/NAME/NODE.ID
    (void)informer_.AddIndex(kByName, [size = prefix_.size()](const Informer::Entry& entry) {
      const std::string_view rest = entry.key().substr(size);
      return std::vector{LowerCase(std::string(rest.substr(0, rest.find('/'))))};
    });
    (void)informer_.Run();
  }

  std::int64_t revision() const { return informer_.is_listed() ? informer_.revision() : 0; }
  std::vector<Instance> Find(const std::string& name) const {
    std::vector<Instance> instances;
    const auto found = informer_.ByIndex(kByName, name);
    if (!found) return instances;
    for (const auto& entry : *found) instances.push_back(entry->value());
    return instances;
  }

 private:
  using Informer = sync::Informer<InstanceCodec>;

  static Informer::Options OptionsOf(const std::string& prefix, CatalogDirectoryOptions options) {
    Informer::Options of_informer;
    of_informer.source.prefix = prefix;
    of_informer.source.metrics = options.metrics;
    of_informer.window = 1;
    of_informer.on_report = std::move(options.on_report);
    return of_informer;
  }

  const std::string prefix_;
  Informer informer_;
};

CatalogDirectory::CatalogDirectory(sync::Store& store, Executor& executor,
                                   CatalogDirectoryOptions options)
    : copy_(std::make_unique<Copy>(store, executor, std::move(options))) {}

CatalogDirectory::~CatalogDirectory() = default;

std::int64_t CatalogDirectory::revision() const { return copy_->revision(); }

std::vector<Instance> CatalogDirectory::Find(const std::string& name) const {
  return copy_->Find(name);
}

}  // namespace kvorum::dns
