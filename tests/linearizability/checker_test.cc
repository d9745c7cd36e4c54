// Histories that are known to be good or bad, each as a reader would write them down.
#include "tests/linearizability/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/linearizability/history_text.h"

namespace kvorum::linearizability {
namespace {

using ::testing::HasSubstr;

Verdict Check(std::string_view text) {
  const Result<History> history = ParseHistory(text);
  EXPECT_TRUE(history.has_value()) << (history.has_value() ? "" : history.error().message);
  return CheckHistory(history.value_or(History()));
}

void ExpectFine(std::string_view text) {
  const Verdict verdict = Check(text);
  EXPECT_TRUE(verdict.ok()) << Name(verdict.flaw) << ": " << verdict.explanation;
}

void ExpectFlaw(Flaw flaw, std::string_view text) {
  const Verdict verdict = Check(text);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kViolation);
  EXPECT_EQ(Name(verdict.flaw), Name(flaw)) << verdict.explanation;
}

TEST(CheckerTest, OverlappingOperationsMayHappenInEitherOrder) {
  ExpectFine(R"(
a 0 10 put k 1 -> 3
b 5 15 put k 2 -> 2
c 7 20 get k -> 1
c 30 40 get k -> 3 k=1@3,2,2
)");
}

TEST(CheckerTest, AnEmptyHistoryIsLinearizable) { ExpectFine(""); }

TEST(CheckerTest, TheStartIsWhereTheStoreWas) {
  ExpectFine(
      "start 9 k=old@4,3,2\na 0 1 get k -> 9 k=old@4,3,2\na 2 3 put k new -> 10\n"
      "a 4 5 get k -> 10 k=new@10,3,3\n");
  ExpectFlaw(Flaw::kRevisionWentBack, "start 9\na 0 1 put k 1 -> 9\n");
}

TEST(CheckerTest, AStaleReadIsFound) {
  ExpectFlaw(Flaw::kStaleRead, R"(
a 0 10 put k 1 -> 2
a 20 30 put k 2 -> 3
b 40 50 get k -> 2 k=1@2,2,1
)");
}

TEST(CheckerTest, AReadThatIsStaleBesideAnotherReadIsFound) {
  ExpectFlaw(Flaw::kStaleRead, R"(
a 0 100 put k 1 -> 2
b 10 20 get k -> 2 k=1@2,2,1
c 30 40 get k -> 1
)");
}

TEST(CheckerTest, ASerializableReadMayBeStaleButNotWrong) {
  ExpectFine(R"(
a 0 10 put k 1 -> 2
a 20 30 put k 2 -> 3
b 40 50 sget k -> 2 k=1@2,2,1
)");
  ExpectFlaw(Flaw::kWrongAnswer, R"(
a 0 10 put k 1 -> 2
a 20 30 put k 2 -> 3
b 40 50 sget k -> 2 k=2@3,2,2
)");
}

TEST(CheckerTest, AReadFromTheFutureIsFound) {
  ExpectFlaw(Flaw::kReadFromTheFuture, R"(
b 0 10 get k -> 2 k=1@2,2,1
a 20 30 put k 1 -> 2
)");
  ExpectFlaw(Flaw::kReadFromTheFuture, R"(
b 0 10 sget k -> 2 k=1@2,2,1
a 20 30 put k 1 -> 2
)");
  // Its only possible maker was asked for it after it had been read.
  ExpectFlaw(Flaw::kRevisionOfNobody, R"(
b 0 10 get k -> 2 k=1@2,2,1
a 20 - put k 1 -> ?
)");
}

TEST(CheckerTest, ALostUpdateIsFound) {
  ExpectFlaw(Flaw::kLostWrite, R"(
a 0 10 put k 1 -> 2
a 20 30 put k 2 -> 3
a 40 50 put other 1 -> 4
b 60 70 get k -> 4 k=1@2,2,1
)");
  ExpectFlaw(Flaw::kLostWrite, R"(
a 0 10 put k 1 -> 2
b 60 70 get k -> 2
)");
}

TEST(CheckerTest, AnAcknowledgedWriteWhoseRevisionIsGivenAgainIsFound) {
  ExpectFlaw(Flaw::kRevisionReused, R"(
a 0 10 put k 1 -> 2
b 20 30 put k 2 -> 2
)");
}

TEST(CheckerTest, ARevisionThatGoesBackIsFound) {
  ExpectFlaw(Flaw::kRevisionWentBack, R"(
a 0 10 put k 1 -> 3
b 20 30 put k 2 -> 2
)");
}

TEST(CheckerTest, ADuplicateApplyIsFound) {
  ExpectFlaw(Flaw::kAppliedTwice, R"(
a 0 10 put k 1 -> 2
b 20 30 put k 2 -> 3
c 40 50 get k -> 4 k=1@4,2,3
)");
  // No client saw its value, but there is an extra revision.
  ExpectFlaw(Flaw::kRevisionOfNobody, R"(
a 0 10 put k 1 -> 2
b 20 30 put k 2 -> 4
)");
  // Without an answer it may happen once, not twice.
  ExpectFine(R"(
a 0 - put k 1 -> ?
c 40 50 get k -> 2 k=1@2,2,1
)");
  ExpectFlaw(Flaw::kAppliedTwice, R"(
a 0 - put k 1 -> ?
c 40 50 get k -> 2 k=1@2,2,1
c 60 70 get k -> 3 k=1@3,2,2
)");
}

TEST(CheckerTest, AnUnknownOutcomeMayTakeEffectLateOrNever) {
  ExpectFine(R"(
a 0 - put k 1 -> ?
b 10 20 put k 2 -> 2
b 30 40 get k -> 2 k=2@2,2,1
b 50 60 get k -> 3 k=1@3,2,2
)");
  ExpectFine(R"(
a 0 - put k 1 -> ?
b 10 20 put k 2 -> 2
b 30 40 get k -> 2 k=2@2,2,1
)");
  // Not before it was called.
  ExpectFlaw(Flaw::kRevisionOfNobody, R"(
b 10 20 put k 2 -> 3
a 30 - put k 1 -> ?
)");
}

TEST(CheckerTest, WhichUnknownWriteMadeAGapIsFoundFromWhatCameLater) {
  // Two gaps, three writes without an answer: the versions tell that both gaps are k's, and that
  // b's value is not the last.
  const Verdict verdict = Check(R"(
a 0 10 put k 0 -> 2
a 20 - put other 1 -> ?
b 20 - put k 1 -> ?
c 20 - put k 2 -> ?
d 30 40 put x 1 -> 5
d 50 60 get k -> 5 k=2@4,2,3
)");
  EXPECT_TRUE(verdict.ok()) << verdict.explanation;
  EXPECT_EQ(verdict.unknown_applied, 2U);
  ExpectFlaw(Flaw::kWrongAnswer, R"(
a 0 10 put k 0 -> 2
a 20 - put other 1 -> ?
c 20 - put k 2 -> ?
d 30 40 put x 1 -> 5
d 50 60 get k -> 5 k=2@4,2,3
)");
}

TEST(CheckerTest, ADeleteOfNothingMakesNoRevision) {
  ExpectFine(R"(
a 0 10 put k 1 -> 2
a 20 30 del k -> 3 1
a 40 50 del k -> 3 0
a 60 70 get a z -> 3
a 80 90 put k 2 -> 4
a 92 94 get k -> 4 k=2@4,4,1
)");
  ExpectFlaw(Flaw::kWrongAnswer, "a 0 10 put k 1 -> 2\na 20 30 del k -> 2 0\n");
}

TEST(CheckerTest, ARangeIsOfOneMoment) {
  ExpectFine(R"(
a 0 10 put k1 1 -> 2
b 0 10 put k2 1 -> 3
c 0 10 get k k%ff -> 2 k1=1@2,2,1
c 20 30 get k %00 -> 3 k1=1@2,2,1 k2=1@3,3,1
)");
  ExpectFlaw(Flaw::kLostWrite, R"(
a 0 10 put k1 1 -> 2
b 0 10 put k2 1 -> 3
c 20 30 get k k%ff -> 3 k2=1@3,3,1
)");
}

TEST(CheckerTest, TransactionsAreAllOrNothing) {
  ExpectFine(R"(
a 0 10 put k 1 -> 2
b 5 20 txn if mod(k)=2 then put k 2 ; put l 2 ; get k else get k -> 3 yes put ; put ; get k=2@3,2,2
c 5 20 txn if mod(k)=2 then put k 3 else get k -> 3 no get k=2@3,2,2
d 30 40 get a z -> 3 k=2@3,2,2 l=2@3,3,1
)");
  ExpectFlaw(Flaw::kLostWrite, R"(
a 0 10 txn then put k 1 ; put l 1 -> 2 yes put ; put
b 20 30 get l -> 2
)");
  // Both compare-and-swaps of one state cannot succeed.
  ExpectFlaw(Flaw::kWrongAnswer, R"(
a 0 10 put k 1 -> 2
b 5 20 txn if mod(k)=2 then put k 2 -> 3 yes put
c 5 20 txn if mod(k)=2 then put k 3 -> 4 yes put
)");
}

TEST(CheckerTest, AnUnknownTransactionDoesWhatItsComparesAllow) {
  ExpectFine(R"(
a 0 10 put k 1 -> 2
b 11 - txn if value(k)=1 then put k 2 -> ?
b 11 - txn if value(k)=9 then put k 2 -> ?
c 20 30 get k -> 3 k=2@3,2,2
)");
  ExpectFlaw(Flaw::kRevisionOfNobody, R"(
a 0 10 put k 1 -> 2
b 11 - txn if value(k)!=1 then put k 2 -> ?
c 20 30 get k -> 3 k=2@3,2,2
)");
}

TEST(CheckerTest, AnExplanationShowsTheTwoThatContradictEachOther) {
  const Verdict verdict = Check(R"(
a 0 10 put k 1 -> 2
x 11 12 put y 1 -> 3
a 20 30 put k 2 -> 4
x 31 32 put y 2 -> 5
b 40 50 get k -> 5 k=1@2,2,1
)");
  EXPECT_EQ(verdict.explanation,
            "at revision 5 it found k=1@2,2,1, but there was k=2@4,2,2:\n"
            "  b 40 50 get k -> 5 k=1@2,2,1\n"
            "revision 4 was made by\n"
            "  a 20 30 put k 2 -> 4\n"
            "revision 2 was made by\n"
            "  a 0 10 put k 1 -> 2\n");
}

TEST(CheckerTest, WithoutRevisionsTheOrderIsSearchedFor) {
  ExpectFine(R"(
a 0 10 put k 1 -> -
b 5 15 put k 2 -> -
c 20 30 get k -> - k=1
d 0 1 put other 1 -> -
)");
  ExpectFlaw(Flaw::kNoOrder, R"(
a 0 10 put k 1 -> -
b 5 15 put k 2 -> -
c 20 30 get k -> - k=1
c 40 50 get k -> - k=2
)");
  const Verdict verdict = Check("a 0 10 put k 1 -> -\nb 20 30 get k -> -\n");
  EXPECT_THAT(verdict.explanation, HasSubstr("b 20 30 get k -> -"));
}

TEST(CheckerTest, GivingUpIsNoVerdict) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += "a 0 100 put k " + std::to_string(i) + " -> -\n";
  }
  text += "a 200 300 get k -> - k=none\n";
  const Verdict verdict = CheckHistory(*ParseHistory(text), {.max_steps = 1000});
  EXPECT_EQ(verdict.kind, Verdict::Kind::kUndecided);
}

}  // namespace
}  // namespace kvorum::linearizability
