#include "weir/transport/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "weir/transport/acceptor.h"
#include "weir/transport/connection_bounds.h"
#include "weir/transport/drain_tally.h"
#include "weir/transport/listen_socket.h"
#include "weir/transport/loop_sessions.h"
#include "weir/transport/options_check.h"
#include "weir/transport/server_tls.h"

namespace weir::transport {

class Server::State {
 public:
  State(EventLoops& loops, ServerOptions server_options, ConnectionFactory connection_factory,
        Log& server_log)
      : options(std::move(server_options)),
        factory(std::move(connection_factory)),
        log(server_log),
        bounds(options.max_connections, options.max_connections_per_peer),
        loops_(loops) {}

  Status Listen();
  Status Start();
  Status OpenSockets();
  void MakeSessions();
  Status StartAcceptors();
  void StopAccepting();
  void CloseSessions();
  void Drain(Deadline deadline, Done<DrainResult> done);
  void ReportReload(const Status& status);

  const ServerOptions options;
  const ConnectionFactory factory;
  Log& log;
  ServerCounters counters;
  ConnectionBounds bounds;
  std::unique_ptr<ServerTls> tls;
  std::vector<ListenSocket> sockets;  ///< until the server stops accepting
  std::vector<std::string> bound;     ///< the addresses of `sockets`, as texts

 private:
  /// On the first loop: deals a socket to a loop if the bounds allow it.
  void Take(UniqueFd fd, const SocketAddress& peer);
  /// Returns the loop with the fewest connections; of several such loops, the first after the last
  /// choice.
  LoopSessions& NextLoop();
  EventLoop& accepting_loop() { return *loops_.front(); }

  EventLoops& loops_;
  std::vector<std::unique_ptr<LoopSessions>> sessions_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;  ///< used on the first loop
  std::size_t last_choice_ = 0;                       ///< used on the first loop
  std::atomic<bool> is_draining_ = false;
};

Status Server::State::Listen() {
  if (options.tls) {
    WEIR_ASSIGN_OR_RETURN(tls, ServerTls::Load(*options.tls));
  }
  Status listening = OpenSockets();
  if (!listening) {
    sockets.clear();
    bound.clear();
  }
  return listening;
}

Status Server::State::Start() {
  if (sockets.empty()) WEIR_RETURN_IF_ERROR(Listen());
  MakeSessions();
  Status accepting;
  accepting_loop().RunAndWait([&] { accepting = StartAcceptors(); });
  if (!accepting) StopAccepting();
  return accepting;
}

Status Server::State::OpenSockets() {
  for (const std::string& text : options.addresses) {
    WEIR_RETURN_IF_ERROR(OpenListenSockets(text, options.inherited, sockets));
  }
  for (const ListenSocket& socket : sockets) {
    WEIR_RETURN_IF_ERROR(CheckPlaintext(options, socket.address(), socket.text()));
    bound.push_back(socket.text());
  }
  if (!sockets.empty()) return {};
  return Fail(Code::kInvalidArgument, "a server needs an address to listen on");
}

void Server::State::MakeSessions() {
  for (const std::unique_ptr<EventLoop>& loop : loops_) {
    const SessionSettings settings{.loop = *loop,
                                   .buffer = {},
                                   .factory = factory,
                                   .tls = tls.get(),
                                   .counters = counters,
                                   .handshake_timeout = options.handshake_timeout,
                                   .write_timeout = options.write_timeout,
                                   .linger_timeout = options.linger_timeout};
    sessions_.push_back(std::make_unique<LoopSessions>(settings, bounds, log));
  }
}

Status Server::State::StartAcceptors() {
  for (ListenSocket& socket : sockets) {
    acceptors_.push_back(std::make_unique<Acceptor>(
        accepting_loop(),
        [this](UniqueFd fd, const SocketAddress& peer) { Take(std::move(fd), peer); },
        counters.accept_errors, log));
    WEIR_RETURN_IF_ERROR(acceptors_.back()->Start(socket.TakeFd()));
  }
  return {};
}

void Server::State::Take(UniqueFd fd, const SocketAddress& peer) {
  switch (bounds.Admit(PeerKey(peer))) {
    case ConnectionBounds::Verdict::kTooMany:
      return counters.refused_total.Add();
    case ConnectionBounds::Verdict::kTooManyOfPeer:
      return counters.refused_peer.Add();
    case ConnectionBounds::Verdict::kAdmitted:
      break;
  }
  counters.accepted.Add();
  NextLoop().Deal({std::move(fd), peer});
}

LoopSessions& Server::State::NextLoop() {
  std::size_t chosen = last_choice_;
  for (std::size_t i = 1; i <= sessions_.size(); ++i) {
    const std::size_t next = (last_choice_ + i) % sessions_.size();
    if (i == 1 || sessions_[next]->open() < sessions_[chosen]->open()) chosen = next;
  }
  last_choice_ = chosen;
  return *sessions_[chosen];
}

void Server::State::StopAccepting() {
  accepting_loop().RunAndWait([this] { acceptors_.clear(); });
  sockets.clear();
}

void Server::State::CloseSessions() {
  for (const std::unique_ptr<LoopSessions>& sessions : sessions_) {
    sessions->loop().RunAndWait([&sessions] { sessions->CloseAll(); });
  }
}

void Server::State::Drain(Deadline deadline, Done<DrainResult> done) {
  if (is_draining_.exchange(true)) {
    return done(Fail(Code::kFailedPrecondition, "the server drains already"));
  }
  StopAccepting();
  const auto tally = std::make_shared<DrainTally>(sessions_.size(), std::move(done));
  for (const std::unique_ptr<LoopSessions>& sessions : sessions_) {
    sessions->loop().Post([&sessions, deadline, tally] {
      sessions->Drain(deadline, [tally](DrainResult result) { tally->Add(result); });
    });
  }
}

void Server::State::ReportReload(const Status& status) {
  if (status) return log.Write(LogLevel::kInfo, "transport.tls_reloaded", {});
  counters.reload_errors.Add();
  const std::array fields = {LogField{"message", std::string_view(status.error().message)}};
  log.Write(LogLevel::kError, "transport.tls_reload_failed", fields);
}

Server::Server(EventLoops& loops, ServerOptions options, ConnectionFactory factory, Log& log)
    : state_(std::make_unique<State>(loops, std::move(options), std::move(factory), log)) {}

Server::~Server() {
  state_->StopAccepting();
  state_->CloseSessions();
}

Status Server::Listen() { return state_->Listen(); }

Status Server::Start() { return state_->Start(); }

std::vector<std::string> Server::addresses() const { return state_->bound; }

Status Server::ReloadTls() {
  if (state_->tls == nullptr) return Fail(Code::kFailedPrecondition, "the server has no TLS");
  Status status = state_->tls->Reload();
  state_->ReportReload(status);
  return status;
}

void Server::Drain(Deadline deadline, Done<DrainResult> done) {
  state_->Drain(deadline, std::move(done));
}

std::size_t Server::connections() const { return state_->bounds.open(); }

const ServerCounters& Server::counters() const { return state_->counters; }

}  // namespace weir::transport
