#include "archive/store/s3_answer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "archive/store/xml_tree.h"
#include "base/base64.h"
#include "base/digest/sha256.h"
#include "base/letter_case.h"
#include "base/text/parse_number.h"
#include "base/text/percent.h"
#include "base/words.h"

namespace kvorum::archive {
namespace {

constexpr std::size_t kMaxMessageBytes = 300;
// The root of an error's text begins within these.
constexpr std::size_t kErrorWithinBytes = 256;
// A signature's date may be 15 minutes off.
constexpr std::int64_t kSkewSeconds = 14 * 60;

struct CodeKind {
  std::string_view code;
  StoreErrorKind kind;
};

// S3's codes that say more than the status, or something else.
constexpr std::array kKindsOfCodes = {
    CodeKind{"NoSuchKey", StoreErrorKind::kAbsent},
    CodeKind{"NoSuchVersion", StoreErrorKind::kAbsent},
    CodeKind{"NoSuchBucket", StoreErrorKind::kInvalid},
    CodeKind{"PreconditionFailed", StoreErrorKind::kExists},
    CodeKind{"ConditionalRequestConflict", StoreErrorKind::kConflict},
    CodeKind{"OperationAborted", StoreErrorKind::kConflict},
    CodeKind{"AccessDenied", StoreErrorKind::kDenied},
    CodeKind{"ExpiredToken", StoreErrorKind::kDenied},
    CodeKind{"InvalidToken", StoreErrorKind::kDenied},
    CodeKind{"TokenRefreshRequired", StoreErrorKind::kDenied},
    CodeKind{"RequestTimeTooSkewed", StoreErrorKind::kClockSkew},
    CodeKind{"RequestTimeout", StoreErrorKind::kUnavailable},
    CodeKind{"IncompleteBody", StoreErrorKind::kUnavailable},
    // The body that arrived is not the one that was sent.
    CodeKind{"BadDigest", StoreErrorKind::kUnavailable},
    CodeKind{"XAmzContentSHA256Mismatch", StoreErrorKind::kUnavailable},
    CodeKind{"XAmzContentChecksumMismatch", StoreErrorKind::kUnavailable},
    CodeKind{"InternalError", StoreErrorKind::kUnavailable},
    CodeKind{"ServiceUnavailable", StoreErrorKind::kUnavailable},
    CodeKind{"SlowDown", StoreErrorKind::kThrottled},
    CodeKind{"Throttling", StoreErrorKind::kThrottled},
    CodeKind{"ThrottlingException", StoreErrorKind::kThrottled},
    CodeKind{"TooManyRequests", StoreErrorKind::kThrottled},
    CodeKind{"QuotaExceeded", StoreErrorKind::kFull},
    CodeKind{"XMinioStorageFull", StoreErrorKind::kFull},
    CodeKind{"ObjectLocked", StoreErrorKind::kLocked},
};

StoreErrorKind KindOfStatus(int status) {
  switch (status) {
    case 404:
      return StoreErrorKind::kAbsent;
    case 401:
    case 403:
      return StoreErrorKind::kDenied;
    case 409:
      return StoreErrorKind::kConflict;
    case 412:
      return StoreErrorKind::kExists;
    case 408:
      return StoreErrorKind::kUnavailable;
    case 429:
    case 503:
      return StoreErrorKind::kThrottled;
    case 507:
      return StoreErrorKind::kFull;
    default:
      return status >= 500 ? StoreErrorKind::kUnavailable : StoreErrorKind::kInvalid;
  }
}

// A refusal by object lock has the code of every other refusal.
bool SpeaksOfLock(std::string_view message) {
  const std::string text = LowerCase(std::string(message));
  return text.contains("object lock") || text.contains("worm") || text.contains("retention") ||
         text.contains("legal hold");
}

// One line, not long, of printable characters.
std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, kMaxMessageBytes));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return shown;
}

// A space may be a plus sign, as in forms.
std::string DecodedKey(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '+', ' ');
  return PercentDecode(text);
}

std::optional<XmlElement> Document(std::string_view body, std::string_view name) {
  auto root = ParseXml(body);
  if (!root.has_value() || root->name != name) return std::nullopt;
  return root;
}

std::string WrongRegion(const HttpAnswer& answer, const std::optional<XmlElement>& document) {
  std::string region(answer.Header("x-amz-bucket-region"));
  if (region.empty() && document.has_value()) region = document->TextOf("Region");
  return region;
}

}  // namespace

StoreErrorKind KindOfS3Error(std::string_view code, std::string_view message, int status) {
  if ((status == 403 || code == "AccessDenied" || code == "InvalidRequest") &&
      SpeaksOfLock(message)) {
    return StoreErrorKind::kLocked;
  }
  const auto* const found = std::ranges::find(kKindsOfCodes, code, &CodeKind::code);
  if (found != kKindsOfCodes.end()) return found->kind;
  return KindOfStatus(status);
}

