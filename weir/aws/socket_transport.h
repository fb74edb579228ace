// HTTP/1.1 to one endpoint over sockets of our own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/aws/connect_pace.h"
#include "weir/aws/connector.h"
#include "weir/aws/crt_transport.h"
#include "weir/aws/socket_connection.h"

namespace weir::internal {

/// From one question whether the transport gives up to the next.
inline constexpr nanoseconds kBetweenLooks = milliseconds(100);

/// As MakeTransport says, without proxies. A thread that blocks in Await for the result of a
/// request it sent writes and reads it itself.
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
    ConnectionPtr connection;  ///< null: it waited for one
    bool maybe_sent;
  };

  SocketTransport(const CrtRuntime& runtime, const Clock& clock, const TransportOptions& options,
                  TlsContext tls);

  // A request's way to a connection.
  void Place(ExchangePtr exchange, Reader reader);
  void PlaceAgain(ExchangePtr exchange, Reader reader);
  void Run(ExchangePtr exchange, ConnectionPtr connection, Reader reader);
  ConnectionPtr TakeIdle(Reader reader) WEIR_REQUIRES(mutex_);
  void Enqueue(const ExchangePtr& exchange, bool in_front) WEIR_REQUIRES(mutex_);
  void Lend(const ExchangePtr& exchange, ConnectionPtr connection) WEIR_REQUIRES(mutex_);
  ExchangePtr TakeQueued() WEIR_REQUIRES(mutex_);

  // A request's end.
  void OnEnded(ConnectionPtr connection, ExchangePtr exchange, HttpAnswer answer,
               bool reusable) override;
  void OnBroken(ConnectionPtr connection) override;
  void Answer(Exchange& exchange, HttpAnswer answer);
  HttpFailure Failure(const Exchange& exchange, bool maybe_sent, std::string_view what) const;
  HttpFailure TimeOut(const Exchange& exchange, bool maybe_sent) const;
  /// To the next that waits, or back. `ended` is the exchange that it carried, or null.
  void Release(ConnectionPtr connection, bool reusable, Exchange* ended);
  void KeepIdle(ConnectionPtr connection) WEIR_REQUIRES(mutex_);
  void Discard(SocketConnection& connection);

  // Limits: each exchange has one until it is over.
  void SetLimit(const ExchangePtr& exchange, Instant at) WEIR_REQUIRES(mutex_);
  /// It has no limit, no place in the queue and no connection any more.
  void Forget(Exchange& exchange) WEIR_REQUIRES(mutex_);
  void WakeBy(Instant at) WEIR_REQUIRES(mutex_);
  bool GivesUp() const { return options_.gives_up && options_.gives_up(); }

  // On the loop's thread.
  void OnTime();
  std::vector<Overdue> TakeOverdue(Instant now, bool all) WEIR_REQUIRES(mutex_);
  std::vector<ConnectionPtr> TakeExpired(Instant now) WEIR_REQUIRES(mutex_);
  void SetWakeUp() WEIR_EXCLUDES(mutex_);
  void StartConnecting();
  void OnAddresses(Addresses addresses);
  void OnConnected(Result<std::unique_ptr<ByteStream>> stream);
  void CloseAll();

  /// New connections: as many as those that wait need, within the bounds and the pace.
  void OpenMore() WEIR_REQUIRES(mutex_);
  bool NeedsMore() const WEIR_REQUIRES(mutex_);
  /// Unless there are others than the `lost` ones.
  void FailQueued(const std::string& why, std::size_t lost);
  void Learn(const Exchange& exchange, SocketConnection& connection) WEIR_REQUIRES(mutex_);

  const CrtRuntime& runtime_;
  const Clock& clock_;
  const TransportOptions options_;
  const TlsContext tls_;  ///< null: none
  const std::string authority_;
  const SocketConnection::Settings settings_;
  const ConnectorOptions connector_options_;
  std::vector<std::shared_ptr<Connector>> connectors_;  ///< of the loop's thread, as the next three
  DeadAddresses dead_;
  std::size_t lookups_ = 0;  ///< in progress
  bool closed_ = false;
  const std::shared_ptr<LookupGate> gate_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::multimap<Instant, ExchangePtr> limits_ WEIR_GUARDED_BY(mutex_);
  std::list<ExchangePtr> queue_ WEIR_GUARDED_BY(mutex_);
  /// In the order in which they became idle: those that the loop watches, and the others.
  std::deque<Idle> watched_ WEIR_GUARDED_BY(mutex_), unwatched_ WEIR_GUARDED_BY(mutex_);
  std::size_t open_ WEIR_GUARDED_BY(mutex_) = 0;        ///< those being made included
  std::size_t connecting_ WEIR_GUARDED_BY(mutex_) = 0;  ///< of these, those being made
  ConnectPace pace_ WEIR_GUARDED_BY(mutex_);
  std::size_t inside_ WEIR_GUARDED_BY(mutex_) = 0;  ///< exchanges without their answer
  Instant wakes_at_ WEIR_GUARDED_BY(mutex_){INT64_MAX};
  bool closing_ WEIR_GUARDED_BY(mutex_) = false;
  std::unique_ptr<IoLoop> loop_;  ///< null only before Open returns
};

}  // namespace weir::internal
