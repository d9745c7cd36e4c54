#include "tests/scenarios/story.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/duration_text.h"

namespace kvorum::server {
namespace {

// The caller at the end of a line: `as alice`, or `as alice of auth 5`.
Result<StoryUser> TakeUser(std::vector<std::string>& words) {
  const auto as = std::ranges::find(words, "as");
  StoryUser user;
  if (as == words.end()) return user;
  KV_TRY(const Slots slots,
         MatchPattern(words.end() - as == 2 ? "as NAME" : "as NAME of auth COUNT",
                      {as, words.end()}, 0));
  user.name = slots.Text(0);
  if (slots.size() > 1) user.auth_revision = slots.Number(1);
  words.erase(as, words.end());
  return user;
}

// The place of the first member among a pattern's slots; nothing if it names none.
std::optional<std::size_t> FirstMember(std::string_view pattern) {
  std::size_t place = 0;
  while (!pattern.empty()) {
    const std::size_t size = std::min(pattern.find(' '), pattern.size());
    const std::string_view part = pattern.substr(0, size);
    pattern.remove_prefix(std::min(size + 1, pattern.size()));
    if (part == "N") return place;
    if (part == "KEY=VALUE") ++place;
    if (part.front() >= 'A' && part.front() <= 'Z') ++place;
  }
  return std::nullopt;
}

Result<void> SetOption(LocalMemberOptions& options, const std::string& name, std::uint64_t value) {
  if (name == "snapshot_count") {
    options.replica.snapshot_count = value;
  } else if (name == "append_bytes") {
    options.raft.max_append_size_bytes = value;
  } else if (name == "kept_log_memory_bytes") {
    options.replica.catch_up.max_memory_bytes = value;
  } else if (name == "segment_bytes") {
    options.wal.segment_size_bytes = value;
  } else if (name == "seed") {
    return {};
  } else {
    return Fail(Code::kInvalidArgument, "'" + name + "' is not an option");
  }
  return {};
}

}  // namespace

Result<void> Story::Begin(const Slots& slots) {
  std::uint64_t seed = 1;
  LocalMemberOptions tried;
  std::vector<std::pair<std::string, std::uint64_t>> options;
  for (std::size_t i = 1; i + 1 < slots.size(); i += 2) {
    KV_RETURN_IF_ERROR(SetOption(tried, slots.Text(i), slots.Number(i + 1)));
    if (slots.Text(i) == "seed") seed = slots.Number(i + 1);
    options.emplace_back(slots.Text(i), slots.Number(i + 1));
  }
  cluster_.reset();
  cluster_ =
      std::make_unique<StoryCluster>(slots.Number(0), seed, [options](LocalMemberOptions& of) {
        for (const auto& [name, value] : options) static_cast<void>(SetOption(of, name, value));
      });
  return {};
}

Result<void> Story::CheckNeeds(const StoryWord& word, const Slots& slots) {
  using enum StoryWord::Needs;
  if (word.needs == kNothing) return {};
  const bool has_it = word.needs == kLoneMember ? lone_ != nullptr : cluster_ != nullptr;
  if (!has_it)
    return Fail(Code::kInvalidArgument, word.needs == kLoneMember ? "there is no member on lmdb"
                                                                  : "there is no cluster yet");
  const auto first = FirstMember(word.pattern);
  if (!first.has_value() || word.needs == kCluster || word.needs == kLoneMember) return {};
  const std::size_t i = slots.Member(*first);
  if (machines().is_up(i) == (word.needs == kUp)) return {};
  return Fail(Code::kInvalidArgument,
              std::to_string(i + 1) + (word.needs == kUp ? " is down" : " is up"));
}

Result<std::string> Story::Run(std::string_view line) {
  KV_TRY(std::vector<std::string> words, SplitStoryLine(line));
  KV_TRY(user_, TakeUser(words));
  std::string wrong;
  for (const StoryWord& word : StoryWords()) {
    if (words.empty() || !word.pattern.starts_with(words.front() + " ")) {
      if (words.empty() || word.pattern != words.front()) continue;
    }
    const std::size_t members = cluster_ == nullptr ? 0 : machines().size();
    const auto slots = MatchPattern(word.pattern, words, members);
    if (!slots.has_value()) {
      wrong += "  " + std::string(word.pattern) + ": " + slots.error().message + "\n";
      continue;
    }
    KV_RETURN_IF_ERROR(CheckNeeds(word, *slots));
    KV_TRY(const std::string output, word.run(*this, *slots));
    std::string all = output;
    if (cluster_ != nullptr) all = cluster_->Readable(output) + cluster_->TakeNews();
    return all.empty() ? "ok\n" : all;
  }
  return Fail(Code::kInvalidArgument,
              wrong.empty() ? "the language has no such word" : "the line does not fit:\n" + wrong);
}

}  // namespace kvorum::server
