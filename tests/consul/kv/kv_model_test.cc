// KV beside a simple model: random single requests and transactions, with other clients that write
// between a request's read and its write. What the store has in the end, and each answer, must be
// what some order of the writers gives: here the other client's writes come first.
#include <gtest/gtest.h>

#include <optional>

#include "base/base64.h"
#include "base/rng.h"
#include "tests/consul/kv/kv_world.h"

namespace kvorum::consul {
namespace {

struct ModelKey {
  std::string value;
  std::uint64_t flags = 0;
  std::uint64_t lock_index = 0;
  std::string session;
  std::int64_t create = 0;
  std::int64_t modify = 0;
};
using Model = std::map<std::string, ModelKey>;

struct Step {
  std::string verb;
  std::string key;
  std::string value = {};
  std::uint64_t flags = 0;
  std::uint64_t index = 0;
  std::string session = {};
};

// The API's rules, as plainly as its description has them. False: refused. kNow stands for
// the revision of the write.
constexpr std::int64_t kNow = -1;
bool Apply(Model& model, const Step& step) {
  const auto found = model.find(step.key);
  const bool is_there = found != model.end();
  const auto write = [&](std::uint64_t lock_index, const std::string& session) {
    ModelKey& key = model[step.key];
    const bool is_same = is_there && key.value == step.value && key.flags == step.flags &&
                         key.lock_index == lock_index && key.session == session;
    if (is_same) return true;
    key.value = step.value;
    key.flags = step.flags;
    key.lock_index = lock_index;
    key.session = session;
    if (!is_there) key.create = kNow;
    key.modify = kNow;
    return true;
  };
  const bool is_current = is_there && found->second.modify == static_cast<std::int64_t>(step.index);
  const std::uint64_t lock_index = is_there ? found->second.lock_index : 0;
  const std::string holder = is_there ? found->second.session : "";
  if (step.verb == "set") return write(lock_index, holder);
  if (step.verb == "cas") {
    if (step.index == 0 ? is_there : !is_current) return false;
    return write(lock_index, holder);
  }
  if (step.verb == "lock") {
    if (!holder.empty() && holder != step.session) return false;
    return write(holder.empty() ? lock_index + 1 : lock_index, step.session);
  }
  if (step.verb == "unlock") {
    if (holder != step.session) return false;
    return write(lock_index, "");
  }
  if (step.verb == "delete-cas" && is_there && !is_current) return false;
  if (step.verb == "check-index") return is_current;
  if (step.verb == "check-session") return is_there && holder == step.session;
  if (step.verb == "check-not-exists") return !is_there;
  if (step.verb == "delete-tree") {
    std::erase_if(model, [&](const auto& key) { return key.first.starts_with(step.key); });
    return true;
  }
  if (is_there) model.erase(found);
  return true;
}

void Stamp(Model& model, const Model& before, std::int64_t revision) {
  for (auto& [name, key] : model) {
    if (key.modify == kNow) key.modify = revision;
    if (key.create != kNow) continue;
    // A key that is deleted and written in one transaction is written over.
    const auto old = before.find(name);
    key.create = old == before.end() ? revision : old->second.create;
  }
}

class KvModelTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  KvModelTest() {
    world_.StartWithNode();
    sessions_ = {world_.NewSession(), world_.NewSession()};
  }

  Step RandomStep() {
    static const std::vector<std::string> kVerbs = {"set",           "set",
                                                    "set",           "cas",
                                                    "cas",           "lock",
                                                    "lock",          "unlock",
                                                    "delete",        "delete-cas",
                                                    "delete-tree",   "check-index",
                                                    "check-session", "check-not-exists"};
    static const std::vector<std::string> kKeys = {"a", "a/1", "a/2", "ab", "b", "b/1"};
    Step step{.verb = kVerbs[rng_.Below(kVerbs.size())],
              .key = kKeys[rng_.Below(kKeys.size())],
              .value = std::to_string(rng_.Below(3)),
              .flags = rng_.Below(2),
              .session = sessions_[rng_.Below(sessions_.size())]};
    const auto found = model_.find(step.key);
    if (found != model_.end() && !rng_.OneIn(4))
      step.index = static_cast<std::uint64_t>(found->second.modify);
    return step;
  }

