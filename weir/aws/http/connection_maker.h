// Makes the connections of a transport: looks up the host, then runs a Connector.
//
//   Start --> lookup --> OnAddresses --> Connector --> Owner::OnConnected
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weir/aws/http/connector.h"

namespace weir::internal {

/// All calls, except the constructor and the destructor, are made on the loop's thread.
class ConnectionMaker {
 public:
  /// Called on the loop's thread, under no lock.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Receives the result of one Start.
    virtual void OnConnected(Result<std::unique_ptr<ByteStream>> stream) = 0;
    /// next_wake() may have become earlier.
    virtual void OnNextWakeChanged() = 0;
  };
  struct Context {
    IoLoop& loop;
    const Clock& clock;
    aws_host_resolver& resolver;
  };

  /// All arguments except `options` must outlive the maker.
  ConnectionMaker(Owner& owner, Context context, ConnectorOptions options, std::uint16_t port);
  /// To be called after the loop has stopped. Does not wait for lookups in progress.
  ~ConnectionMaker();
  ConnectionMaker(const ConnectionMaker&) = delete;
  ConnectionMaker& operator=(const ConnectionMaker&) = delete;

  /// Starts one connection.
  void Start();
  /// Cancels the connections that are being made, and reports each to the owner as an error.
  /// Returns the number of connections whose lookup is in progress: they are neither made nor
  /// reported.
  std::size_t CancelAll();
  /// Tries the next address of each connection whose latest attempt has had its head start, and
  /// fails the connections whose time limit has passed.
  void OnTime(Instant now);
  /// Returns the time at which to call OnTime; Instant{INT64_MAX} if no call is needed.
  Instant next_wake() const;

 private:
  void OnAddresses(Addresses addresses);
  void OnConnected(Result<std::unique_ptr<ByteStream>> stream);

  Owner& owner_;
  const Context context_;
  const ConnectorOptions options_;
  const std::uint16_t port_;
  const std::shared_ptr<LookupGate> gate_;
  std::vector<std::shared_ptr<Connector>> connectors_;
  DeadAddresses dead_addresses_;
  std::size_t lookups_ = 0;  ///< lookups in progress
  bool cancelled_ = false;
};

}  // namespace weir::internal
