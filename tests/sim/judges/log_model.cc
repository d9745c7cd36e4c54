#include "tests/sim/judges/log_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "auth/password.h"
#include "base/check.h"
#include "mvcc/records/key_value.h"
#include "proto/raft_internal.pb.h"
#include "tests/linearizability/history.h"

namespace kvorum::sim {
namespace {

bool HasPut(const etcdserverpb::TxnRequest& txn) {
  const auto puts = [](const etcdserverpb::RequestOp& op) {
    return op.has_request_put() || (op.has_request_txn() && HasPut(op.request_txn()));
  };
  return std::ranges::any_of(txn.success(), puts) || std::ranges::any_of(txn.failure(), puts);
}

template <class T>
bool Compares(const T& held, const T& asked, etcdserverpb::Compare::CompareResult relation) {
  switch (relation) {
    case etcdserverpb::Compare::EQUAL:
      return held == asked;
    case etcdserverpb::Compare::GREATER:
      return held > asked;
    case etcdserverpb::Compare::LESS:
      return held < asked;
    default:
      return held != asked;
  }
}

// A member's, in the words of AuthModel::Text.
std::string TextOf(const auth::AuthState& state) {
  std::string text = fmt::format("{} at {}\n", state.enabled() ? "on" : "off", state.revision());
  std::vector<std::string> lines;
  for (const std::string& name : state.UserNames()) {
    const auth::User& user = *state.FindUser(name);
    const std::string hash =
        user.password_hash().empty() ? std::string() : auth::EncodeHash(user.password_hash());
    std::string line = fmt::format("user {} {}{}", name, hash,
                                   user.is_without_password() ? " without password" : "");
    for (const std::string& role : user.roles()) line += " " + role;
    lines.push_back(std::move(line));
  }
  for (const std::string& name : state.RoleNames()) {
    lines.push_back("role " + name);
    for (const auth::Permission& each : state.FindRole(name)->record().permissions) {
      lines.push_back(fmt::format("grant {} {} to {}{}{}", name, each.key,
                                  IsOpenEnd(each.range_end) ? "the end" : each.range_end,
                                  auth::AllowsRead(each.type) ? " read" : "",
                                  auth::AllowsWrite(each.type) ? " write" : ""));
    }
  }
  std::ranges::sort(lines);
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

// ---- the log ----

void LogModel::Take(const raft::Entry& entry) {
  KV_CHECK(entry.index == last() + 1, "the model of the log misses an entry");
  if (entry.type == raft::EntryType::kNormal && !entry.data.empty()) {
    Entry request;
    KV_CHECK(request.ParseFromString(std::string(entry.data.view())), "no request is in the log");
    Apply(request);
    FinishRevision();
  }
  points_.push_back(now_);
}

void LogModel::Apply(const Entry& entry) {
  if (IsRefusedAsCorrupt(entry)) return world_.faults.Add(Fault::kRefusedAsCorrupt);
  if (AuthModel::IsChange(entry)) {
    ApplyAuth(entry);
  } else if (entry.has_authenticate()) {
    LogIn(entry);
  } else if (entry.has_put()) {
    Put(entry);
  } else if (entry.has_delete_range()) {
    Delete(entry);
  } else if (entry.has_txn()) {
    Txn(entry);
  } else if (entry.has_lease_grant()) {
    if (alarms_.empty()) leases_.insert(entry.lease_grant().id());
  } else if (entry.has_lease_revoke()) {
    RevokeLease(entry);
  } else if (entry.has_alarm()) {
    const std::pair alarm(entry.alarm().memberid(), static_cast<int>(entry.alarm().alarm()));
    if (entry.alarm().action() == etcdserverpb::AlarmRequest::ACTIVATE) alarms_.insert(alarm);
    if (entry.alarm().action() == etcdserverpb::AlarmRequest::DEACTIVATE) alarms_.erase(alarm);
  }
}

bool LogModel::IsRefusedAsCorrupt(const Entry& entry) const {
  const auto is_corrupt = [](const auto& alarm) { return alarm.second == etcdserverpb::CORRUPT; };
  return std::ranges::any_of(alarms_, is_corrupt) &&
         (entry.has_put() || entry.has_delete_range() || entry.has_txn() ||
          entry.has_lease_grant() || entry.has_lease_revoke());
}

void LogModel::ApplyAuth(const Entry& entry) {
  auto changed = std::make_shared<AuthModel>(*now_.auth);
  const AuthModel::Outcome outcome = changed->Apply(entry);
  if (outcome == AuthModel::Outcome::kRefused) world_.faults.Add(Fault::kAuthChangeRefused);
  if (outcome != AuthModel::Outcome::kChanged) return;
  world_.faults.Add(Fault::kAuthChanged);
  if (entry.has_auth_enable()) world_.faults.Add(Fault::kAuthEnabled);
  if (entry.has_auth_disable()) world_.faults.Add(Fault::kAuthDisabled);
  for (auto& [name, token] : tokens_) {
    const bool ends =
        entry.has_auth_disable() ||
        (entry.has_auth_user_delete() && entry.auth_user_delete().name() == token.user) ||
        (entry.has_auth_user_change_password() &&
         entry.auth_user_change_password().name() == token.user);
    if (ends && token.until == 0) token.until = last() + 1;
  }
  now_.auth = std::move(changed);
}

void LogModel::LogIn(const Entry& entry) {
  const std::string& user = entry.authenticate().name();
  if (!now_.auth->enabled() || !now_.auth->MayLogIn(user)) return;
  const raft::Index index = last() + 1;
  // Named after the index applied before it, as in etcd.
  const std::string token = fmt::format("{}.{}", entry.authenticate().simple_token(), index - 1);
  tokens_.emplace(token, Token{.user = user, .from = index});
}

bool LogModel::IsAllowed(const Entry& entry, const std::vector<KeyNeed>& needs) {
  if (!now_.auth->enabled()) return true;
  const std::uint64_t revision = entry.header().auth_revision();
  if (revision == 0) {
    world_.faults.Add(Fault::kAuthOfNobody);
    return false;
  }
  if (revision < now_.auth->revision()) {
    world_.faults.Add(Fault::kAuthOutdated);
    return false;
  }
  if (now_.auth->MayAll(entry.header().username(), needs)) return true;
  world_.faults.Add(Fault::kAuthDeniedInLog);
  return false;
}

// ---- keys ----

void LogModel::Put(const Entry& entry) {
  const auto& put = entry.put();
  if (!alarms_.empty()) return;
  std::vector<KeyNeed> needs = NeedsOfLease(put.lease());
  needs.push_back({.writes = true, .key = put.key()});
  if (put.prev_kv()) needs.push_back({.writes = false, .key = put.key()});
  if (!IsAllowed(entry, needs)) return;
  if (put.lease() != 0 && !leases_.contains(put.lease())) return;
  PutRow(put);
}

void LogModel::Delete(const Entry& entry) {
  const auto& del = entry.delete_range();
  std::vector<KeyNeed> needs{{.writes = true, .key = del.key(), .range_end = del.range_end()}};
  if (del.prev_kv())
    needs.push_back({.writes = false, .key = del.key(), .range_end = del.range_end()});
  if (IsAllowed(entry, needs)) DeleteRows(del.key(), del.range_end());
}

void LogModel::Txn(const Entry& entry) {
  if (!alarms_.empty() && HasPut(entry.txn())) return;
  if (IsAllowed(entry, NeedsOf(entry.txn())) && HasLeases(entry.txn())) Run(entry.txn());
}

// The leases of what it puts, in the branch that it takes.
bool LogModel::HasLeases(const etcdserverpb::TxnRequest& txn) const {
  const auto& taken = Holds(txn) ? txn.success() : txn.failure();
  return std::ranges::all_of(taken, [&](const etcdserverpb::RequestOp& op) {
    if (op.has_request_txn()) return HasLeases(op.request_txn());
    const std::int64_t lease = op.request_put().lease();
    return lease == 0 || leases_.contains(lease);
  });
}

// A lease has no owner; a user that may not write its keys may not end it. Leases that are not
// renewed are ended in root's name.
void LogModel::RevokeLease(const Entry& entry) {
  const std::int64_t lease = entry.lease_revoke().id();
  const std::vector<KeyNeed> needs = NeedsOfLease(lease);
  const bool is_free = now_.auth->MayAdminister(entry.header().username()) || needs.empty();
  if (!is_free && !IsAllowed(entry, needs)) return;
  if (leases_.erase(lease) == 0) return;
  for (const KeyNeed& need : needs) DeleteRows(need.key, {});
}

std::vector<KeyNeed> LogModel::NeedsOfLease(std::int64_t lease) const {
  std::vector<KeyNeed> needs;
  if (lease == 0) return needs;
  for (const auto& [key, row] : rows_) {
    if (row.lease == lease) needs.push_back({.writes = true, .key = key});
  }
  return needs;
}

bool LogModel::Holds(const etcdserverpb::TxnRequest& txn) const {
  return std::ranges::all_of(txn.compare(), [&](const etcdserverpb::Compare& compare) {
    const auto found = rows_.find(compare.key());
    const Row row = found == rows_.end() ? Row{} : found->second;
    switch (compare.target()) {
      case etcdserverpb::Compare::VERSION:
        return Compares(row.version, std::int64_t{compare.version()}, compare.result());
      case etcdserverpb::Compare::CREATE:
        return Compares(row.create, std::int64_t{compare.create_revision()}, compare.result());
      case etcdserverpb::Compare::MOD:
        return Compares(row.mod, std::int64_t{compare.mod_revision()}, compare.result());
      default:
        return found != rows_.end() && Compares(row.value, compare.value(), compare.result());
    }
  });
}

void LogModel::Run(const etcdserverpb::TxnRequest& txn) {
  for (const auto& op : Holds(txn) ? txn.success() : txn.failure()) {
    if (op.has_request_put()) PutRow(op.request_put());
    if (op.has_request_delete_range())
      DeleteRows(op.request_delete_range().key(), op.request_delete_range().range_end());
    if (op.has_request_txn()) Run(op.request_txn());
  }
}

void LogModel::PutRow(const etcdserverpb::PutRequest& put) {
  Row& row = rows_[put.key()];
  const std::int64_t revision = now_.revision + 1;
  if (row.version == 0) row.create = revision;
  row.mod = revision;
  ++row.version;
  row.value = put.value();
  Attach(row.lease, put.key(), false);
  row.lease = put.lease();
  Attach(row.lease, put.key(), true);
  changed_[put.key()] = {.is_delete = false, .value = put.value()};
}

void LogModel::DeleteRows(const std::string& key, const std::string& range_end) {
  for (auto row = rows_.begin(); row != rows_.end();) {
    if (!linearizability::InRange(row->first, key, range_end)) {
      ++row;
      continue;
    }
    Attach(row->second.lease, row->first, false);
    changed_[row->first] = {.is_delete = true, .value = {}};
    row = rows_.erase(row);
  }
}

void LogModel::Attach(std::int64_t lease, const std::string& key, bool attached) {
  if (lease == 0) return;
  auto& changes = lease_keys_[lease];
  std::set<std::string> keys = changes.empty() ? std::set<std::string>() : changes.rbegin()->second;
  if (attached) {
    keys.insert(key);
  } else {
    keys.erase(key);
  }
  changes[last() + 1] = std::move(keys);
}

std::set<std::string> LogModel::KeysOf(std::int64_t lease, raft::Index index) const {
  const auto found = lease_keys_.find(lease);
  if (found == lease_keys_.end()) return {};
  const auto after = found->second.upper_bound(index);
  return after == found->second.begin() ? std::set<std::string>() : std::prev(after)->second;
}

void LogModel::FinishRevision() {
  if (changed_.empty()) return;
  ++now_.revision;
  made_.emplace(now_.revision, std::exchange(changed_, {}));
}

// ---- tokens ----

bool LogModel::IsTokenGood(const std::string& token, const std::string& user,
                           raft::Index index) const {
  const auto found = tokens_.find(token);
  return found != tokens_.end() && found->second.user == user &&
         (found->second.until == 0 || index < found->second.until);
}

raft::Index LogModel::LoginOf(const std::string& token) const {
  const auto found = tokens_.find(token);
  return found == tokens_.end() ? 0 : found->second.from;
}

raft::Index LogModel::HeardSince(const Machine& machine) const {
  const auto found = views_.find(machine.number());
  // A snapshot that was installed in the task that is still running is not seen yet.
  // Nor is what a process did last that has ended.
  const bool is_known = found != views_.end() && machine.up() &&
                        found->second.life == machine.life() &&
                        found->second.installs == machine.services().installs();
  return is_known ? found->second.heard_since : last();
}

// ---- the members ----

LogModel::View& LogModel::ViewOf(const Machine& machine) {
  View& view = views_[machine.number()];
  if (view.life != machine.life()) view = {.life = machine.life()};
  return view;
}

void LogModel::AfterApply(Machine& machine) {
  CheckPublished();
  server::LocalMember& local_member = machine.local_member();
  const raft::Index applied = local_member.replica().applied_index();
  View& view = ViewOf(machine);
  // Until the log has caught up with the backend, index and state do not belong together.
  if (applied <= view.applied ||
      applied.value() < local_member.store().recovered().consistent_index)
    return;
  if (view.applied == 0)
    view.heard_since = raft::Index{local_member.store().recovered().consistent_index};
  if (std::exchange(view.installs, machine.services().installs()) !=
      machine.services().installs()) {
    view.heard_since = applied;
    if (applied <= last() && view.model != At(applied).auth)
      world_.faults.Add(Fault::kAuthUnderSnapshot);
  }
  view.applied = applied;
  // The oracle has not seen entries that only a snapshot covers.
  if (applied > last()) return;
  if (local_member.store().revision() != RevisionAt(applied)) {
    return world_.Fail("{} has revision {} at applied index {}, and the log makes it {}",
                       machine.name(), local_member.store().revision(), applied,
                       RevisionAt(applied));
  }
  CheckAuth(machine, applied);
}

void LogModel::CheckPublished() {
  while (!made_.empty() && made_.begin()->first <= events_.last_revision()) {
    const auto& [revision, made] = *made_.begin();
    std::map<std::string, Event> published;
    for (const PublishedEvent& event : events_.At(revision)) {
      const auto kv = mvcc::DecodeKeyValue(event.record);
      KV_CHECK(kv.has_value(), "a published record is not a key-value pair");
      published[event.key] = {.is_delete = event.is_delete,
                              .value = event.is_delete ? std::string() : std::string(kv->value)};
    }
    const bool same = std::ranges::equal(published, made, [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.is_delete == b.second.is_delete &&
             a.second.value == b.second.value;
    });
    if (!same) {
      const std::string& key = published.begin()->first;
      return world_.Fail("revision {} is {} of {}, and the log makes it another: {} of {}",
                         revision, published.begin()->second.is_delete ? "the end" : "a put", key,
                         made.begin()->second.is_delete ? "the end" : "a put", made.begin()->first);
    }
    made_.erase(made_.begin());
  }
}

void LogModel::CheckAuth(Machine& machine, raft::Index applied) {
  View& view = ViewOf(machine);
  auto state = machine.local_member().auth_states().Newest();
  const auto& model = At(applied).auth;
  if (state == view.state && model == view.model) return;
  state->CheckInvariants();
  const std::string text = TextOf(*state);
  if (text != model->Text()) {
    return world_.Fail("{} at applied index {} knows other users than the log makes:\n{}and\n{}",
                       machine.name(), applied, text, model->Text());
  }
  view.state = std::move(state);
  view.model = model;
}

}  // namespace kvorum::sim
