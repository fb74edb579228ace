// gRPC's health service (grpc.health.v1).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weir/grpc/call.h"
#include "weir/grpc/method_table.h"

namespace weir::service {

/// The service of one event loop: the service and its calls run on the loop's thread. All services
/// of the server have one status.
class HealthService {
 public:
  /// Adds the methods to the table, and stores the names of the services that the table has then.
  /// The object must outlive the table.
  void AddTo(grpc::MethodTable& methods);
  /// Reports a change to the calls of Watch.
  void SetServing(bool is_serving);
  /// As SetServing(false), and ends the calls of Watch: the drain of a server does not wait for
  /// them.
  void End();

 private:
  class Watcher;

  bool Knows(std::string_view service) const {
    return service.empty() || services_.contains(service);
  }
  void Check(std::string_view message, const grpc::CallWriter& writer) const;
  void List(const grpc::CallWriter& writer) const;

  std::set<std::string, std::less<>> services_;
  bool is_serving_ = false;
  bool is_ended_ = false;
  std::set<Watcher*> watchers_;  // each is one open call
};

}  // namespace weir::service
