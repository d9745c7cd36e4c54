#include "api/entries/conf_state_json.h"

#include <gtest/gtest.h>

namespace kvorum::server {
namespace {

TEST(ConfStateJson, IsAsEtcdWritesIt) {
  EXPECT_EQ(EncodeConfStateJson({.voters = {1, 2}}), R"({"voters":[1,2],"auto_leave":false})");
  EXPECT_EQ(
      EncodeConfStateJson({.voters = {raft::MemberId{18446744073709551615U}}, .learners = {7}}),
      R"({"voters":[18446744073709551615],"learners":[7],"auto_leave":false})");
}

TEST(ConfStateJson, GivesBackEveryField) {
  const raft::ConfState state = {.voters = {1, 2},
                                 .learners = {3},
                                 .voters_outgoing = {1, 4},
                                 .learners_next = {4},
                                 .auto_leave = true};
  EXPECT_EQ(DecodeConfStateJson(EncodeConfStateJson(state)).value(), state);
}

TEST(ConfStateJson, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "{", R"({"voters":1})", R"({"voters":["1"]})",
                           R"({"voters":[-1]})", R"({"auto_leave":1})"}) {
    EXPECT_EQ(DecodeConfStateJson(text).error().code, Code::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace kvorum::server
