#include "server/replica/recovery/incarnations.h"

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kFirstLine = "kvorum incarnation 1";
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{64} << 10;
// Members that have left are forgotten when there are more.
constexpr std::size_t kMaxSeen = 64;

using Seen = std::map<raft::MemberId, SeenIncarnation>;

void Keep(Seen& all, raft::MemberId peer, const SeenIncarnation& now) {
  all[peer] = now;
  if (all.size() <= kMaxSeen) return;
  const bool is_first = all.begin()->first == peer;
  all.erase(is_first ? std::next(all.begin()) : all.begin());
}

// True if the announced incarnation is the one that was seen there, or a later one.
bool Continues(const Seen& all, raft::MemberId peer, const Incarnation& told) {
  const auto seen = all.find(peer);
  return seen != all.end() && !seen->second.IsAheadOf(told);
}
constexpr Duration kSaveAgain = std::chrono::seconds(1);

std::string_view CutLine(std::string_view& text, char end) {
  const std::size_t length = text.find(end);
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  return line;
}

}  // namespace

Result<std::unique_ptr<Incarnations>> Incarnations::Open(FileSystem& fs, std::string path,
                                                         Rng random, Executor& wal) {
  std::unique_ptr<Incarnations> incarnations(new Incarnations(fs, std::move(path), wal));
  KV_TRY(const bool exists, fs.Exists(incarnations->path_));
  const auto draw = [&random] {
    std::uint64_t drawn = random();
    while (drawn == 0) drawn = random();
    return drawn;
  };
  if (exists) {
    KV_TRY(const std::string content, ReadWholeFile(fs, incarnations->path_, kMaxFileBytes));
    if (!incarnations->Parse(content)) {
      KV_WARN("the file of this member's incarnation is damaged; drawing a new one",
              {"file", incarnations->path_});
      incarnations->seen_.clear();
      incarnations->lost_data_ = 0;
      incarnations->own_ = {};
    }
    // This file may be as old as the data: a copy from when the member lacked some once before.
    if (incarnations->lost_data_ != 0) incarnations->seen_.clear();
  }
  Incarnation& own = incarnations->own_;
  const Incarnation before = own;
  if (own.id == 0) own.id = draw();
  ++own.starts;
  own.recent.insert(own.recent.begin(), draw());
  own.recent.resize(std::min(own.recent.size(), Incarnation::kRecentStarts));
  own.lacks_data = incarnations->lost_data_ != 0;
  const auto written = WriteFileAtomically(fs, incarnations->path_, incarnations->Content());
  if (written.has_value()) return incarnations;
  if (written.error().code != Code::kResourceExhausted) return std::unexpected(written.error());
  // On a full disk the member starts all the same. It does not tell of a start that its next one
  // would not know of.
  KV_WARN("no space to save this member's incarnation", {"error", written.error().message});
  if (before.id != 0) {
    own.starts = before.starts;
    own.recent = before.recent;
  }
  return incarnations;
}

bool Incarnations::Parse(std::string_view text) {
  if (CutLine(text, '\n') != kFirstLine) return false;
  bool knows_lost = false;
  while (!text.empty()) {
    std::string_view line = CutLine(text, '\n');
    const std::string_view name = CutLine(line, ' ');
    if (name == "own") {
      auto own = Incarnation::Parse(line);
      if (!own.has_value()) return false;
      own_ = *std::move(own);
    } else if (name == "lost") {
      const auto index = ParseIdText(line);
      if (!index.has_value()) return false;
      lost_data_ = raft::Index{*index};
      knows_lost = true;
    } else if (name == "peer") {
      const auto member = ParseMemberId(CutLine(line, ' '));
      const auto id = ParseIdText(CutLine(line, ' '));
      const auto starts = ParseIdText(CutLine(line, ' '));
      const auto start = ParseIdText(line);
      if (!member.has_value() || !id.has_value() || !starts.has_value() || !start.has_value())
        return false;
      seen_[*member] = {.id = *id, .starts = *starts, .start = *start};
    } else {
      return false;
    }
  }
  return own_.id != 0 && knows_lost;
}

