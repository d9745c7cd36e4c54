// S3's answers: errors, a page of a list, the outcome of deletions. Pure, any thread; bytes come
// from outside and are trusted in nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/store/http_transport.h"
#include "archive/store/object_store.h"
#include "archive/store/store_error.h"

namespace kvorum::archive {

struct S3Failure {
  StoreError error;
  // The store's time by its Date header, if the clocks differ.
  std::optional<std::int64_t> store_unix_seconds;
};

// An answer that is not the one hoped for: a status that is not 2xx, or an error's text behind one
// that is. `what` begins the text: "PUT s3://bucket/key". Our time decides between wrong clocks and
// other refusals, where the answer has no text (HEAD).
S3Failure FailureOf(const HttpAnswer& answer, const std::string& what, std::int64_t unix_seconds);
// The same without the answer: one key's error among several.
StoreErrorKind KindOfS3Error(std::string_view code, std::string_view message, int status);

struct ListedKey {
  std::string key;
  std::uint64_t size_bytes = 0;

  friend bool operator==(const ListedKey&, const ListedKey&) = default;
};

struct ListPage {
  std::vector<ListedKey> keys;
  std::string next;  // the continuation token; empty: the last page
};

// The answer to a list, version 2, with encoding-type=url. kDamaged.
StoreResult<ListPage> ParseListPage(std::string_view body);
// The answer to a deletion of several keys, in its quiet mode: those that failed, as the store has
// them. kDamaged.
StoreResult<std::vector<DeleteFailure>> ParseDeleteResult(std::string_view body);
// True if the body of an answer is S3's text of an error, which a status of 200 may have.
bool IsErrorText(std::string_view body);
// Size, version, checksum and lock from the headers of HEAD or GET. A part's answer has the whole
// size in Content-Range. kUnavailable without a size.
StoreResult<ObjectInfo> ParseObjectHeaders(const HttpAnswer& answer);

}  // namespace kvorum::archive
