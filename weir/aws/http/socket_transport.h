// HTTP/1.1 to one endpoint over sockets.
//
//   Send --> Place --(idle connection)--> Lend, Run --> SocketConnection --> OnEnded --> Release
//               |                            ^                                             |
//            Enqueue, OpenMore               +------(the longest waiting exchange)---------+
//               |                            |                                             |
//            StartConnecting --> OnAddresses --> OnConnected --> Release               KeepIdle
//
// OnTime enforces the limits: it ends exchanges that are overdue, wherever they are.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/aws/http/connect_pace.h"
#include "weir/aws/http/connector.h"
#include "weir/aws/http/crt_transport.h"
#include "weir/aws/http/socket_connection.h"

namespace weir::internal {

/// The time between two calls of TransportOptions::gives_up.
inline constexpr nanoseconds kBetweenLooks = milliseconds(100);

/// Implements MakeTransport without proxies. A thread that blocks in Await for the result of its
/// request writes the request and reads the response itself.
class SocketTransport final : public HttpTransport, private SocketConnection::Owner {
 public:
  static Result<std::unique_ptr<HttpTransport>> Open(const CrtRuntime& runtime, const Clock& clock,
                                                     const TransportOptions& options);
  ~SocketTransport() override;

  void Send(HttpRequest request, SendLimits limits, HttpDone done) override;

 private:
  struct Idle {
    ConnectionPtr connection;
    Instant since;
  };
  struct Overdue {
    ExchangePtr exchange;
    ConnectionPtr connection;  ///< null: the exchange was queued
    bool maybe_sent;
  };

  SocketTransport(const CrtRuntime& runtime, const Clock& clock, const TransportOptions& options,
                  TlsContext tls);

  // From a request to a connection.
  /// Lends an idle connection to the exchange, or queues it. Fails it if the queue is full.
  void Place(ExchangePtr exchange, Reader reader);
  /// Does the same after its connection was found broken: the exchange goes to the front of the
  /// queue, which is not bounded for it.
  void PlaceAgain(ExchangePtr exchange, Reader reader);
  /// Starts the exchange on a connection that was lent to it.
  void Run(ExchangePtr exchange, ConnectionPtr connection, Reader reader);
  /// Returns the idle connection that was used last; null if there is none. Prefers those that the
  /// loop watches if the loop will read, and the others if the caller will.
  ConnectionPtr TakeIdle(Reader reader) WEIR_REQUIRES(mutex_);
  /// Queues the exchange, and opens connections if needed.
  void Enqueue(const ExchangePtr& exchange, bool in_front) WEIR_REQUIRES(mutex_);
  /// Gives the connection to the exchange; the time for its response begins now.
  void Lend(const ExchangePtr& exchange, ConnectionPtr connection) WEIR_REQUIRES(mutex_);
  /// Removes and returns the first queued exchange that may still be sent; null if there is none.
  ExchangePtr TakeQueued() WEIR_REQUIRES(mutex_);

  // The end of a request.
  void OnEnded(ConnectionPtr connection, ExchangePtr exchange, HttpAnswer answer,
               bool reusable) override;
  void OnBroken(ConnectionPtr connection) override;
  /// Runs the callback, and lets the destructor proceed.
  void Answer(Exchange& exchange, HttpAnswer answer);
  HttpFailure Failure(const Exchange& exchange, bool maybe_sent, std::string_view what) const;
  HttpFailure TimeOut(const Exchange& exchange, bool maybe_sent) const;
  /// Gives a connection to the next queued exchange, keeps it idle, or closes it if it is not
  /// reusable. `ended` is the exchange that it carried, or null.
  void Release(ConnectionPtr connection, bool reusable, Exchange* ended);
  void KeepIdle(ConnectionPtr connection) WEIR_REQUIRES(mutex_);
  /// Closes a connection, and opens another one if needed.
  void Discard(SocketConnection& connection);

  // Limits. Each exchange has one until it is over.
  void SetLimit(const ExchangePtr& exchange, Instant at) WEIR_REQUIRES(mutex_);
  /// Removes the exchange from limits and queue, and takes its connection away.
  void Forget(Exchange& exchange) WEIR_REQUIRES(mutex_);
  /// Makes the loop call OnTime at this time or earlier.
  void WakeBy(Instant at) WEIR_REQUIRES(mutex_);
  bool GivesUp() const { return options_.gives_up && options_.gives_up(); }

  // Called on the loop's thread.
  void OnTime();
  /// Ends the exchanges whose limit has passed, or all of them; the caller completes them.
  std::vector<Overdue> TakeOverdue(Instant now, bool all) WEIR_REQUIRES(mutex_);
  /// Removes and returns the connections that were idle for too long.
  std::vector<ConnectionPtr> TakeExpired(Instant now) WEIR_REQUIRES(mutex_);
  /// Sets the timer to the next limit.
  void SetWakeUp() WEIR_EXCLUDES(mutex_);
  void StartConnecting();
  void OnAddresses(Addresses addresses);
  void OnConnected(Result<std::unique_ptr<ByteStream>> stream);
  /// Cancels the attempts to connect, and closes the idle connections.
  void CloseAll();

  /// Starts as many connections as the queued exchanges need, within the bounds and the pace.
  void OpenMore() WEIR_REQUIRES(mutex_);
  bool NeedsMore() const WEIR_REQUIRES(mutex_);
  /// Fails the queued exchanges, unless there is a connection, open or being made, other than
  /// `lost` ones.
  void FailQueued(const std::string& why, std::size_t lost);
  /// Updates the pace of new connections by the outcome of an exchange.
  void Learn(const Exchange& exchange, SocketConnection& connection) WEIR_REQUIRES(mutex_);

  const CrtRuntime& runtime_;
  const Clock& clock_;
  const TransportOptions options_;
  const TlsContext tls_;  ///< null: no TLS
  const std::string authority_;
  const SocketConnection::Settings settings_;
  const ConnectorOptions connector_options_;
  std::vector<std::shared_ptr<Connector>> connectors_;  ///< these four belong to the loop's thread
  DeadAddresses dead_;
  std::size_t lookups_ = 0;  ///< lookups in progress
  bool closed_ = false;
  const std::shared_ptr<LookupGate> gate_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::multimap<Instant, ExchangePtr> limits_ WEIR_GUARDED_BY(mutex_);
  std::list<ExchangePtr> queue_ WEIR_GUARDED_BY(mutex_);
  /// In the order in which they became idle. The loop watches those of the first queue.
  std::deque<Idle> watched_ WEIR_GUARDED_BY(mutex_), unwatched_ WEIR_GUARDED_BY(mutex_);
  std::size_t open_ WEIR_GUARDED_BY(mutex_) = 0;        ///< connections, including those being made
  std::size_t connecting_ WEIR_GUARDED_BY(mutex_) = 0;  ///< of these, the ones being made
  ConnectPace pace_ WEIR_GUARDED_BY(mutex_);
  std::size_t inside_ WEIR_GUARDED_BY(mutex_) = 0;  ///< exchanges that have not completed
  Instant wakes_at_ WEIR_GUARDED_BY(mutex_){INT64_MAX};
  bool closing_ WEIR_GUARDED_BY(mutex_) = false;
  std::unique_ptr<IoLoop> loop_;  ///< null only before Open returns
};

}  // namespace weir::internal
