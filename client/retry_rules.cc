#include "client/retry_rules.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/api_errors.h"

namespace kvorum::client {
namespace {

// True for grpc++'s texts for a call that had no connection.
bool WasNeverSent(std::string_view message) {
  constexpr auto kBeginnings = std::to_array<std::string_view>({
      "failed to connect to all addresses",
      "connections to all backends failing",
      "DNS resolution failed",
  });
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view b) { return message.starts_with(b); });
}

}  // namespace

bool IsTokenRefused(const Error& error, const Attempt& attempt) {
  if (error.message == kErrInvalidAuthToken.message || error.message == kErrAuthOldRevision.message)
    return true;
  // A request without a user's name gets the same text: then the token was fine.
  return error.message == kErrUserEmpty.message && !attempt.showed_token;
}

NextStep AfterError(const Error& error, const Attempt& attempt) {
  if (IsTokenRefused(error, attempt)) {
    switch (attempt.credentials) {
      case Credentials::kPassword:
        return NextStep::kNewToken;
      case Credentials::kNone:
        // Each call looks its certificate's user up again.
        return error.message == kErrAuthOldRevision.message ? NextStep::kAnotherMember
                                                            : NextStep::kFail;
      case Credentials::kToken:
        return NextStep::kFail;
    }
  }
  if (error.message == kErrNotSupportedForLearner.message && attempt.has_other_members)
    return NextStep::kAnotherMember;
  switch (attempt.repeat) {
    case Repeat::kRead: {
      // The member gave up by itself: it is shutting down, or its own time-out has passed.
      const bool has_given_up =
          (error.code == Code::kCanceled || error.code == Code::kDeadlineExceeded) &&
          !attempt.is_out_of_time;
      return has_given_up || error.code == Code::kUnavailable ? NextStep::kAnotherMember
                                                              : NextStep::kFail;
    }
    case Repeat::kWrite:
      return error.code == Code::kUnavailable && WasNeverSent(error.message)
                 ? NextStep::kAnotherMember
                 : NextStep::kFail;
  }
  return NextStep::kFail;
}

Error ParseReason(std::string_view reason) {
  constexpr std::string_view kCode = "rpc error: code = ";
  constexpr std::string_view kText = " desc = ";
  const std::size_t text = reason.find(kText);
  if (!reason.starts_with(kCode) || text == std::string_view::npos)
    return {Code::kUnknown, std::string(reason)};
  const std::string_view name = reason.substr(kCode.size(), text - kCode.size());
  Error error{Code::kUnknown, std::string(reason.substr(text + kText.size()))};
  for (auto code = static_cast<std::uint8_t>(Code::kCanceled);
       code <= static_cast<std::uint8_t>(Code::kUnauthenticated); ++code)
    if (CodeName(static_cast<Code>(code)) == name) error.code = static_cast<Code>(code);
  return error;
}

}  // namespace kvorum::client
