// Decides what a call does after an error: the single home of the client's retry rules.
//
// Pure functions, with the rules of the Go client: reads go on at another member while the answer
// is Unavailable; writes only if it is certain that no member has seen them; a token that is no
// longer valid is renewed, if there is a password.
#pragma once

#include <string_view>

#include "base/error.h"

namespace kvorum::client {

enum class Repeat {
  kRead,   // may be sent any number of times
  kWrite,  // must not be applied twice
};

// The credentials that the client sends.
enum class Credentials {
  kNone,  // nothing, or a certificate
  kPassword,
  kToken,  // obtained by someone else: it can't be renewed here
};

enum class NextStep {
  kFail,
  kAnotherMember,
  kNewToken,
};

struct Attempt {
  Repeat repeat = Repeat::kWrite;
  Credentials credentials = Credentials::kNone;
  bool showed_token = false;
  bool has_other_members = false;
  bool is_out_of_time = false;  // the call's own deadline has passed
};

NextStep AfterError(const Error& error, const Attempt& attempt);

// True for errors by which a server refuses the token, on any call.
bool IsTokenRefused(const Error& error, const Attempt& attempt);

// The error within "rpc error: code = NAME desc = TEXT", as watches give their reasons; any other
// text is an error of code Unknown.
Error ParseReason(std::string_view reason);

}  // namespace kvorum::client
