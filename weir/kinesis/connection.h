// Kinesis, ready to be called: everything between a region and the network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/aws/service_location.h"
#include "weir/base/result.h"
#include "weir/runtime/scheduler.h"

namespace weir::kinesis {

struct ConnectionOptions {
  std::string region;        ///< empty: as AWS's SDKs find it
  std::string endpoint_url;  ///< empty: the region's, or as AWS's SDKs find it
  std::string content_type;  ///< of the bodies: wire.h
  milliseconds connect_timeout{6'000};
  milliseconds request_timeout{6'000};  ///< of one request, from when it has a connection
  std::size_t max_connections = 24;
  bool verify_certificate = true;
  /// 1: what failed is told at once, except that rejected credentials and a wrong clock are mended
  /// first. A producer wants that; who reads wants more.
  int max_attempts = 1;
};

/// Owns the network, the credentials and a thread for what is due later. Thread-safe. Destroy it
/// when no call is under way, and from none of its threads.
class Connection {
 public:
  /// Reads files and environment; asks nobody yet. Errors of LocateService. `clock` must be a real
  /// one and outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> Open(const ConnectionOptions& options,
                                                                const Clock& clock,
                                                                const Surroundings& surroundings);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  JsonClient& client();
  Scheduler& scheduler();
  /// 64 bits from the system.
  static std::uint64_t Seed();

 private:
  struct Parts;
  explicit Connection(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace weir::kinesis
