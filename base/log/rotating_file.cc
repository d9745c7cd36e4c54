#include "base/log/rotating_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/own_file.h"

namespace kvorum {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kDefaultMib = 100;
constexpr std::int64_t kDayMs = std::int64_t{24} * 60 * 60 * 1000;
constexpr std::string_view kPacked = ".gz";
constexpr std::size_t kStampSize = 23;  // 2006-01-02T15-04-05.000

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Stamp(std::int64_t ms, bool local) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  if (local) {
    localtime_r(&seconds, &parts);
  } else {
    gmtime_r(&seconds, &parts);
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d-%02d-%02d.%03d",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, static_cast<int>(ms % 1000));
  return text.data();
}

// The time of a stamp, always read as UTC, as lumberjack reads it; nullopt if it is malformed.
std::optional<std::int64_t> TimeOf(std::string_view stamp) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd-dd-dd.ddd";
  if (stamp.size() != kStampSize) return std::nullopt;
  for (std::size_t i = 0; i < kStampSize; ++i) {
    const bool is_digit = stamp[i] >= '0' && stamp[i] <= '9';
    if (kForm[i] == 'd' ? !is_digit : stamp[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [stamp](std::size_t at, std::size_t count) {
    int value = 0;
    for (const char digit : stamp.substr(at, count)) value = 10 * value + (digit - '0');
    return value;
  };
  std::tm parts{};
  parts.tm_year = number(0, 4) - 1900;
  parts.tm_mon = number(5, 2) - 1;
  parts.tm_mday = number(8, 2);
  parts.tm_hour = number(11, 2);
  parts.tm_min = number(14, 2);
  parts.tm_sec = number(17, 2);
  return std::int64_t{timegm(&parts)} * 1000 + number(20, 3);
}

std::string BackupName(const stdfs::path& path, std::int64_t ms, bool local) {
  return (path.parent_path() /
          (path.stem().string() + "-" + Stamp(ms, local) + path.extension().string()))
      .string();
}

struct Backup {
  std::int64_t time_ms = 0;
  std::string name;  // in the folder
  bool is_packed = false;

  std::string unpacked_name() const {
    return is_packed ? name.substr(0, name.size() - kPacked.size()) : name;
  }
};

// The newest first.
std::vector<Backup> BackupsOf(const stdfs::path& path) {
  const std::string prefix = path.stem().string() + "-";
  const std::string extension = path.extension().string();
  std::vector<Backup> backups;
  std::error_code error;
  const stdfs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : stdfs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_packed = name.ends_with(extension + std::string(kPacked));
    const std::string end = is_packed ? extension + std::string(kPacked) : extension;
    if (!name.starts_with(prefix) || !name.ends_with(end) ||
        name.size() < prefix.size() + end.size() ||
        entry.symlink_status(error).type() != stdfs::file_type::regular) {
      continue;
    }
    const std::string_view stamp =
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - end.size());
    if (const auto time = TimeOf(stamp))
      backups.push_back({.time_ms = *time, .name = name, .is_packed = is_packed});
  }
  std::ranges::sort(backups, std::ranges::greater{},
                    [](const Backup& backup) { return std::pair(backup.time_ms, backup.name); });
  return backups;
}

// The packed file before it has its name's content: what stands there is a crash's rest, or
// somebody else's, and is neither written through nor kept. Its owner and mode are the old file's.
int CreatePacked(const std::string& packed, const struct stat& old) {
  ::unlink(packed.c_str());
  const int out =
      ::open(packed.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (out < 0) return -1;
  static_cast<void>(!::fchown(out, old.st_uid, old.st_gid));
  ::fchmod(out, old.st_mode & 0777);
  return out;
}

// A new file under a name that was given up a moment ago. What stands there by now goes on if it is
// ours alone: a link that another user has put there is not written through.
int OpenNext(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int made = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0600);
  if (made >= 0 || errno != EEXIST) return made;
  FileDescriptor found(::open(path.c_str(), kFlags));
  if (found.get() < 0 || !CheckOwnFile(found.get(), path)) return -1;
  return found.Release();
}

bool PackInto(gzFile out, int in) {
  std::vector<char> piece(256 * 1024);
  while (true) {
    const ssize_t count = ::read(in, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    if (gzwrite(out, piece.data(), static_cast<unsigned>(count)) <= 0) return false;
  }
}

// Leaves the file as it is when anything goes wrong. Links are not followed.
void Pack(const std::string& path) {
  const std::string packed = path + std::string(kPacked);
  const int in = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (in < 0) return;
  struct stat status{};
  const bool is_file = ::fstat(in, &status) == 0 && S_ISREG(status.st_mode);
  const int descriptor = is_file ? CreatePacked(packed, status) : -1;
  if (gzFile out = descriptor < 0 ? nullptr : gzdopen(descriptor, "wb"); out != nullptr) {
    const bool is_packed = PackInto(out, in);
    const bool is_whole = gzclose(out) == Z_OK && is_packed;
    std::error_code ignored;
    stdfs::remove(is_whole ? path : packed, ignored);
  } else if (descriptor >= 0) {
    ::close(descriptor);
  }
  ::close(in);
}

}  // namespace

Result<std::unique_ptr<LogOutput>> RotatingFile::Open(const std::string& path,
                                                      const LogRotation& rotation) {
  std::unique_ptr<RotatingFile> file(new RotatingFile(path, rotation));
  // A link that an operator has put there is followed.
  if (!file->Begin(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600))) {
    return Fail(Code::kInvalidArgument, "log output \"" + path + "\": " + ErrnoText(errno));
  }
  file->StartTidyingUp();
  return file;
}

