// What a call does about an error: the one home of the rules by which the client tries again.
//
// Pure functions. They are those of the Go client: reads go on at another member while the answer
// is Unavailable; writes only where it is certain that no member has seen them; a token that is not
// valid any more is renewed, if there is a password to do it with.
#pragma once

#include <string_view>

#include "base/error.h"

namespace kvorum::client {

enum class Repeat {
  kRead,   // may be sent any number of times
  kWrite,  // must not be applied twice
};

// What the client shows to the server.
enum class Credentials {
  kNone,  // nothing, or a certificate
  kPassword,
  kToken,  // one that was given out by someone else: it can't be renewed here
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

// True for errors by which a server says that it does not take the token, whatever the call.
bool IsTokenRefused(const Error& error, const Attempt& attempt);

// The error within "rpc error: code = NAME desc = TEXT", as watches give their reasons; a text that
// has no such form is an error of code Unknown.
Error ParseReason(std::string_view reason);

}  // namespace kvorum::client
