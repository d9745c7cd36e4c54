// Puts keys into a cluster in batches, each one transaction into which no other client's change can
// slip: what a key is before is read, compared and replaced in one step.
//
// Used by one thread. Keys whose value is there already are left alone, so a run that was cut off
// at any point is finished by another one. A batch whose answer is lost is read again.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "client/client.h"
#include "tools/carry/export_format.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

struct ImportRules {
  // Keys that exist with another value.
  enum class Existing : std::uint8_t { kRefuse, kOverwrite, kKeep };
  // Keys that had a lease: left out, put without one, or put with the same one, granted anew.
  enum class Leased : std::uint8_t { kSkip, kPlain, kGrant };

  Existing existing = Existing::kRefuse;
  Leased leased = Leased::kSkip;
  bool dry_run = false;
};

struct ImportCounts {
  std::uint64_t created = 0;
  std::uint64_t changed = 0;
  std::uint64_t equal = 0;    // were there already
  std::uint64_t kept = 0;     // have another value
  std::uint64_t skipped = 0;  // had a lease

  std::uint64_t All() const { return created + changed + equal + kept + skipped; }
};

class KeyImport {
 public:
  // `call` makes the options of each call. The client outlives the import.
  KeyImport(client::Client& client, const ImportRules& rules,
            std::function<client::CallOptions()> call);

  // The keys of a batch are all different. An error means that the batch may be there in part.
  Outcome<void> Put(std::span<const ExportedKey> batch);

  const ImportCounts& counts() const { return counts_; }

 private:
  struct Step;
  Outcome<void> PutAttached(std::span<const ExportedKey> batch);
  Result<Step> Plan(std::span<const ExportedKey> batch);
  Outcome<void> GrantLeases(std::span<const ExportedKey> batch);

  client::Client& client_;
  const ImportRules rules_;
  const std::function<client::CallOptions()> call_;
  ImportCounts counts_;
  std::set<std::int64_t> granted_;
};

}  // namespace kvorum::ctl