S3Failure FailureOf(const HttpAnswer& answer, const std::string& what, std::int64_t unix_seconds) {
  const auto document = Document(answer.body, "Error");
  const std::string code(document.has_value() ? document->TextOf("Code") : std::string_view());
  const std::string message(document.has_value() ? document->TextOf("Message")
                                                 : std::string_view());
  S3Failure failure;
  // A 200 with an error's text has had an error inside.
  failure.error.kind = KindOfS3Error(code, message, answer.status / 100 == 2 ? 500 : answer.status);
  failure.error.text = what + ": " + std::to_string(answer.status);
  if (!code.empty()) failure.error.text += " " + Shown(code);
  if (!message.empty()) failure.error.text += ": " + Shown(message);

  const bool is_redirect = answer.status / 100 == 3;
  if (is_redirect || code == "AuthorizationHeaderMalformed") {
    failure.error.kind = StoreErrorKind::kInvalid;
    if (const std::string region = WrongRegion(answer, document); !region.empty()) {
      failure.error.text += ": the bucket is in the region " + Shown(region);
    } else if (is_redirect) {
      failure.error.text += ": the store wants another endpoint or region";
    }
  }
  const std::int64_t theirs = UnixSecondsOfHttpDate(std::string(answer.Header("date")));
  const bool differs = theirs != 0 && std::abs(theirs - unix_seconds) > kSkewSeconds;
  if (failure.error.kind == StoreErrorKind::kDenied && differs) {
    failure.error.kind = StoreErrorKind::kClockSkew;
  }
  if (failure.error.kind == StoreErrorKind::kClockSkew) {
    if (theirs != 0) failure.store_unix_seconds = theirs;
    failure.error.text += ": this machine's clock and the store's differ";
    if (theirs != 0) {
      failure.error.text += " by " + std::to_string(std::abs(theirs - unix_seconds)) + " s";
    }
  }
  return failure;
}

StoreResult<ListPage> ParseListPage(std::string_view body) {
  const auto document = Document(body, "ListBucketResult");
  if (!document.has_value()) {
    return StoreFail(StoreErrorKind::kDamaged, "the answer is not a list of objects");
  }
  ListPage page;
  const bool is_encoded = document->TextOf("EncodingType") == "url";
  for (const XmlElement& child : document->children) {
    if (child.name != "Contents") continue;
    const auto size = ParseNumber<std::uint64_t>(child.TextOf("Size"));
    const std::string_view key = child.TextOf("Key");
    if (key.empty() || !size.has_value()) {
      return StoreFail(StoreErrorKind::kDamaged, "a listed object has no key or no size");
    }
    page.keys.push_back(
        {.key = is_encoded ? DecodedKey(key) : std::string(key), .size_bytes = *size});
  }
  const bool is_cut = document->TextOf("IsTruncated") == "true";
  if (is_cut) page.next = document->TextOf("NextContinuationToken");
  if (is_cut && page.next.empty()) {
    return StoreFail(StoreErrorKind::kDamaged, "a list goes on and has no continuation token");
  }
  return page;
}

StoreResult<std::vector<DeleteFailure>> ParseDeleteResult(std::string_view body) {
  const auto document = Document(body, "DeleteResult");
  if (!document.has_value()) {
    return StoreFail(StoreErrorKind::kDamaged, "the answer does not say what was deleted");
  }
  std::vector<DeleteFailure> failures;
  for (const XmlElement& child : document->children) {
    if (child.name != "Error") continue;
    const std::string_view code = child.TextOf("Code");
    const std::string_view message = child.TextOf("Message");
    StoreError error{.kind = KindOfS3Error(code, message, 500),
                     .text = Shown(code) + ": " + Shown(message)};
    if (error.kind == StoreErrorKind::kAbsent) continue;
    failures.push_back({.key = std::string(child.TextOf("Key")), .error = std::move(error)});
  }
  return failures;
}

bool IsErrorText(std::string_view body) {
  return body.substr(0, kErrorWithinBytes).contains("<Error") &&
         Document(body, "Error").has_value();
}

StoreResult<ObjectInfo> ParseObjectHeaders(const HttpAnswer& answer) {
  ObjectInfo info;
  std::string_view size = answer.Header("content-length");
  if (const std::string_view range = answer.Header("content-range"); !range.empty()) {
    size = range.substr(std::min(range.rfind('/'), range.size() - 1) + 1);
  }
  const auto size_bytes = ParseNumber<std::uint64_t>(size);
  if (!size_bytes.has_value()) {
    return StoreFail(StoreErrorKind::kUnavailable,
                     "the answer does not say how large the object is");
  }
  info.size_bytes = *size_bytes;
  info.version = answer.Header("etag");
  if (const auto sum = DecodeBase64(Base64::kStandard, answer.Header("x-amz-checksum-sha256"));
      sum.has_value() && sum->size() == kSha256Bytes) {
    info.sha256 = *sum;
  }
  if (const auto mode = answer.Header("x-amz-object-lock-mode"); !mode.empty()) {
    info.lock =
        Shown(mode) + " until " + Shown(answer.Header("x-amz-object-lock-retain-until-date"));
  } else if (answer.Header("x-amz-object-lock-legal-hold") == "ON") {
    info.lock = "legal hold";
  }
  return info;
}

}  // namespace kvorum::archive
