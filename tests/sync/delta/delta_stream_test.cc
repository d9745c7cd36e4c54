// The delta discovery protocol of one stream, seen from the server.
#include "sync/delta/delta_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/delta/reconciler.h"

namespace kvorum::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using TextsByName = std::map<std::string, std::string>;

class SyncDeltaStream : public testing::Test {
 protected:
  // The type's resources are these from now on.
  void State(const TextsByName& texts, const std::string& type = "dp") {
    Objects objects;
    for (const auto& [name, text] : texts)
      objects[name] = std::make_shared<const std::string>(text);
    reconciler.Update(type, objects);
    snapshot = *reconciler.Build(nullptr, {type}, snapshot);
    stream.Offer(snapshot);
  }
  DeltaAnswer Say(DeltaRequest request) {
    if (request.type.empty()) request.type = "dp";
    const auto answer = stream.Receive(request);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(DeltaAnswer::kNone);
  }
  // The names of the resources sent, and those removed behind a minus; "-" if nothing is sent.
  std::vector<std::string> Next() {
    auto response = stream.Next();
    if (!response) return {"nothing"};
    last = *response;
    std::vector<std::string> names;
    for (const auto& resource : last.resources) names.push_back(resource.name);
    for (const auto& name : last.removed) names.push_back("-" + name);
    return names;
  }
  DeltaAnswer Acknowledge() { return Say({.type = last.type, .nonce = last.nonce}); }
  DeltaAnswer Refuse(std::string why) {
    return Say({.type = last.type, .nonce = last.nonce, .refusal = std::move(why)});
  }
  SubscriptionState Shown() { return stream.States().at(0); }

  DeltaLimits limits{.max_message_bytes = 1000, .max_names_bytes = 1000, .max_refusal_bytes = 20};
  Reconciler reconciler;
  Snapshot snapshot;
  DeltaStream stream{limits};
  DeltaResponse last;
};

TEST_F(SyncDeltaStream, W12_AStreamWithoutVersionsGetsTheWholeSetAndThenDifferences) {
  State({{"a", "1"}, {"b", "1"}});
  EXPECT_THAT(Next(), ElementsAre("nothing")) << "nobody asked";
  Say({});
  EXPECT_THAT(Next(), ElementsAre("a", "b"));
  EXPECT_EQ(last.nonce, "1");
  EXPECT_EQ(last.resources[0].version, HashOf("1").Hex());
  EXPECT_EQ(last.system_version, snapshot["dp"]->version.Hex());
  EXPECT_EQ(Acknowledge(), DeltaAnswer::kAccepted);
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  State({{"b", "2"}, {"c", "1"}});
  EXPECT_THAT(Next(), ElementsAre("b", "c", "-a"));
}

TEST_F(SyncDeltaStream, W12_AnEmptySetIsSentToAStreamWithoutVersions) {
  Say({});
  EXPECT_THAT(Next(), ElementsAre("nothing")) << "the type has not been read";
  State({});
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(last.nonce, "1");
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("nothing"));
}

TEST_F(SyncDeltaStream, W8_AStreamThatPresentsItsVersionsGetsOnlyDifferences) {
  State({{"a", "1"}, {"b", "1"}});
  Say({.initial_versions = {{"a", HashOf("1").Hex()}, {"b", HashOf("1").Hex()}}});
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  State({{"a", "1"}, {"b", "2"}});
  EXPECT_THAT(Next(), ElementsAre("b"));
}

TEST_F(SyncDeltaStream, W8_PresentedVersionsThatDifferOrAreGoneAreSent) {
  State({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  Say({.initial_versions = {{"a", HashOf("0").Hex()},
                            {"b", HashOf("1").Hex()},
                            {"c", "not a hash"},
                            {"d", HashOf("1").Hex()}}});
  EXPECT_THAT(Next(), ElementsAre("a", "c", "-d"));
}

TEST_F(SyncDeltaStream, W9_TheLastResourceOfATypeIsRemoved) {
  State({{"a", "1"}});
  Say({});
  Next();
  Acknowledge();
  State({});
  EXPECT_THAT(Next(), ElementsAre("-a"));
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("nothing"));
}

TEST_F(SyncDeltaStream, W10_OneResponseWaitsForItsAnswerAndTheNewestStateFollows) {
  State({{"a", "1"}});
  Say({});
  EXPECT_THAT(Next(), ElementsAre("a"));
  State({{"a", "2"}, {"b", "1"}});
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  State({{"a", "3"}});
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  EXPECT_EQ(Say({.nonce = "17"}), DeltaAnswer::kNone) << "not its nonce";
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("a"));
  EXPECT_EQ(*last.resources[0].bytes, "3");
  // A change that was undone meanwhile is not sent at all.
  State({{"a", "4"}});
  State({{"a", "3"}});
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("nothing"));
}

TEST_F(SyncDeltaStream, W10_TypesWaitForTheirOwnAnswersAndTakeTurns) {
  State({{"a", "1"}});
  State({{"m", "1"}}, "mesh");
  Say({});
  Say({.type = "mesh"});
  EXPECT_THAT(Next(), ElementsAre("a"));
  EXPECT_THAT(Next(), ElementsAre("m"));
  EXPECT_EQ(last.nonce, "2");
  Acknowledge();
  State({{"m", "2"}}, "mesh");
  State({{"a", "2"}});
  EXPECT_THAT(Next(), ElementsAre("m"));
  EXPECT_THAT(Next(), ElementsAre("nothing"));
}

