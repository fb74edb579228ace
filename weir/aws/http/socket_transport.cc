#include "weir/aws/http/socket_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/aws/endpoint.h"
#include "weir/aws/http/tls_context.h"

namespace weir::internal {
namespace {

/// A body up to this size is copied behind its head, so that one write sends both.
constexpr std::size_t kMaxCopied = 16 * 1024;

/// The time between two calls of TransportOptions::gives_up.
constexpr nanoseconds kGiveUpPollInterval = milliseconds(100);

void AppendSmallBody(Exchange& exchange) {
  if (exchange.request.body.size() > kMaxCopied) return;
  exchange.head += exchange.request.body;
  exchange.request.body.clear();
}

}  // namespace

Result<std::unique_ptr<HttpTransport>> SocketTransport::Open(const CrtRuntime& runtime,
                                                             const Clock& clock,
                                                             const TransportOptions& options) {
  sockets::TlsContext tls;
  if (options.tls) {
    WEIR_ASSIGN_OR_RETURN(tls, MakeTlsContext(runtime.options()));
  }
  std::unique_ptr<SocketTransport> transport(new SocketTransport(clock, options, std::move(tls)));
  SocketTransport* const self = transport.get();
  WEIR_ASSIGN_OR_RETURN(self->loop_, IoLoop::Start(clock, [self] { self->OnTime(); }));
  ConnectionMaker::Owner& owner = *self;
  self->maker_ = std::make_unique<ConnectionMaker>(
      owner, ConnectionMaker::Context{*self->loop_, clock, *runtime.resolver()},
      self->connector_options(), options.port);
  return transport;
}

SocketTransport::SocketTransport(const Clock& clock, const TransportOptions& options,
                                 sockets::TlsContext tls)
    : clock_(clock),
      options_(options),
      tls_(std::move(tls)),
      authority_(HostHeader({.tls = options.tls, .host = options.host, .port = options.port})),
      settings_{.endpoint = fmt::format("{}:{}", options.host, options.port),
                .max_body_bytes = options.max_response_bytes},
      idle_(options.idle_timeout) {}

ConnectorOptions SocketTransport::connector_options() const {
  return {.host = options_.host, .tls = tls_.get(), .patience = options_.connect_timeout};
}

SocketTransport::~SocketTransport() {
  if (loop_ == nullptr) return;
  {
    MutexLock lock(mutex_);
    // First all exchanges complete, then all connections are closed on the loop's thread.
    while (incomplete_ > 0) changed_.wait(mutex_);
    closing_ = true;
  }
  loop_->Post([this] { CloseAll(); });
  {
    MutexLock lock(mutex_);
    while (open_ > 0) changed_.wait(mutex_);
  }
  loop_->Stop();
}

void SocketTransport::Send(HttpRequest request, SendLimits limits, HttpDone done) {
  auto exchange = std::make_shared<Exchange>(std::move(request), "", limits, std::move(done));
  if (limits.LatestBegin().ExpiredAt(clock_.Now()) || GivesUp()) {
    return exchange->done(tl::unexpected(TimeOutOf(exchange->request, settings_.endpoint, false)));
  }
  auto head = HeadOf(exchange->request, authority_);
  if (!head) {
    return exchange->done(tl::unexpected(
        FailureOf(exchange->request, settings_.endpoint, false, head.error().message)));
  }
  exchange->head = *std::move(head);
  AppendSmallBody(*exchange);
  Assign(std::move(exchange), WaitScope::AcceptsWork() ? Reader::kCaller : Reader::kLoop);
}

void SocketTransport::Assign(ExchangePtr exchange, Reader reader) {
  ConnectionPtr connection;
  bool accepted = true;
  {
    const MutexLock lock(mutex_);
    connection = idle_.Take(reader);
    accepted = connection != nullptr || pending_.queued() < options_.max_waiting;
    // Counted before the exchange can complete.
    if (accepted) ++incomplete_;
    if (accepted && connection == nullptr) {
      return Enqueue(exchange, ExchangeTimeouts::Position::kBack);
    }
    if (connection != nullptr) AttachConnection(exchange, connection);
  }
  if (accepted) return StartOn(std::move(exchange), std::move(connection), reader);
  exchange->done(tl::unexpected(FailureOf(exchange->request, settings_.endpoint, false,
                                          "too many requests wait for a connection")));
}

void SocketTransport::Reassign(ExchangePtr exchange, Reader reader) {
  ConnectionPtr connection;
  {
    const MutexLock lock(mutex_);
    // Timeouts end queued exchanges under this lock, so the state cannot change below.
    if (exchange->state == Exchange::State::kOver) return;
    pending_.Remove(*exchange);
    connection = idle_.Take(reader);
    if (connection == nullptr) return Enqueue(exchange, ExchangeTimeouts::Position::kFront);
    AttachConnection(exchange, connection);
  }
  StartOn(std::move(exchange), std::move(connection), reader);
}

void SocketTransport::Enqueue(const ExchangePtr& exchange, ExchangeTimeouts::Position position) {
  SetTimeout(exchange, exchange->limits.LatestBegin().at());
  pending_.Enqueue(exchange, position);
  OpenMore();
}

void SocketTransport::AttachConnection(const ExchangePtr& exchange, ConnectionPtr connection) {
  exchange->connection = std::move(connection);
  SetTimeout(exchange, exchange->limits.DeadlineFrom(clock_.Now()).at());
}

void SocketTransport::StartOn(ExchangePtr exchange, ConnectionPtr connection, Reader reader) {
  switch (connection->Begin(exchange, reader)) {
    case SocketConnection::Begun::kBegun:
      return;  // this object may have been destroyed
    case SocketConnection::Begun::kOver:
      return Release(std::move(connection), true, nullptr);
    case SocketConnection::Begun::kBroken:
      // The connection is not released yet, so the destructor waits even if the exchange completes.
      if (!connection->is_proven()) {
        const MutexLock lock(mutex_);
        pace_.OnFailed(clock_.Now());
      }
      Reassign(std::move(exchange), reader);
      if (!connection->is_proven()) FailQueued("the server closed the connection at once", 1);
      return Release(std::move(connection), false, nullptr);
  }
}

void SocketTransport::OnEnded(ConnectionPtr connection, ExchangePtr exchange, HttpResult result,
                              bool reusable) {
  const bool is_first = exchange->state.exchange(Exchange::State::kOver) != Exchange::State::kOver;
  exchange->completed = result.has_value();
  // Before the callback: the caller's next request may use this connection.
  Release(std::move(connection), reusable, exchange.get());
  if (is_first) Complete(*exchange, std::move(result));
}

void SocketTransport::Release(ConnectionPtr connection, bool reusable, Exchange* ended) {
  ExchangePtr next;
  {
    const MutexLock lock(mutex_);
    if (ended != nullptr) {
      UpdatePace(*ended, *connection);
      pending_.Remove(*ended);
    }
    reusable = reusable && !closing_;
    if (reusable) next = pending_.TakeQueued(clock_.Now());
    if (next != nullptr) AttachConnection(next, connection);
    if (reusable && next == nullptr) return KeepIdle(std::move(connection));
  }
  if (next != nullptr) return StartOn(std::move(next), std::move(connection), Reader::kLoop);
  Discard(*connection);
}

void SocketTransport::KeepIdle(ConnectionPtr connection) {
  // The server did not close it at once.
  connection->SetProven();
  WakeBy(idle_.Add(std::move(connection), clock_.Now()));
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
    // If it has been assigned meanwhile, the thread that uses it finds it broken.
    if (!idle_.Remove(connection)) return;
  }
  Discard(*connection);
}

