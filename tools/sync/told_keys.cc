#include "tools/sync/told_keys.h"

#include <array>
#include <utility>

#include "base/base64.h"
#include "base/own_file.h"

namespace kvorum::ctl {
namespace {

// Far above what any list of keys needs, so that a wrong file is not read into memory.
constexpr std::uint64_t kMaxToldBytes = std::uint64_t{1} << 32U;
constexpr std::size_t kSpareLines = 1000;

std::string Encoded(const std::string& bytes) { return EncodeBase64(Base64::kStandard, bytes); }

}  // namespace

Result<std::unique_ptr<ToldKeys>> ToldKeys::Open(const std::string& path,
                                                 const std::string& prefix) {
  for (const std::string& name : {path, path + ".lock"}) KV_RETURN_IF_ERROR(CheckOwnFileAt(name));
  KV_TRY(std::unique_ptr<FileLock> lock, OwnFileSystem().Lock(path + ".lock"));
  std::unique_ptr<ToldKeys> told(new ToldKeys(path, prefix, std::move(lock)));
  KV_RETURN_IF_ERROR(told->Read());
  KV_RETURN_IF_ERROR(told->WriteAnew());
  return told;
}

Result<void> ToldKeys::Read() {
  const auto text = ReadWholeFile(OwnFileSystem(), path_, kMaxToldBytes);
  if (!text && text.error().code == Code::kNotFound) return {};
  if (!text) return std::unexpected(text.error());
  std::string_view rest = *text;
  const auto take_line = [&] {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    return line;
  };
  if (!rest.contains('\n') || take_line() != Encoded(prefix_))
    return Fail(Code::kFailedPrecondition, path_ + ": it is not of this prefix");
  while (rest.contains('\n')) KV_RETURN_IF_ERROR(ReadLine(take_line()));
  return {};
}

Result<void> ToldKeys::ReadLine(std::string_view line) {
  auto key = DecodeBase64(Base64::kStandard, line.substr(line.empty() ? 0 : 1));
  const bool is_right =
      key && (line.starts_with('+') || line.starts_with('-')) && key->starts_with(prefix_);
  if (!is_right) return Fail(Code::kDataLoss, path_ + ": a line is damaged");
  if (line.front() == '+')
    keys_.insert(*std::move(key));
  else
    keys_.erase(*key);
  return {};
}

Result<void> ToldKeys::WriteAnew() {
  std::string text = Encoded(prefix_) + "\n";
  for (const std::string& key : keys_) text += "+" + Encoded(key) + "\n";
  file_ = nullptr;
  KV_RETURN_IF_ERROR(WriteFileAtomically(OwnFileSystem(), path_, text));
  KV_TRY(file_, OwnFileSystem().Open(path_, FileSystem::OpenMode::kReadWrite));
  size_bytes_ = text.size();
  lines_ = keys_.size();
  return {};
}

Result<void> ToldKeys::Add(const std::string& key) {
  if (keys_.contains(key)) return {};
  KV_RETURN_IF_ERROR(Append('+', key));
  keys_.insert(key);
  return {};
}

Result<void> ToldKeys::Remove(const std::string& key) {
  if (!keys_.contains(key)) return {};
  KV_RETURN_IF_ERROR(Append('-', key));
  keys_.erase(key);
  return {};
}

// A line that failed is written over by the next one.
Result<void> ToldKeys::Append(char sign, const std::string& key) {
  if (file_ == nullptr || lines_ > 2 * keys_.size() + kSpareLines) KV_RETURN_IF_ERROR(WriteAnew());
  const std::string line = std::string(1, sign) + Encoded(key) + "\n";
  const std::array<std::string_view, 1> parts = {line};
  KV_RETURN_IF_ERROR(file_->WriteAt(size_bytes_, parts));
  KV_RETURN_IF_ERROR(file_->Sync());
  size_bytes_ += line.size();
  ++lines_;
  return {};
}

}  // namespace kvorum::ctl
