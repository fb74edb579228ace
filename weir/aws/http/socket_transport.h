// HTTP/1.1 to one endpoint over sockets.
//
//   Send --> Assign --(idle connection)--> StartOn --> SocketConnection --> OnEnded --> Release
//               |                            ^                                             |
//            Enqueue, OpenMore               +------(the longest waiting exchange)---------+
//               |                            |                                             |
//            ConnectionMaker ----> OnConnected --> Release                        IdleConnections
//
// OnTime enforces the limits: it ends exchanges that are overdue, wherever they are.
#pragma once

#include <condition_variable>
#include <memory>
#include <string>

#include "weir/aws/http/connect_pace.h"
#include "weir/aws/http/connection_maker.h"
#include "weir/aws/http/crt_transport.h"
#include "weir/aws/http/exchange_timeouts.h"
#include "weir/aws/http/idle_connections.h"
#include "weir/aws/http/socket_connection.h"

namespace weir::internal {

/// Implements MakeTransport without proxies. A thread that blocks in Await for the result of its
/// request writes the request and reads the response itself.
class SocketTransport final : public HttpTransport,
                              private SocketConnection::Owner,
                              private ConnectionMaker::Owner {
 public:
  static Result<std::unique_ptr<HttpTransport>> Open(const CrtRuntime& runtime, const Clock& clock,
                                                     const TransportOptions& options);
  ~SocketTransport() override;

  void Send(HttpRequest request, SendLimits limits, HttpDone done) override;

 private:
  SocketTransport(const Clock& clock, const TransportOptions& options, sockets::TlsContext tls);
  ConnectorOptions connector_options() const;

  // From a request to a connection.
  /// Assigns an idle connection to the exchange, or queues it. Fails it if the queue is full.
  void Assign(ExchangePtr exchange, Reader reader);
  /// Like Assign, for an exchange whose connection was found broken. Instead of failing, or being
  /// queued at the back, it is put at the front of the queue, even if the queue is full.
  void Reassign(ExchangePtr exchange, Reader reader);
  /// Starts the exchange on a connection that was assigned to it.
  void StartOn(ExchangePtr exchange, ConnectionPtr connection, Reader reader);
  /// Queues the exchange, and opens connections if needed.
  void Enqueue(const ExchangePtr& exchange, ExchangeTimeouts::Position position)
      WEIR_REQUIRES(mutex_);
  /// Assigns the connection to the exchange; the time for its response begins now.
  void AttachConnection(const ExchangePtr& exchange, ConnectionPtr connection)
      WEIR_REQUIRES(mutex_);

  // The end of a request.
  void OnEnded(ConnectionPtr connection, ExchangePtr exchange, HttpResult result,
               bool reusable) override;
  void OnBroken(ConnectionPtr connection) override;
  /// Runs the callback, and lets the destructor proceed.
  void Complete(Exchange& exchange, HttpResult result);
  /// Gives a connection to the next queued exchange, keeps it idle, or closes it if it is not
  /// reusable. `ended` is the exchange that the connection carried, or null.
  void Release(ConnectionPtr connection, bool reusable, Exchange* ended);
  void KeepIdle(ConnectionPtr connection) WEIR_REQUIRES(mutex_);
  /// Closes a connection, and opens another one if needed.
  void Discard(SocketConnection& connection);

  // Limits.
  void SetTimeout(const ExchangePtr& exchange, Instant at) WEIR_REQUIRES(mutex_);
  /// Makes the loop call OnTime at this time or earlier.
  void WakeBy(Instant at) WEIR_REQUIRES(mutex_);
  bool GivesUp() const { return options_.gives_up && options_.gives_up(); }

  // Called on the loop's thread.
  void OnTime();
  /// Ends the exchanges that are overdue.
  void EndTimedOut(const std::vector<TimedOutExchange>& overdue);
  /// Sets the timer to the next time at which OnTime has work.
  void SetTimer() WEIR_EXCLUDES(mutex_);
  void OnConnected(Result<std::unique_ptr<ByteStream>> stream) override;
  void OnNextWakeChanged() override { SetTimer(); }
  /// Cancels the attempts to connect, and closes the idle connections.
  void CloseAll();

  /// Starts as many connections as the queued exchanges need, within the bounds and the pace.
  void OpenMore() WEIR_REQUIRES(mutex_);
  bool NeedsMore() const WEIR_REQUIRES(mutex_);
  /// Fails the queued exchanges, unless more than `lost` connections are open or being made. `lost`
  /// is the number of open connections that are about to be closed.
  void FailQueued(const std::string& why, std::size_t lost);
  /// Updates the pace of new connections by the outcome of an exchange.
  void UpdatePace(const Exchange& exchange, SocketConnection& connection) WEIR_REQUIRES(mutex_);

  const Clock& clock_;
  const TransportOptions options_;
  const sockets::TlsContext tls_;  ///< null: no TLS
  const std::string authority_;
  const SocketConnection::Settings settings_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  ExchangeTimeouts pending_ WEIR_GUARDED_BY(mutex_);
  IdleConnections idle_ WEIR_GUARDED_BY(mutex_);
  std::size_t open_ WEIR_GUARDED_BY(mutex_) = 0;  ///< connections, including those being made
  /// How many of these connections are being made.
  std::size_t connecting_ WEIR_GUARDED_BY(mutex_) = 0;
  ConnectPace pace_ WEIR_GUARDED_BY(mutex_);
  std::size_t incomplete_ WEIR_GUARDED_BY(mutex_) = 0;  ///< exchanges that have not completed
  Instant wakes_at_ WEIR_GUARDED_BY(mutex_){INT64_MAX};
  bool closing_ WEIR_GUARDED_BY(mutex_) = false;
  std::unique_ptr<IoLoop> loop_;            ///< null only before Open returns
  std::unique_ptr<ConnectionMaker> maker_;  ///< belongs to the loop's thread
};

}  // namespace weir::internal
