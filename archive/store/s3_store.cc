#include "archive/store/s3_store.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <optional>

#include "archive/store/s3_answer.h"
#include "archive/store/sigv4.h"
#include "base/base64.h"
#include "base/digest/sha256.h"
#include "base/text/escape_markup.h"

namespace kvorum::archive {
namespace {

// S3's own limits, and room for a page of the longest keys with every byte escaped.
constexpr std::size_t kMaxDeletedAtOnce = 1000;
constexpr std::string_view kKeysOfPage = "1000";
constexpr std::size_t kMaxPageBytes = std::size_t{4} << 20;
constexpr int kMaxEmptyPages = 100;

std::string Sha256Bytes(std::string_view bytes) {
  Sha256 digest;
  digest.Add(bytes);
  return digest.Finish();
}

// Nothing where OpenSSL may not compute MD5 (FIPS): the SHA-256 is enough for most stores.
std::optional<std::string> Md5Base64(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_md5(), nullptr) != 1) {
    return std::nullopt;
  }
  return EncodeBase64(Base64::kStandard, {reinterpret_cast<const char*>(digest.data()), size});
}

void AddBodySums(std::vector<std::pair<std::string, std::string>>& headers, std::string_view body) {
  if (auto md5 = Md5Base64(body); md5.has_value()) {
    headers.emplace_back("content-md5", *std::move(md5));
  }
  headers.emplace_back("x-amz-checksum-sha256", EncodeBase64(Base64::kStandard, Sha256Bytes(body)));
}

std::string RangeHeader(const GetOptions& options) {
  std::string range = "bytes=" + std::to_string(options.offset) + "-";
  if (options.length.has_value()) range += std::to_string(options.offset + *options.length - 1);
  return range;
}

}  // namespace

S3Store::S3Store(S3Place place, CredentialSource credentials, TransportOptions transport,
                 const Clock& clock, const StopSignal& stop)
    : place_(std::move(place)),
      credentials_(std::move(credentials)),
      transport_(std::move(transport), stop),
      clock_(clock) {}

std::string S3Store::PathOf(const std::string& key) const {
  if (!key.empty()) return place_.base_path + "/" + place_.prefix + key;
  return place_.base_path.empty() ? "/" : place_.base_path;
}

StoreResult<HttpAnswer> S3Store::Do(const Call& call) {
  const std::string what = std::string(HttpMethodName(call.method)) + " " + place_.name +
                           (call.key.empty() ? "" : "/" + call.key);
  for (bool was_corrected = false;; was_corrected = true) {
    KV_TRY(const Credentials credentials, credentials_.Get());
    SignedRequest signed_request{.method = std::string(HttpMethodName(call.method)),
                                 .path = PathOf(call.key),
                                 .query = call.query,
                                 .headers = call.headers,
                                 .payload_sha256 = Sha256Hex(call.body)};
    signed_request.headers.emplace_back("host", place_.host);
    signed_request.headers.emplace_back("x-amz-content-sha256", signed_request.payload_sha256);
    Sign(signed_request, {.region = place_.region, .service = "s3", .unix_seconds = UnixSeconds()},
         credentials);
    HttpRequest request{.method = call.method,
                        .url = place_.origin + EncodePath(signed_request.path),
                        .headers = std::move(signed_request.headers),
                        .body = call.body,
                        .limit_bytes = call.limit_bytes};
    if (!call.query.empty()) request.url += "?" + CanonicalQuery(signed_request);

    auto answer = transport_.Do(request, call.sink);
    if (!answer.has_value()) {
      return StoreFail(answer.error().kind,
                       WithoutSecrets(what + ": " + answer.error().text, credentials));
    }
    if (answer->status / 100 == 2 && !IsErrorText(answer->body)) return answer;
    S3Failure failure = FailureOf(*answer, what, UnixSeconds());
    if (failure.store_unix_seconds.has_value() && !was_corrected) {
      clock_offset_seconds_ = *failure.store_unix_seconds - clock_.WallSeconds();
      continue;
    }
    failure.error.text = WithoutSecrets(std::move(failure.error.text), credentials);
    return std::unexpected(std::move(failure.error));
  }
}

StoreResult<void> S3Store::Put(const std::string& key, std::string_view bytes,
                               const PutOptions& options) {
  KV_RETURN_IF_ERROR(CheckKey(key));
  KV_RETURN_IF_ERROR(CheckObjectSize(key, bytes));
  Call call{.method = HttpMethod::kPut, .key = key, .body = bytes};
  call.headers.emplace_back("content-type", options.content_type);
  AddBodySums(call.headers, bytes);
  if (options.if_absent) call.headers.emplace_back("if-none-match", "*");
  KV_RETURN_IF_ERROR(Do(call));
  return {};
}