void SocketTransport::Complete(Exchange& exchange, HttpResult result) {
  exchange.done(std::move(result));
  // Destroy the callback before the destructor may proceed: once the destructor has returned, its
  // caller may free objects that the callback refers to.
  exchange.done = nullptr;
  const MutexLock lock(mutex_);
  if (--incomplete_ == 0) changed_.notify_all();
}

bool SocketTransport::NeedsMore() const {
  // One connection is made for each queued exchange.
  return connecting_ < pending_.queued() && open_ < options_.max_connections && !closing_;
}

void SocketTransport::OpenMore() {
  if (!NeedsMore()) return;
  const Instant now = clock_.Now();
  while (connecting_ < pace_.MaxAt(now) && NeedsMore()) {
    pace_.OnStarted(now);
    ++connecting_;
    ++open_;
    loop_->Post([this] { maker_->Start(); });
  }
  // OnTime opens the next one at that time.
  if (pace_.next() > now) WakeBy(pace_.next());
}

void SocketTransport::UpdatePace(const Exchange& exchange, SocketConnection& connection) {
  if (exchange.completed) {
    connection.SetProven();
    pace_.OnResponse();
  } else if (!connection.is_proven()) {
    pace_.OnFailed(clock_.Now());
  }
}

void SocketTransport::OnConnected(Result<std::unique_ptr<ByteStream>> stream) {
  {
    const MutexLock lock(mutex_);
    --connecting_;
    if (!stream) {
      --open_;
      pace_.OnFailed(clock_.Now());
    }
    changed_.notify_all();
  }
  if (stream) {
    // The connection goes to the exchange that has waited longest, or becomes idle.
    SocketConnection::Owner& owner = *this;
    Release(std::make_shared<SocketConnection>(owner, *loop_, settings_, *std::move(stream)), true,
            nullptr);
  } else {
    FailQueued(stream.error().message, 0);
  }
  const MutexLock lock(mutex_);
  OpenMore();
}

