// A SavingMember for stories. What it prints does not depend on the threads' order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/server/replica/saving_member.h"

namespace kvorum::server {

class LoneMember {
 public:
  explicit LoneMember(std::uint64_t map_bytes);
  ~LoneMember();
  LoneMember(const LoneMember&) = delete;
  LoneMember& operator=(const LoneMember&) = delete;

  // So many puts of a value, until they are in the database: "10 acknowledged".
  std::string Write(int count, std::size_t value_bytes);
  // HashKV, which waits for the thread that saves, too: "answered".
  std::string Hash();
  // Returns once its first piece is there. The client reads no more.
  std::string Save();
  // The client reads the rest, if there is any: the error with which the save has ended.
  std::string ReadSave();
  std::string Map() const;

 private:
  const std::uint64_t first_map_bytes_;
  SavingMember saving_;
  ThreadedMember& member_ = saving_.member;
  std::shared_ptr<SavingStream> save_;
};

}  // namespace kvorum::server
