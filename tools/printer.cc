#include "tools/printer.h"

namespace kvorum::ctl {

bool Printer::Operation(const etcdserverpb::ResponseOp& op) {
  switch (op.response_case()) {
    case etcdserverpb::ResponseOp::kResponseRange:
      return Get(op.response_range()).has_value();
    case etcdserverpb::ResponseOp::kResponsePut:
      return Put(op.response_put()).has_value();
    case etcdserverpb::ResponseOp::kResponseDeleteRange:
      return Delete(op.response_delete_range()).has_value();
    case etcdserverpb::ResponseOp::kResponseTxn:
      return Txn(op.response_txn()).has_value();
    case etcdserverpb::ResponseOp::RESPONSE_NOT_SET:
      return false;
  }
  return false;
}

std::unique_ptr<Printer> MakePrinter(std::string_view format, PrinterOptions options,
                                     std::ostream& out, std::ostream& err) {
  if (format == "simple") return MakeSimplePrinter(options, out, err);
  if (format == "fields") return MakeFieldsPrinter(options, out);
  if (format == "json") return MakeJsonPrinter(options, out);
  if (format == "protobuf") return MakeProtobufPrinter(out);
  if (format == "table") return MakeTablePrinter(out);
  return nullptr;
}

const std::vector<std::string>& PrinterFormats() {
  static const std::vector<std::string> formats = {"fields", "json", "protobuf", "simple", "table"};
  return formats;
}

}  // namespace kvorum::ctl