void SocketTransport::FailQueued(const std::string& why, std::size_t lost) {
  std::vector<ExchangePtr> failed;
  {
    const MutexLock lock(mutex_);
    if (open_ > lost) return;
    while (ExchangePtr first = pending_.TakeQueued(clock_.Now())) {
      if (first->state.exchange(Exchange::State::kOver) != Exchange::State::kOver) {
        failed.push_back(std::move(first));
      }
    }
  }
  for (const ExchangePtr& each : failed) {
    Complete(*each, tl::unexpected(FailureOf(each->request, settings_.endpoint, false, why)));
  }
}

void SocketTransport::CloseAll() {
  const std::size_t never_made = maker_->CancelAll();
  std::vector<ConnectionPtr> idle;
  {
    const MutexLock lock(mutex_);
    connecting_ -= never_made;
    open_ -= never_made;
    idle = idle_.TakeAll();
    changed_.notify_all();
  }
  for (const ConnectionPtr& each : idle) Discard(*each);
}

void SocketTransport::SetTimeout(const ExchangePtr& exchange, Instant at) {
  pending_.SetTimeout(exchange, at);
  // If the transport may give up, OnTime must check that regularly.
  WakeBy(options_.gives_up ? std::min(at, clock_.Now() + kGiveUpPollInterval) : at);
}

void SocketTransport::WakeBy(Instant at) {
  // OnTime runs earlier, and sets the timer again.
  if (at >= wakes_at_) return;
  wakes_at_ = at;
  loop_->WakeAt(at);
}

void SocketTransport::OnTime() {
  const Instant now = clock_.Now();
  const bool gives_up = GivesUp();
  std::vector<TimedOutExchange> overdue;
  std::vector<ConnectionPtr> expired;
  {
    const MutexLock lock(mutex_);
    overdue = pending_.TakeTimedOut(now, gives_up);
    expired = idle_.TakeExpired(now);
    OpenMore();
  }
  EndTimedOut(overdue);
  for (const ConnectionPtr& each : expired) Discard(*each);
  maker_->OnTime(now);
  SetTimer();
}

// Outside the lock, because Abandon takes the connection's lock and callbacks may call Send. If
// Abandon returns false, the exchange has just ended there, or has not begun; the thread that
// carries it then releases the connection.
void SocketTransport::EndTimedOut(const std::vector<TimedOutExchange>& overdue) {
  for (const auto& [exchange, connection, maybe_sent] : overdue) {
    if (connection != nullptr && connection->Abandon(exchange)) {
      Release(connection, false, nullptr);
    }
    Complete(*exchange,
             tl::unexpected(TimeOutOf(exchange->request, settings_.endpoint, maybe_sent)));
  }
}

void SocketTransport::SetTimer() {
  const MutexLock lock(mutex_);
  Instant next = std::min(idle_.next_expiry(), maker_->next_wake());
  if (pending_.has_timeouts()) {
    next = std::min(next, pending_.first_timeout());
    if (options_.gives_up) next = std::min(next, clock_.Now() + kGiveUpPollInterval);
  }
  // While connections are being made, OnConnected opens more.
  if (NeedsMore() && connecting_ == 0) next = std::min(next, pace_.next());
  wakes_at_ = next;
  loop_->WakeAt(next);
}

}  // namespace weir::internal