StoreResult<ObjectInfo> S3Store::Get(const std::string& key, const GetOptions& options,
                                     const PieceSink& sink) {
  KV_RETURN_IF_ERROR(CheckKey(key));
  if (options.length == 0U) return Head(key);
  const bool is_part = options.offset != 0 || options.length.has_value();
  ObjectInfo info;
  bool has_begun = false;
  std::uint64_t got = 0;
  const auto begin = [&](const HttpAnswer& answer) -> StoreResult<void> {
    if (has_begun) return {};
    has_begun = true;
    const std::string from = "bytes " + std::to_string(options.offset) + "-";
    if (answer.status != (is_part ? 206 : 200) ||
        (is_part && !answer.Header("content-range").starts_with(from))) {
      return StoreFail(StoreErrorKind::kDamaged, "the answer is not the part that was asked for");
    }
    KV_TRY(info, ParseObjectHeaders(answer));
    if (options.on_begin) options.on_begin(info);
    return {};
  };
  std::optional<StoreError> refused;
  const BodySink body = [&](const HttpAnswer& answer, std::string_view piece) -> StoreResult<void> {
    KV_RETURN_IF_ERROR(begin(answer));
    got += piece.size();
    auto taken = sink(piece);
    if (!taken.has_value()) refused = taken.error();
    return taken;
  };
  Call call{.method = HttpMethod::kGet, .key = key, .sink = &body};
  if (is_part) call.headers.emplace_back("range", RangeHeader(options));
  if (!options.version.empty()) call.headers.emplace_back("if-match", options.version);
  auto answer = Do(call);
  if (refused.has_value()) return std::unexpected(*std::move(refused));
  if (!answer.has_value()) {
    StoreError error = std::move(answer).error();
    if (error.kind == StoreErrorKind::kExists) error.kind = StoreErrorKind::kConflict;
    return std::unexpected(std::move(error));
  }
  KV_RETURN_IF_ERROR(begin(*answer));
  const std::uint64_t rest = info.size_bytes - std::min(options.offset, info.size_bytes);
  if (got != std::min(options.length.value_or(rest), rest)) {
    return StoreFail(StoreErrorKind::kUnavailable, "GET " + place_.name + "/" + key +
                                                       ": the answer has " + std::to_string(got) +
                                                       " bytes, not the number that it announces");
  }
  return info;
}

StoreResult<ObjectInfo> S3Store::Head(const std::string& key) {
  KV_RETURN_IF_ERROR(CheckKey(key));
  KV_TRY(const HttpAnswer answer, Do({.method = HttpMethod::kHead,
                                      .key = key,
                                      .headers = {{"x-amz-checksum-mode", "ENABLED"}}}));
  return ParseObjectHeaders(answer);
}

StoreResult<void> S3Store::List(const ListOptions& options, const ListSink& sink) {
  const auto damaged = [&](const std::string& text) {
    return StoreFail(StoreErrorKind::kDamaged, "LIST " + place_.name + ": " + text);
  };
  std::string token;
  std::string last = options.after;
  int empty_pages = 0;
  while (true) {
    Call call{.key = {},
              .query = {{"list-type", "2"},
                        {"encoding-type", "url"},
                        {"max-keys", std::string(kKeysOfPage)},
                        {"prefix", place_.prefix + options.prefix}},
              .limit_bytes = kMaxPageBytes};
    if (!token.empty()) {
      call.query.emplace_back("continuation-token", token);
    } else if (!options.after.empty()) {
      call.query.emplace_back("start-after", place_.prefix + options.after);
    }
    KV_TRY(const HttpAnswer answer, Do(call));
    auto page = ParseListPage(answer.body);
    if (!page.has_value()) return damaged(page.error().text);
    for (const ListedKey& listed : page->keys) {
      if (!listed.key.starts_with(place_.prefix + options.prefix)) {
        return damaged("a key that does not begin with the prefix");
      }
      const std::string key = listed.key.substr(place_.prefix.size());
      if (key.empty()) continue;  // some programs make an object for a folder
      if (key <= last) {
        if (token.empty() && key <= options.after) continue;
        return damaged("the keys are not in the order of their bytes");
      }
      last = key;
      if (!sink(key, listed.size_bytes)) return {};
    }
    if (page->next.empty()) return {};
    empty_pages = page->keys.empty() ? empty_pages + 1 : 0;
    if (page->next == token || empty_pages > kMaxEmptyPages) return damaged("it does not end");
    token = std::move(page->next);
  }
}

StoreResult<std::vector<DeleteFailure>> S3Store::Delete(std::span<const std::string> keys) {
  std::vector<DeleteFailure> failures;
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), kMaxDeletedAtOnce));
    KV_TRY(const auto failed, DeleteSome(some));
    failures.insert(failures.end(), failed.begin(), failed.end());
    keys = keys.subspan(some.size());
  }
  return failures;
}

StoreResult<std::vector<DeleteFailure>> S3Store::DeleteSome(std::span<const std::string> keys) {
  std::string body = R"(<?xml version="1.0" encoding="UTF-8"?>)"
                     R"(<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)";
  for (const std::string& key : keys) {
    KV_RETURN_IF_ERROR(CheckKey(key));
    body += "<Object><Key>" + EscapeMarkup(place_.prefix + key) + "</Key></Object>";
  }
  body += "<Quiet>true</Quiet></Delete>";
  Call call{.method = HttpMethod::kPost,
            .key = {},
            .query = {{"delete", ""}},
            .headers = {{"content-type", "application/xml"}},
            .body = body};
  AddBodySums(call.headers, body);
  KV_TRY(const HttpAnswer answer, Do(call));
  auto failures = ParseDeleteResult(answer.body);
  if (!failures.has_value()) {
    return StoreFail(failures.error().kind,
                     "DELETE in " + place_.name + ": " + failures.error().text);
  }
  for (DeleteFailure& failure : *failures) {
    if (failure.key.starts_with(place_.prefix)) failure.key.erase(0, place_.prefix.size());
    failure.error.text = "DELETE " + place_.name + "/" + failure.key + ": " + failure.error.text;
  }
  return failures;
}

}  // namespace kvorum::archive