RotatingFile::RotatingFile(std::string path, const LogRotation& rotation)
    : path_(std::move(path)), rotation_(rotation) {}

RotatingFile::~RotatingFile() {
  if (tidying_.joinable()) tidying_.join();
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t RotatingFile::max_bytes() const {
  constexpr std::uint64_t kMostMib = std::uint64_t{1} << 40U;
  const std::uint64_t mib = rotation_.max_size_mib == 0 ? kDefaultMib : rotation_.max_size_mib;
  return std::min(mib, kMostMib) << 20U;
}

bool RotatingFile::Begin(int descriptor) {
  descriptor_ = descriptor;
  if (descriptor_ < 0) return false;
  struct stat status{};
  size_ = ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  return true;
}

void RotatingFile::Write(std::string_view lines) {
  // Each file takes the lines that it has room for, then the next one goes on.
  while (!lines.empty()) {
    const std::uint64_t room = max_bytes() - std::min(size_, max_bytes());
    std::string_view part = lines;
    if (part.size() > room) {
      const std::size_t end = room == 0 ? std::string_view::npos : part.rfind('\n', room - 1);
      if (end == std::string_view::npos && size_ > 0) {
        Rotate();
        if (size_ == 0) continue;  // otherwise the old file could not be set aside
      }
      const std::size_t first = part.find('\n');
      const std::size_t last = end == std::string_view::npos ? first : end;
      part = part.substr(0, last == std::string_view::npos ? last : last + 1);
    }
    if (descriptor_ < 0 && !Begin(OpenNext(path_))) return;
    WriteAll(descriptor_, part);
    size_ += part.size();
    lines.remove_prefix(part.size());
  }
}

void RotatingFile::Rotate() {
  struct stat status{};
  const bool is_there = ::fstat(descriptor_, &status) == 0;
  std::int64_t now = NowMs();
  std::error_code error;
  while (stdfs::exists(BackupName(path_, now, rotation_.local_time), error)) ++now;
  if (::rename(path_.c_str(), BackupName(path_, now, rotation_.local_time).c_str()) != 0) {
    // Somebody took the file away: a new one begins under its name.
    if (errno != ENOENT) return;
  }
  ::close(descriptor_);
  if (!Begin(OpenNext(path_))) {
    size_ = 0;
    return;
  }
  if (is_there) {
    ::fchmod(descriptor_, status.st_mode & 0777);
    static_cast<void>(!::fchown(descriptor_, status.st_uid, status.st_gid));
  }
  StartTidyingUp();
}

void RotatingFile::StartTidyingUp() {
  if (rotation_.max_backups == 0 && rotation_.max_age_days == 0 && !rotation_.compress) return;
  if (tidying_.joinable()) tidying_.join();
  tidying_ = std::thread([path = path_, rotation = rotation_] {
    pthread_setname_np(pthread_self(), "log-tidy");
    TidyUp(path, rotation, NowMs());
  });
}

void RotatingFile::TidyUp(const std::string& path, const LogRotation& rotation,
                          std::int64_t now_ms) {
  const stdfs::path folder = stdfs::path(path).parent_path();
  std::set<std::string> kept;  // a file and its packed form count once
  for (const Backup& backup : BackupsOf(path)) {
    kept.insert(backup.unpacked_name());
    const std::string whole = (folder / backup.name).string();
    const bool is_one_too_many = rotation.max_backups > 0 && kept.size() > rotation.max_backups;
    const bool is_too_old =
        rotation.max_age_days > 0 &&
        backup.time_ms < now_ms - static_cast<std::int64_t>(rotation.max_age_days) * kDayMs;
    std::error_code ignored;
    if (is_one_too_many || is_too_old) {
      stdfs::remove(whole, ignored);
    } else if (rotation.compress && !backup.is_packed) {
      Pack(whole);
    }
  }
}

}  // namespace kvorum
