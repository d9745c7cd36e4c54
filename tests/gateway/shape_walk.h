// Every message that the gateway's routes show, with those within them.
#pragma once

#include <set>

#include "server/gateway/routes.h"

namespace kvorum::server::gateway {

inline void AddShapes(const MessageShape& shape, std::set<const MessageShape*>& shapes) {
  if (!shapes.insert(&shape).second) return;
  for (const FieldShape& field : shape.fields)
    if (field.message != nullptr) AddShapes(*field.message, shapes);
}

inline std::set<const MessageShape*> AllShapes() {
  std::set<const MessageShape*> shapes;
  for (const Route& route : Routes()) {
    AddShapes(*route.request, shapes);
    AddShapes(*route.response, shapes);
  }
  return shapes;
}

}  // namespace kvorum::server::gateway
