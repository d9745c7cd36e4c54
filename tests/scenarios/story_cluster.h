// The machines, members and clients of one story: a small cluster (tests/server/replica/
// small_cluster.h), whose members have their services and watches while they are up, ask each other
// before they begin, and are ended when they end themselves.
//
// Members are counted from 0 here, and from 1 in what is printed. One thread; one seed gives one
// history.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/server/member_services.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/served_member.h"

namespace kvorum::server {

// The caller of a request. The revision is that of the auth state that has let it in; nothing: that
// of the member which is asked.
struct StoryUser {
  std::string name;
  std::optional<std::uint64_t> auth_revision;
};

class StoryCluster {
 public:
  StoryCluster(std::size_t size, std::uint64_t seed,
               std::function<void(LocalMemberOptions&)> options);
  ~StoryCluster();
  StoryCluster(const StoryCluster&) = delete;
  StoryCluster& operator=(const StoryCluster&) = delete;

  SmallCluster& machines() { return cluster_; }
  LocalMember& member(std::size_t i) { return cluster_.member(i).local_member(); }
  MemberServices& services(std::size_t i) { return processes_.at(i)->services; }

  Result<void> Start(std::size_t i, const std::function<void(LocalMember&)>& on_open = {});
  // Its process is gone.
  void Kill(std::size_t i);
  bool Stop(std::size_t i);
  // Members whose processes have ended by themselves since the last call are killed; the lines that
  // say so, and which members have learned that they were removed.
  std::string TakeNews();
  // The last error with which the member's process has ended; empty: none.
  const std::string& end_of(std::size_t i) { return ends_[i]; }

  // A member as it is printed.
  std::string NumberOf(raft::MemberId id) const;
  // "<2>" for each id of member 2, so that a text can be read.
  std::string Readable(std::string text) const;

  // A request as a log entry, proposed at member i: the revision, or why it was refused.
  std::string Propose(std::size_t i, RequestKind kind, const std::string& body,
                      const StoryUser& user);
  // Two at the same time.
  std::string ProposeBoth(std::size_t i, const std::string& body, std::size_t j,
                          const std::string& other_body);
  // A new member of this id, proposed as it is.
  std::string AddWithId(std::size_t at, raft::MemberId id);
  std::string Move(std::size_t to);
  std::string Reseed(std::size_t i);
  // A put that this member alone applies.
  Result<void> WriteAlone(std::size_t i, const std::string& key, const std::string& value);
  // The machine of a member that was added last.
  void AddMachine(raft::MemberId id);
  // The entry's last byte is changed, wherever in the log's files it is.
  Result<void> CorruptLogEntry(std::size_t i, std::uint64_t index);

  void Watch(std::size_t i, std::string_view key, const std::string& name);
  Result<std::string> EventsOf(const std::string& name);

  // "equal at revision 7", or which members differ from the first one that is up.
  std::string Compare();

 private:
  class PeerPort;
  // The parts that a member has while it is up.
  struct Process {
    Process(SmallCluster& cluster, std::size_t i);
    MemberServices services;
    watch::Hub hub;
    WatchService watches;
    rpc::Router router;
    std::vector<std::shared_ptr<FakeStream>> streams;
  };
  struct Watching {
    std::shared_ptr<FakeStream> stream;
    std::size_t told = 0;
  };

  std::string initial_cluster_;
  std::map<std::size_t, std::string> ends_;
  std::vector<std::size_t> removed_;
  std::map<std::size_t, std::unique_ptr<PeerPort>> ports_;
  const std::function<void(LocalMemberOptions&)> change_options_;
  SmallCluster cluster_;
  std::map<std::size_t, std::unique_ptr<Process>> processes_;
  std::map<std::string, Watching> watching_;
};

// The number of the member of a name or peer URL of a small cluster.
std::size_t StoryMemberOfName(std::string_view name);

}  // namespace kvorum::server
