#include <ostream>

#include "tools/printer.h"

namespace kvorum::ctl {
namespace {

// Writes the encoded answer and nothing else, for another program to read.
class ProtobufPrinter final : public Printer {
 public:
  explicit ProtobufPrinter(std::ostream& out) : Printer("protobuf"), out_(out) {}

  // Without its watch id: the watch is the command's own.
  Outcome<void> Watch(const etcdserverpb::WatchResponse& response) override {
    etcdserverpb::WatchResponse shown = response;
    shown.clear_watch_id();
    shown.clear_cancel_reason();
    return Whole(shown);
  }

 private:
  Outcome<void> Whole(const google::protobuf::Message& message) override {
    out_ << message.SerializeAsString();
    return {};
  }

  std::ostream& out_;
};

}  // namespace

std::unique_ptr<Printer> MakeProtobufPrinter(std::ostream& out) {
  return std::make_unique<ProtobufPrinter>(out);
}

}  // namespace kvorum::ctl
