// Batches of one event each, for the tests of the parts that only keep them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mvcc/records/key_value.h"
#include "watch/event_batch.h"

namespace kvorum::watch {

inline std::shared_ptr<const EventBatch> SmallBatch(std::int64_t revision) {
  auto batch = std::make_shared<EventBatch>(revision);
  const std::string record = mvcc::Encode(
      {.key = "key", .create_revision = 1, .mod_revision = 1, .version = 1, .value = "value"});
  batch->Add({.revision = {.main = revision, .sub = 0}, .value = record});
  return batch;
}

}  // namespace kvorum::watch