TEST_F(SyncDeltaStream, W11_ARefusedResourceIsNotSentAgainBeforeItChanges) {
  State({{"a", "1"}, {"b", "1"}});
  Say({});
  Next();
  EXPECT_EQ(Refuse("a: not JSON"), DeltaAnswer::kRefused);
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  EXPECT_EQ(Shown().refused, "1");
  EXPECT_EQ(Shown().refusal, "a: not JSON");
  EXPECT_EQ(Shown().acknowledged, "");
  State({{"a", "2"}, {"b", "1"}});
  EXPECT_THAT(Next(), ElementsAre("a"));
  Acknowledge();
  EXPECT_EQ(Shown().acknowledged, "2");
  EXPECT_EQ(Shown().refusal, "");
}

TEST_F(SyncDeltaStream, TheTextOfARefusalIsBounded) {
  State({{"a", "1"}});
  Say({});
  Next();
  Refuse(std::string(1000, 'x'));
  EXPECT_EQ(Shown().refusal, std::string(20, 'x'));
}

TEST_F(SyncDeltaStream, ALargeSetIsCutAndOnlyTheLastPartIsUnmarked) {
  TextsByName texts;
  for (char name = 'a'; name <= 'e'; ++name) texts[std::string(1, name)] = std::string(300, name);
  State(texts);
  Say({});
  EXPECT_THAT(Next(), ElementsAre("a", "b"));
  EXPECT_EQ(last.system_version, snapshot["dp"]->version.Hex() + "+");
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  Acknowledge();
  texts.erase("a");
  texts["f"] = "1";
  State(texts);  // meanwhile
  EXPECT_THAT(Next(), ElementsAre("c", "d", "-a"));
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("e", "f"));
  EXPECT_EQ(last.system_version, snapshot["dp"]->version.Hex());
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  // The parts are forgotten: each later change is sent once.
  for (const char* name : {"b", "c"}) {
    texts[name] = "2";
    State(texts);
    EXPECT_THAT(Next(), ElementsAre(name));
    Acknowledge();
  }
}

TEST_F(SyncDeltaStream, AResourceBeyondTheLimitGoesAlone) {
  State({{"a", "1"}, {"b", std::string(5000, 'b')}, {"c", "1"}});
  Say({});
  EXPECT_THAT(Next(), ElementsAre("a"));
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("b"));
  Acknowledge();
  EXPECT_THAT(Next(), ElementsAre("c"));
}

TEST_F(SyncDeltaStream, NamesAreAnsweredOneByOneAndUnknownOnesAreRemoved) {
  State({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  Say({.subscribe = {"a", "x"}});
  EXPECT_THAT(Next(), ElementsAre("a", "-x"));
  Acknowledge();
  State({{"a", "1"}, {"b", "2"}, {"x", "1"}});
  EXPECT_THAT(Next(), ElementsAre("x"));
  Acknowledge();
  Say({.subscribe = {"a"}});
  EXPECT_THAT(Next(), ElementsAre("a")) << "asked for again, so it may have been dropped";
  Acknowledge();
  Say({.unsubscribe = {"a"}});
  State({{"a", "2"}, {"x", "2"}});
  EXPECT_THAT(Next(), ElementsAre("x"));
  Acknowledge();
  Say({.subscribe = {"*"}});
  EXPECT_THAT(Next(), ElementsAre("a"));
}

TEST_F(SyncDeltaStream, EverythingMayBeGivenUpForNames) {
  State({{"a", "1"}, {"b", "1"}});
  Say({.subscribe = {"*", "b"}});
  Next();
  Say({.unsubscribe = {"*"}});  // before it is acknowledged
  Acknowledge();
  State({{"a", "2"}, {"b", "1"}});
  EXPECT_THAT(Next(), ElementsAre("nothing"));
  State({{"a", "2"}, {"b", "2"}});
  EXPECT_THAT(Next(), ElementsAre("b"));
  Acknowledge();
  Say({.subscribe = {"*"}});
  EXPECT_THAT(Next(), ElementsAre("a"));
}

TEST_F(SyncDeltaStream, NamesAreBoundedInBytes) {
  const auto asks = stream.Receive({.type = "dp", .subscribe = {std::string(1001, 'n')}});
  ASSERT_FALSE(asks);
  EXPECT_EQ(asks.error().code, Code::kResourceExhausted);
  const auto presents =
      stream.Receive({.type = "mesh", .initial_versions = {{std::string(1001, 'n'), "1"}}});
  ASSERT_FALSE(presents);
  EXPECT_EQ(presents.error().code, Code::kResourceExhausted);
}

TEST_F(SyncDeltaStream, EachNameCountsWhatItTakesBesideItsCharacters) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  DeltaRequest asks{.type = "dp", .subscribe = names};
  DeltaRequest presents{.type = "mesh"};
  for (const std::string& name : names) presents.initial_versions[name] = "1";
  EXPECT_TRUE(stream.Receive(asks));  // 9 names of a byte: 909 of 1,000 bytes
  EXPECT_TRUE(stream.Receive(presents));
  EXPECT_TRUE(stream.Receive(asks)) << "the same names again";
  EXPECT_TRUE(stream.Receive({.type = "dp", .unsubscribe = {"a"}}));
  EXPECT_TRUE(stream.Receive({.type = "dp", .subscribe = {"j"}}));
  const auto one_more = stream.Receive({.type = "dp", .subscribe = {"k"}});
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace kvorum::sync
