// Rows of text under a header: what the simple format joins with ", " and the table format draws.
#pragma once

#include <string>
#include <vector>

#include "tools/printer.h"

namespace kvorum::ctl {

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // as many cells each as the header
};

Table MemberTable(const etcdserverpb::MemberListResponse& response);
Table HealthTable(const std::vector<EndpointHealth>& endpoints);
Table StatusTable(const std::vector<EndpointStatus>& endpoints);
Table HashKVTable(const std::vector<EndpointHashKV>& endpoints);

// In a frame of box-drawing characters: header centred in capitals, cells to the right.
std::string DrawTable(const Table& table);

// Each row on a line, cells joined with ", ".
std::string JoinRows(const Table& table);

// "a,b": the simple and the table format show lists so.
template <class Strings>
std::string Join(const Strings& parts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out += separator;
    first = false;
    out += part;
  }
  return out;
}

}  // namespace kvorum::ctl
