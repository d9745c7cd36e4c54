#include <ostream>

#include "tools/printer.h"
#include "tools/table.h"

namespace kvorum::ctl {
namespace {

class TablePrinter final : public Printer {
 public:
  explicit TablePrinter(std::ostream& out) : Printer("table"), out_(out) {}

  Outcome<void> MemberList(const etcdserverpb::MemberListResponse& response) override {
    return Draw(MemberTable(response));
  }
  Outcome<void> Health(const std::vector<EndpointHealth>& endpoints) override {
    return Draw(HealthTable(endpoints));
  }
  Outcome<void> Status(const std::vector<EndpointStatus>& endpoints) override {
    return Draw(StatusTable(endpoints));
  }
  Outcome<void> HashKV(const std::vector<EndpointHashKV>& endpoints) override {
    return Draw(HashKVTable(endpoints));
  }

 private:
  Outcome<void> Draw(const Table& table) {
    out_ << DrawTable(table);
    return {};
  }

  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Printer> MakeTablePrinter(std::ostream& out) {
  return std::make_unique<TablePrinter>(out);
}

}  // namespace kvorum::ctl
