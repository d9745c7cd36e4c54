// The names of this process's functions by their addresses, from the symbol tables of the program
// and its libraries. A file without a table has no names.
//
// Used by one thread. Reads a file when it is asked about it first; a malformed one has no names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kvorum::server {

class Symbols {
 public:
  struct Module {
    std::string path;
    std::uintptr_t base = 0;  // added to the addresses of its file
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
  };

  Symbols();  // of what is loaded now
  ~Symbols();

  const std::vector<Module>& modules() const { return modules_; }
  // Null if no file was loaded there.
  const Module* ModuleAt(std::uintptr_t address) const;
  // Demangled; empty without a name.
  std::string NameAt(std::uintptr_t address);

 private:
  class Table;

  std::vector<Module> modules_;
  std::vector<std::unique_ptr<Table>> tables_;  // one a module, null until it was asked about
};

}  // namespace kvorum::server
