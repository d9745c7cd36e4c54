#include "api/message_tables.h"

#include "api/tables.h"
#include "base/words.h"

namespace kvorum::server {

std::vector<MessageTables> AllMessageTables() {
  return {AlarmTables(), AuthTables(), ClusterTables(),     DowngradeTables(), KvTables(),
          LeaseTables(), LockTables(), MaintenanceTables(), WatchTables()};
}

const wire::Table* MessageNamed(std::string_view full_name) {
  for (const MessageTables tables : AllMessageTables()) {
    for (const wire::Table* const table : tables) {
      for (const std::string_view name : Split(table->names, ' '))
        if (name == full_name) return table;
    }
  }
  return nullptr;
}

}  // namespace kvorum::server
