// Reads a base: the image in its parts, each checked by its CRCs and SHA-256, the whole by its
// size and SHA-256. The manifest, where there is one, must agree with the parts' headers; a missing
// one is made up for by them.
//
// Used by one thread at a time, which the store's calls block. Memory: two parts.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "archive/format/names.h"
#include "archive/format/records.h"
#include "archive/restore/object_reads.h"
#include "archive/restore/read_ahead.h"
#include "archive/store/object_store.h"
#include "base/error.h"

namespace kvorum::archive {

struct BaseToRead {
  HistoryId history = 0;
  BaseName name;
  // False: the manifest is passed over, because it is known to be damaged.
  bool has_manifest = true;
};

// The image's next bytes, at their offset; an error ends the reading.
using ImageSink = std::function<Result<void>(std::uint64_t offset, std::string_view bytes)>;
// May be empty. A total of 0 is not known.
using OnBytes = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

// Returns the image's size, SHA-256 and term. The sink has then got all of it, once.
Read<ImageEnd> ReadBase(ObjectStore& store, const BaseToRead& base, const ImageSink& sink,
                        const OnBytes& on_bytes, Ahead ahead);

}  // namespace kvorum::archive
