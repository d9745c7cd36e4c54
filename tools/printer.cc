#include "tools/printer.h"

namespace kvorum::ctl {

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