std::string Incarnations::Content() const {
  Incarnation own = own_;
  own.lacks_data = false;  // its own line says so
  std::string content(kFirstLine);
  content += "\nown " + own.Text() + "\nlost " + IdText(lost_data_.value()) + "\n";
  for (const auto& [member, seen] : seen_) {
    content += "peer " + IdText(member) + " " + IdText(seen.id) + " " + IdText(seen.starts) + " " +
               IdText(seen.start) + "\n";
  }
  return content;
}

std::string Incarnations::Own() const {
  const std::lock_guard lock(mutex_);
  return own_.Text();
}

raft::Index Incarnations::lost_data() const {
  const std::lock_guard lock(mutex_);
  return lost_data_;
}

bool Incarnations::Admits(raft::MemberId peer, std::string_view text, Told how) {
  const auto told = Incarnation::Parse(text);
  {
    const std::lock_guard lock(mutex_);
    const auto seen = seen_.find(peer);
    const bool has_lost = told.has_value() && seen != seen_.end() && seen->second.IsAheadOf(*told);
    if (told.has_value() && !told->lacks_data && IsBehind(peer, *told)) return false;
    opponents_.erase(peer);
    if (how == Told::kByACaller) {
      if (has_lost) Keep(excused_, peer, SeenIncarnation::Of(*told));
      return true;
    }
    if (told.has_value()) {
      Remember(peer, SeenIncarnation::Of(*told));
    } else if (seen != seen_.end() && text.empty()) {
      // A member of another program: the announcements of its predecessor no longer count.
      seen_.erase(seen);
      SaveSoon();
    }
  }
  if (told.has_value() && told->lacks_data && hooks_.on_peers_loss) hooks_.on_peers_loss(peer);
  return true;
}

void Incarnations::Remember(raft::MemberId peer, const SeenIncarnation& now) {
  excused_.erase(peer);
  const auto seen = seen_.find(peer);
  if (seen != seen_.end() && seen->second == now) return;
  Keep(seen_, peer, now);
  SaveSoon();
}

bool Incarnations::IsBehind(raft::MemberId peer, const Incarnation& told) const {
  const auto seen = seen_.find(peer);
  return seen != seen_.end() && seen->second.IsAheadOf(told) && !Continues(excused_, peer, told);
}

// An accuser that lacks data remembers an older us. One that we take for such a one without its
// knowing it may be right, too: if this directory is an older copy, we remember an older accuser.
// If two members accuse each other, the one that a majority accuses has lost data.
void Incarnations::ToldOfLoss(raft::MemberId peer, std::string_view text) {
  const auto told = Incarnation::Parse(text);
  std::set<raft::MemberId> opponents;
  if (told.has_value()) {
    if (told->lacks_data) return;
    const std::lock_guard lock(mutex_);
    if (IsBehind(peer, *told)) {
      opponents_.insert(peer);
      opponents = opponents_;
    }
  }
  const bool believes =
      opponents.empty() || (hooks_.are_majority && hooks_.are_majority(opponents));
  if (believes && hooks_.on_own_loss) hooks_.on_own_loss(peer);
}

void Incarnations::SetLostData(raft::Index index) {
  const std::lock_guard lock(mutex_);
  if (lost_data_ == index) return;
  if (lost_data_ == raft::Index{0}) {
    seen_.clear();
    excused_.clear();
    opponents_.clear();
  }
  lost_data_ = index;
  SaveSoon();
}

void Incarnations::SaveSoon() {
  if (std::exchange(will_save_, true)) return;
  wal_.Post([this] { Save(); });
}

void Incarnations::Save() {
  std::string content;
  bool lacks_data = false;
  {
    const std::lock_guard lock(mutex_);
    will_save_ = false;
    content = Content();
    lacks_data = lost_data_ != 0;
  }
  const auto saved = WriteFileAtomically(fs_, path_, content);
  if (!saved.has_value()) {
    KV_WARN("could not save the incarnations of members", {"file", path_},
            {"error", saved.error().message});
    wal_.PostAt(wal_.clock().Now() + kSaveAgain, [this] {
      const std::lock_guard lock(mutex_);
      SaveSoon();
    });
    return;
  }
  const std::lock_guard lock(mutex_);
  own_.lacks_data = lacks_data;
}

}  // namespace kvorum::server
