// Reads objects one after the other on another thread, each while its predecessor is used.
//
// Threading: used by one thread; the store is the inner thread's until the destructor returns,
// which waits for a call of the store that is under way. Memory: one object that waits to be
// taken, or none while it is read.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "archive/restore/object_reads.h"
#include "archive/store/object_store.h"

namespace kvorum::archive {

enum class Ahead : std::uint8_t {
  kNone,    // each object is read by the caller's thread, when it is asked for
  kThread,  // the next one is read meanwhile
};

class ReadAhead {
 public:
  // The keys in turn; nothing at their end.
  using NextKey = std::move_only_function<std::optional<std::string>()>;

  ReadAhead(ObjectStore& store, NextKey next_key, Ahead ahead);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Object {
    std::string key;
    std::string bytes;
  };
  // Not called again after an error, or after nothing was left.
  Read<std::optional<Object>> Next();

 private:
  Read<std::optional<Object>> ReadNext();
  void Run();

  ObjectStore& store_;
  NextKey next_key_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::optional<Read<std::optional<Object>>> waiting_;

  std::thread thread_;  // none for kNone
};

}  // namespace kvorum::archive