  // Another client's write of a value comes between our read and our write.
  void MaybeInterfere() {
    world_.store.set_before_write(nullptr);
    if (!rng_.OneIn(4)) return;
    const Step other{.verb = "set", .key = rng_.OneIn(2) ? "a/1" : "b", .value = "other"};
    world_.store.set_before_write([this, other] {
      world_.store.set_before_write(nullptr);
      const std::int64_t revision = world_.store.Put("/kvorum/kv/" + other.key, other.value);
      ModelKey& key = model_[other.key];
      key.value = other.value;
      if (key.create == 0) key.create = revision;
      key.modify = revision;
    });
  }

  void RunOne(const Step& step) {
    std::string target = "kv/" + step.key + "?flags=" + std::to_string(step.flags);
    std::string method = "PUT";
    if (step.verb == "cas") target += "&cas=" + std::to_string(step.index);
    if (step.verb == "lock") target += "&acquire=" + step.session;
    if (step.verb == "unlock") target += "&release=" + step.session;
    if (step.verb.starts_with("delete")) method = "DELETE";
    if (step.verb == "delete-cas") target += "&cas=" + std::to_string(step.index);
    if (step.verb == "delete-tree") target += "&recurse";
    const auto answer = world_.Ask(method, target, step.value);
    Model next = model_;
    const bool is_done = Apply(next, step);
    EXPECT_EQ(answer->line(), is_done ? "200 true" : "200 false") << step.verb << " " << step.key;
    if (!is_done) return;
    Stamp(next, model_, world_.store.revision());
    model_ = std::move(next);
  }

  void RunTxn(const std::vector<Step>& steps) {
    Json body = Json::array();
    for (const Step& step : steps)
      body.push_back({{"KV",
                       {{"Verb", step.verb},
                        {"Key", step.key},
                        {"Value", EncodeBase64(Base64::kStandard, step.value)},
                        {"Flags", step.flags},
                        {"Index", step.index},
                        {"Session", step.session}}}});
    const auto answer = world_.Ask("PUT", "txn", body.dump());
    Model next = model_;
    std::vector<std::size_t> refused;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!Apply(next, steps[i])) refused.push_back(i);
    }
    if (refused.empty()) {
      EXPECT_EQ(answer->status, 200U) << body.dump() << answer->body;
      Stamp(next, model_, world_.store.revision());
      model_ = std::move(next);
      return;
    }
    ASSERT_EQ(answer->status, 409U) << body.dump() << answer->body;
    std::vector<std::size_t> said;
    const Json body_said = answer->json();
    for (const Json& error : body_said.at("Errors")) said.push_back(error.at("OpIndex"));
    EXPECT_EQ(said, refused) << body.dump();
  }

  void Compare() {
    world_.store.set_before_write(nullptr);
    const auto answer = world_.Ask("GET", "kv/?recurse");
    const Json pairs = answer->status == 404 ? Json::array() : answer->json();
    ASSERT_EQ(pairs.size(), model_.size());
    std::size_t i = 0;
    for (const auto& [name, key] : model_) {
      const Json& pair = pairs.at(i++);
      EXPECT_EQ(pair.at("Key"), name);
      EXPECT_EQ(pair.at("Value"), EncodeBase64(Base64::kStandard, key.value)) << name;
      EXPECT_EQ(pair.at("Flags"), key.flags) << name;
      EXPECT_EQ(pair.at("LockIndex"), key.lock_index) << name;
      EXPECT_EQ(pair.value("Session", ""), key.session) << name;
      EXPECT_EQ(pair.at("CreateIndex"), key.create) << name;
      EXPECT_EQ(pair.at("ModifyIndex"), key.modify) << name;
    }
  }

  KvWorld world_;
  Rng rng_{GetParam()};
  Model model_;
  std::vector<std::string> sessions_;
};

TEST_P(KvModelTest, AnswersAndContentsAreThoseOfTheModel) {
  for (int round = 0; round < 150 && !HasFailure(); ++round) {
    MaybeInterfere();
    if (rng_.OneIn(2)) {
      Step step = RandomStep();
      while (step.verb.starts_with("check")) step = RandomStep();
      RunOne(step);
    } else {
      std::vector<Step> steps;
      for (std::uint64_t n = rng_.Below(5) + 1; n > 0; --n) steps.push_back(RandomStep());
      RunTxn(steps);
    }
    Compare();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KvModelTest, testing::Range<std::uint64_t>(1, 25));

}  // namespace
}  // namespace kvorum::consul
