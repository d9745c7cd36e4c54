// Rows of text under a header: the simple format joins them with ", ", the table format draws them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etcdserverpb {
class MemberListResponse;
}  // namespace etcdserverpb

namespace kvorum::ctl {

struct EndpointHashKV;
struct EndpointHealth;
struct EndpointStatus;

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // as many cells each as the header
};

Table MemberTable(const etcdserverpb::MemberListResponse& response);
Table HealthTable(const std::vector<EndpointHealth>& endpoints);
Table StatusTable(const std::vector<EndpointStatus>& endpoints);
Table HashKVTable(const std::vector<EndpointHashKV>& endpoints);

// Draws a frame of box-drawing characters: header centred in capitals, cells right-aligned.
std::string DrawTable(const Table& table);

// One row per line, cells joined with ", ".
std::string JoinRows(const Table& table);

}  // namespace kvorum::ctl
