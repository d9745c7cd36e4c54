// The history of a key-value store with revisions as clients saw it: their requests, the times of
// call and return, and the answers. The checker decides whether one store could have given these
// answers (checker.h); history_text.h is its form in files.
//
// Every operation is a transaction: a plain put, delete or read has no compares and one request.
// Times are in any unit, from one monotonic clock that all clients share. An operation ends when
// its answer was seen; one whose answer was never seen (time-out, lost connection, an error that
// leaves it open) may take effect at any time after its call, once or not at all. An operation that
// was certainly refused does not belong in a history. All writers of the store must be in it: a
// revision that none of its operations can have made is a violation.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace kvorum::linearizability {

struct KeyValue {
  std::string key = {};
  std::string value = {};
  // 0 where it was not recorded; then it is not checked.
  std::int64_t mod_revision = 0;
  std::int64_t create_revision = 0;
  std::int64_t version = 0;

  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

struct Compare {
  enum class Target : std::uint8_t { kValue, kVersion, kCreate, kMod };
  enum class Relation : std::uint8_t { kEqual, kNotEqual, kGreater, kLess };
  Target target = Target::kValue;
  Relation relation = Relation::kEqual;
  std::string key = {};
  std::string value = {};   // of kValue
  std::int64_t number = 0;  // of the other targets

  friend bool operator==(const Compare&, const Compare&) = default;
};

struct Request {
  enum class Kind : std::uint8_t { kPut, kDelete, kRead };
  Kind kind = Kind::kRead;
  std::string key = {};
  // The wire's form: empty is the one key, "\0" all keys from `key` on. Not of kPut.
  std::string range_end = {};
  std::string value = {};  // of kPut

  friend bool operator==(const Request&, const Request&) = default;
};

// The answer to one request.
struct Answer {
  std::vector<KeyValue> kvs = {};  // of kRead: all that was found, in the order of the keys
  std::int64_t deleted = 0;        // of kDelete

  friend bool operator==(const Answer&, const Answer&) = default;
};

inline constexpr std::int64_t kNeverReturned = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kNoRevision = -1;

struct Operation {
  std::string client = {};
  std::int64_t call = 0;
  std::int64_t returned = kNeverReturned;

  bool is_txn = false;
  // A read that any member answers from its own state: it may be old, but must be of one revision.
  bool serializable = false;
  std::vector<Compare> compares;
  std::vector<Request> success;
  std::vector<Request> failure;

  // The answer; nothing of it counts before `acknowledged`.
  bool acknowledged = false;
  // The revision in the answer's header: for an operation that changed something the one it made,
  // else the one it saw. kNoRevision if it was not recorded.
  std::int64_t revision = kNoRevision;
  bool succeeded = true;
  std::vector<Answer> answers;  // one for each request of the branch that was taken

  const std::vector<Request>& Taken() const { return succeeded ? success : failure; }
  friend bool operator==(const Operation&, const Operation&) = default;
};

struct History {
  // The store before the first operation.
  std::int64_t start_revision = 1;
  std::vector<KeyValue> start;
  std::vector<Operation> operations;

  friend bool operator==(const History&, const History&) = default;
};

// True if the key lies in the range of a request.
bool InRange(const std::string& key, const std::string& from, const std::string& range_end);

// True if it can change something; for an acknowledged one, if it did.
bool MayWrite(const Operation& operation);
bool Wrote(const Operation& operation);

Operation Put(std::string client, std::int64_t call, std::string key, std::string value);
Operation Delete(std::string client, std::int64_t call, std::string key,
                 std::string range_end = {});
Operation Read(std::string client, std::int64_t call, std::string key, std::string range_end = {});

}  // namespace kvorum::linearizability
