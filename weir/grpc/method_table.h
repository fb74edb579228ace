// The methods of a gRPC server by their paths.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weir/grpc/call.h"

namespace weir::grpc {

using Method = std::variant<UnaryMethod, StreamMethod>;

/// Filled before the server starts; afterwards immutable, and read by all loops.
class MethodTable {
 public:
  /// `service` is the full name, such as "grpc.health.v1.Health".
  void Add(std::string_view service, std::string_view method, Method handler);
  /// The path of a method and its handler.
  using Entry = std::pair<const std::string, Method>;

  /// Returns null if there is no such method. The entry lives as long as the table.
  const Entry* Find(std::string_view path) const;
  /// Returns whether the path names a service that has methods here.
  bool HasService(std::string_view path) const;
  std::vector<std::string> services() const { return {services_.begin(), services_.end()}; }

 private:
  std::map<std::string, Method, std::less<>> methods_;  // by "/service/method"
  std::set<std::string, std::less<>> services_;
};

}  // namespace weir::grpc
