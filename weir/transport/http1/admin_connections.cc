#include "weir/transport/http1/admin_connections.h"

#include <memory>
#include <utility>

#include "weir/transport/http1/admin_connection.h"

namespace weir::transport {

ConnectionFactory MakeAdminConnections(AdminHandler handler, AdminOptions options) {
  return [handler = std::move(handler), options](const ConnectionContext& context) {
    return std::make_unique<AdminConnection>(handler, options, context.loop.clock().Now());
  };
}

}  // namespace weir::transport
