// A story about members: its lines are run one after the other, each a row of the table of words.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tests/disk/sim_file_system.h"
#include "tests/scenarios/lone_member.h"
#include "tests/scenarios/pattern.h"
#include "tests/scenarios/story_cluster.h"

namespace kvorum::server {

struct StoryWord;

class Story {
 public:
  // A line's output, in whole lines, with what members did of themselves meanwhile. An error for a
  // line that is not of the language, asks a member that is down, or expects what is not so.
  Result<std::string> Run(std::string_view line);

  // ---- for the words ----
  StoryCluster& cluster() { return *cluster_; }
  SmallCluster& machines() { return cluster_->machines(); }
  Result<void> Begin(const Slots& slots);
  std::unique_ptr<LoneMember>& lone() { return lone_; }
  const StoryUser& user() const { return user_; }
  void KeepDisk(const std::string& name, std::unique_ptr<SimFileSystem> disk) {
    disks_[name] = std::move(disk);
  }
  // Null if there is none of that name.
  std::unique_ptr<SimFileSystem> TakeDisk(const std::string& name) {
    return std::move(disks_[name]);
  }

 private:
  // Why the word cannot be run now.
  Result<void> CheckNeeds(const StoryWord& word, const Slots& slots);

  std::unique_ptr<StoryCluster> cluster_;
  std::unique_ptr<LoneMember> lone_;
  std::map<std::string, std::unique_ptr<SimFileSystem>> disks_;
  StoryUser user_;
};

struct StoryWord {
  // A word needs a cluster, a lone member, or that the first member that its line names is up or
  // down.
  enum class Needs : std::uint8_t { kNothing, kCluster, kUp, kDown, kLoneMember };
  std::string_view pattern;
  std::string_view meaning;
  Needs needs = Needs::kCluster;
  Result<std::string> (*run)(Story& story, const Slots& slots);
};

// In the order in which docs/simulation.md has them. Several may begin alike.
std::span<const StoryWord> StoryWords();

}  // namespace kvorum::server
