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
    /// next_limit() may have become earlier.
    virtual void OnConnectLimit() = 0;
  };
  struct Context {
    IoLoop& loop;
    const Clock& clock;
    aws_host_resolver& resolver;
  };

  /// All arguments except `options` must outlive the maker.
  ConnectionMaker(Owner& owner, Context context, ConnectorOptions options, std::uint16_t port);
  /// To be called after the loop has stopped. Waits for no lookup.
  ~ConnectionMaker();
  ConnectionMaker(const ConnectionMaker&) = delete;
  ConnectionMaker& operator=(const ConnectionMaker&) = delete;

  /// Starts one connection.
  void Start();
  /// Cancels the attempts to connect, which reports them to the owner. Returns the number of
  /// connections that wait for a lookup: they are never made nor reported.
  std::size_t CancelAll();
  /// Ends the attempts whose limit has passed.
  void OnTime(Instant now);
  /// Returns the time at which to call OnTime, or the last Instant.
  Instant next_limit() const;

 private:
  void OnAddresses(Addresses addresses);
  void OnConnected(Result<std::unique_ptr<ByteStream>> stream);

  Owner& owner_;
  const Context context_;
  const ConnectorOptions options_;
  const std::uint16_t port_;
  const std::shared_ptr<LookupGate> gate_;
  std::vector<std::shared_ptr<Connector>> connectors_;
  DeadAddresses dead_;
  std::size_t lookups_ = 0;  ///< lookups in progress
  bool cancelled_ = false;
};

}  // namespace weir::internal
