#include "client/error_text.h"

#include <algorithm>
#include <array>

#include "base/api_errors.h"

namespace kvorum::client {
namespace {

constexpr auto kApiTexts = [] {
  std::array<std::string_view, kApiErrors.size()> texts;
  std::ranges::transform(kApiErrors, texts.begin(), &ApiError::message);
  std::ranges::sort(texts);
  return texts;
}();

}  // namespace

bool IsApiError(std::string_view message) { return std::ranges::binary_search(kApiTexts, message); }

std::string ErrorText(const Error& error) {
  if (IsApiError(error.message)) return error.message;
  if (error.code == Code::kDeadlineExceeded) return kErrDeadlineExceeded.ToError().message;
  const bool is_ours = error.message.starts_with("mutex: ") ||
                       error.message.starts_with("election: ") ||
                       error.message == kErrCanceled.message;
  if (is_ours) return error.message;
  return "rpc error: code = " + std::string(CodeName(error.code)) + " desc = " + error.message;
}

}  // namespace kvorum::client
