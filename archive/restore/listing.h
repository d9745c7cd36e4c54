// An archive's contents as its store lists them now, with the histories' records.
//
// Used by one thread at a time, which the store's calls block. Memory: the names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/store/object_store.h"
#include "base/error.h"

namespace kvorum::archive {

struct Listing {
  Contents contents;
  // A line for each history whose record is missing or damaged: `contents` has none for it, and so
  // does not know its parent.
  std::vector<std::string> problems;
};

// Lists the store and reads each history.json. `on_key` is called for each key, with its object's
// size; may be empty.
Result<Listing> ReadListing(
    ObjectStore& store,
    const std::function<void(std::string_view key, std::uint64_t size_bytes)>& on_key = {});

// A base without a manifest whose parts are all there counts as one that has it: the parts' headers
// say what the manifest would. Reads the beginning of one part of each such base.
Result<void> CountWholeBases(ObjectStore& store, Contents& contents);

}  // namespace kvorum::archive
