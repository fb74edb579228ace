#include "weir/aws/http/socket_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/aws/endpoint.h"
#include "weir/aws/http/tls_context.h"

namespace weir::internal {
namespace {

/// A body up to this size is copied behind its head, so that one write sends both.
constexpr std::size_t kMostCopied = 16 * 1024;

void AppendSmallBody(Exchange& exchange) {
  if (exchange.request.body.size() > kMostCopied) return;
  exchange.head += exchange.request.body;
  exchange.request.body.clear();
}

}  // namespace

Result<std::unique_ptr<HttpTransport>> SocketTransport::Open(const CrtRuntime& runtime,
                                                             const Clock& clock,
                                                             const TransportOptions& options) {
  TlsContext tls;
  if (options.tls) {
    WEIR_ASSIGN_OR_RETURN(tls, MakeTlsContext(runtime.options()));
  }
  std::unique_ptr<SocketTransport> transport(
      new SocketTransport(runtime, clock, options, std::move(tls)));
  SocketTransport* const self = transport.get();
  WEIR_ASSIGN_OR_RETURN(self->loop_, IoLoop::Start(clock, [self] { self->OnTime(); }));
  // Lets the results of lookups through.
  const MutexLock lock(self->gate_->mutex);
  self->gate_->loop = self->loop_.get();
  return transport;
}

SocketTransport::SocketTransport(const CrtRuntime& runtime, const Clock& clock,
                                 const TransportOptions& options, TlsContext tls)
    : runtime_(runtime),
      clock_(clock),
      options_(options),
      tls_(std::move(tls)),
      authority_(HostHeader({.tls = options.tls, .host = options.host, .port = options.port})),
      settings_{.endpoint = fmt::format("{}:{}", options.host, options.port),
                .most_body_bytes = options.max_answer_bytes},
      connector_options_{
          .host = options.host, .tls = tls_.get(), .patience = options.connect_timeout},
      gate_(std::make_shared<LookupGate>()) {}

SocketTransport::~SocketTransport() {
  if (loop_ == nullptr) return;
  {
    MutexLock lock(mutex_);
    // First all exchanges complete, then all connections are closed on the loop's thread.
    while (inside_ > 0) changed_.wait(mutex_);
    closing_ = true;
  }
  loop_->Post([this] { CloseAll(); });
  {
    MutexLock lock(mutex_);
    while (open_ > 0) changed_.wait(mutex_);
  }
  loop_->Stop();
  // A thread of the resolver may have posted its result and still be waking the loop.
  const MutexLock lock(gate_->mutex);
  gate_->loop = nullptr;
}

void SocketTransport::Send(HttpRequest request, SendLimits limits, HttpDone done) {
  auto exchange = std::make_shared<Exchange>(std::move(request), "", limits, std::move(done));
  if (limits.LatestBegin().ExpiredAt(clock_.Now()) || GivesUp()) {
    return exchange->done(tl::unexpected(TimeOut(*exchange, false)));
  }
  auto head = HeadOf(exchange->request, authority_);
  if (!head) {
    return exchange->done(tl::unexpected(Failure(*exchange, false, head.error().message)));
  }
  exchange->head = *std::move(head);
  AppendSmallBody(*exchange);
  Place(std::move(exchange), WaitScope::TakesWork() ? Reader::kCaller : Reader::kLoop);
}

void SocketTransport::Place(ExchangePtr exchange, Reader reader) {
  ConnectionPtr connection;
  bool has_place = true;
  {
    const MutexLock lock(mutex_);
    connection = TakeIdle(reader);
    has_place = connection != nullptr || queue_.size() < options_.max_waiting;
    // Counted before it can complete.
    if (has_place) ++inside_;
    if (has_place && connection == nullptr) return Enqueue(exchange, false);
    if (connection != nullptr) Lend(exchange, connection);
  }
  if (has_place) return Run(std::move(exchange), std::move(connection), reader);
  exchange->done(
      tl::unexpected(Failure(*exchange, false, "too many requests wait for a connection")));
}

void SocketTransport::PlaceAgain(ExchangePtr exchange, Reader reader) {
  ConnectionPtr connection;
  {
    const MutexLock lock(mutex_);
    // Limits end waiting exchanges under this lock, so it stays in this state below.
    if (exchange->state == Exchange::State::kOver) return;
    Forget(*exchange);
    connection = TakeIdle(reader);
    if (connection == nullptr) return Enqueue(exchange, true);
    Lend(exchange, connection);
  }
  Run(std::move(exchange), std::move(connection), reader);
}

ConnectionPtr SocketTransport::TakeIdle(Reader reader) {
  const bool first_watched = reader == Reader::kLoop;
  for (std::deque<Idle>* const from :
       {first_watched ? &watched_ : &unwatched_, first_watched ? &unwatched_ : &watched_}) {
    if (from->empty()) continue;
    ConnectionPtr last = std::move(from->back().connection);
    from->pop_back();
    return last;
  }
  return nullptr;
}

void SocketTransport::Enqueue(const ExchangePtr& exchange, bool in_front) {
  SetLimit(exchange, exchange->limits.LatestBegin().at());
  const auto place = queue_.insert(in_front ? queue_.begin() : queue_.end(), exchange);
  exchange->queued = place;
  OpenMore();
}

void SocketTransport::Lend(const ExchangePtr& exchange, ConnectionPtr connection) {
  exchange->connection = std::move(connection);
  const Instant end = exchange->limits.EndOf(clock_.Now()).at();
  SetLimit(exchange, end);
}

ExchangePtr SocketTransport::TakeQueued() {
  while (!queue_.empty()) {
    ExchangePtr first = queue_.front();
    if (!first->limits.LatestBegin().ExpiredAt(clock_.Now())) {
      Forget(*first);
      return first;
    }
    // Its limit has passed: the loop will complete it, and it must not be sent any more.
    queue_.pop_front();
    first->queued = std::nullopt;
  }
  return nullptr;
}

void SocketTransport::Run(ExchangePtr exchange, ConnectionPtr connection, Reader reader) {
  switch (connection->Begin(exchange, reader)) {
    case SocketConnection::Begun::kBegun:
      return;  // this object may have been destroyed
    case SocketConnection::Begun::kOver:
      return Release(std::move(connection), true, nullptr);
    case SocketConnection::Begun::kBroken:
      // The connection, which is not released yet, keeps the destructor waiting, whatever happens
      // to the exchange.
      if (!connection->is_proven()) {
        const MutexLock lock(mutex_);
        pace_.Failed(clock_.Now());
      }
      PlaceAgain(std::move(exchange), reader);
      if (!connection->is_proven()) FailQueued("the server closed the connection at once", 1);
      return Release(std::move(connection), false, nullptr);
  }
}

void SocketTransport::OnEnded(ConnectionPtr connection, ExchangePtr exchange, HttpAnswer answer,
                              bool reusable) {
  const bool is_first = exchange->state.exchange(Exchange::State::kOver) != Exchange::State::kOver;
  exchange->answered = answer.has_value();
  // Before the callback: the caller's next request may use this connection.
  Release(std::move(connection), reusable, exchange.get());
  if (is_first) Answer(*exchange, std::move(answer));
}

void SocketTransport::Release(ConnectionPtr connection, bool reusable, Exchange* ended) {
  ExchangePtr next;
  {
    const MutexLock lock(mutex_);
    if (ended != nullptr) {
      Learn(*ended, *connection);
      Forget(*ended);
    }
    reusable = reusable && !closing_;
    if (reusable) next = TakeQueued();
    if (next != nullptr) Lend(next, connection);
    if (reusable && next == nullptr) return KeepIdle(std::move(connection));
  }
  if (next != nullptr) return Run(std::move(next), std::move(connection), Reader::kLoop);
  Discard(*connection);
}

void SocketTransport::KeepIdle(ConnectionPtr connection) {
  const Instant now = clock_.Now();
  // The server has not closed it before its first request.
  connection->SetProven();
  std::deque<Idle>& idle = connection->is_watched() ? watched_ : unwatched_;
  idle.push_back({std::move(connection), now});
  WakeBy(now + options_.idle_timeout);
}

void SocketTransport::Discard(SocketConnection& connection) {
  connection.Close();
  const MutexLock lock(mutex_);
  --open_;
  OpenMore();
  changed_.notify_all();
}

void SocketTransport::OnBroken(ConnectionPtr connection) {
  {
    const MutexLock lock(mutex_);
    // If it has been lent meanwhile, the thread that uses it finds it broken.
    const auto is_it = [&](const Idle& idle) { return idle.connection == connection; };
    if (std::erase_if(watched_, is_it) + std::erase_if(unwatched_, is_it) == 0) return;
  }
  Discard(*connection);
}

void SocketTransport::Answer(Exchange& exchange, HttpAnswer answer) {
  exchange.done(std::move(answer));
  // Destroy the callback before the transport is released: a thread that waits for that may free
  // objects that the callback refers to.
  exchange.done = nullptr;
  const MutexLock lock(mutex_);
  if (--inside_ == 0) changed_.notify_all();
}

HttpFailure SocketTransport::Failure(const Exchange& exchange, bool maybe_sent,
                                     std::string_view what) const {
  return {.maybe_sent = maybe_sent,
          .message = fmt::format("{} {}: {}", exchange.request.method, settings_.endpoint, what)};
}

}  // namespace weir::internal
