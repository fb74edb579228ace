#include "weir/grpc/method_table.h"

#include <fmt/format.h>

namespace weir::grpc {

void MethodTable::Add(std::string_view service, std::string_view method, Method handler) {
  methods_.insert_or_assign(fmt::format("/{}/{}", service, method), std::move(handler));
  services_.emplace(service);
}

const MethodTable::Entry* MethodTable::Find(std::string_view path) const {
  const auto found = methods_.find(path);
  return found == methods_.end() ? nullptr : &*found;
}

bool MethodTable::HasService(std::string_view path) const {
  if (!path.starts_with('/')) return false;
  return services_.contains(path.substr(1, path.rfind('/') - 1));
}

}  // namespace weir::grpc
