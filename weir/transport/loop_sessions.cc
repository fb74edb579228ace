#include "weir/transport/loop_sessions.h"

#include <array>
#include <cstdint>
#include <utility>

namespace weir::transport {
namespace {

// Bounds the time for which one connection holds up the others of its loop. With 64 KB, a client
// that keeps 250 calls in flight on each of 16 connections made the calls of others wait 15 ms in
// the median; with 8 KB, 6.5 ms.
constexpr std::size_t kBufferBytes = 8 * 1024;

struct EndKind {
  const char* cause;                  ///< as in the log
  Counter ServerCounters::* counter;  ///< null: not counted
};

EndKind KindOf(SessionEnd end) {
  switch (end) {
    case SessionEnd::kRefused:
      return {"refused", &ServerCounters::refused_system};
    case SessionEnd::kHandshake:
      return {"handshake failed", &ServerCounters::handshakes_failed};
    case SessionEnd::kHandshakeLate:
      return {"handshake late", &ServerCounters::handshakes_late};
    case SessionEnd::kNoProtocol:
      return {"protocol not offered", &ServerCounters::handshakes_alpn};
    case SessionEnd::kSlow:
      return {"slow", &ServerCounters::cut_slow};
    case SessionEnd::kBroken:
      return {"broken", &ServerCounters::cut_broken};
    case SessionEnd::kClosed:
      return {"closed", nullptr};
    case SessionEnd::kDone:
      break;
  }
  return {"done", nullptr};
}

bool IsOfHandshake(SessionEnd end) {
  return end == SessionEnd::kHandshake || end == SessionEnd::kHandshakeLate ||
         end == SessionEnd::kNoProtocol;
}

}  // namespace

LoopSessions::LoopSessions(SessionSettings settings, ConnectionBounds& bounds, Log& log)
    : settings_(settings), bounds_(bounds), log_(log), buffer_(new char[kBufferBytes]) {
  settings_.buffer = {buffer_.get(), kBufferBytes};
}

void LoopSessions::Deal(AcceptedSocket socket) {
  open_.fetch_add(1, std::memory_order_relaxed);
  settings_.loop.Post([this, socket = std::move(socket)]() mutable { Add(std::move(socket)); });
}

void LoopSessions::Add(AcceptedSocket socket) {
  auto owned = std::make_unique<Session>(settings_, *this, socket.peer);
  Session& session = *owned;
  sessions_.emplace(&session, std::move(owned));
  if (is_ending_) {
    settings_.counters.refused_draining.Add();
    return session.End(SessionEnd::kClosed, "the server drains");
  }
  session.Start(std::move(socket.fd));
}

std::vector<Session*> LoopSessions::All() const {
  std::vector<Session*> all;
  all.reserve(sessions_.size());
  for (const auto& [key, session] : sessions_) all.push_back(session.get());
  return all;
}

void LoopSessions::Drain(Deadline deadline, DrainDone done) {
  is_ending_ = true;
  drained_ = std::move(done);
  for (Session* session : All()) {
    if (session->is_open()) ++drain_result_.ended;
  }
  for (Session* session : All()) session->Drain();
  if (!deadline.is_never() && !sessions_.empty()) {
    drain_timer_ = settings_.loop.At(deadline.at(), [this] {
      drain_timer_.reset();
      CutAll();
    });
  }
  FinishDrainIfEmpty();
}

void LoopSessions::CloseAll() {
  is_ending_ = true;
  CutAll();
  FinishDrainIfEmpty();
}

void LoopSessions::CutAll() {
  for (Session* session : All()) {
    if (session->is_open() && drained_) OnCut();
    session->End(SessionEnd::kClosed, "the server ends");
  }
}

void LoopSessions::FinishDrainIfEmpty() {
  if (!drained_ || !sessions_.empty()) return;
  if (drain_timer_) settings_.loop.Cancel(*std::exchange(drain_timer_, std::nullopt));
  std::exchange(drained_, nullptr)(drain_result_);
}

void LoopSessions::OnEnd(Session& session, SessionEnd end, std::string_view why) {
  Count(end);
  WriteEvent(session, end, why);
  bounds_.Release(PeerKey(session.peer()));
  open_.fetch_sub(1, std::memory_order_relaxed);
  // Destroyed later, because a function of the session is running.
  auto ended = sessions_.extract(&session);
  settings_.loop.Post([ended = std::move(ended.mapped())] {});
  FinishDrainIfEmpty();
}

// A session that is open during a drain was open at its beginning, and is counted in `ended`.
void LoopSessions::OnCut() {
  settings_.counters.cut_drained.Add();
  if (!drained_) return;
  --drain_result_.ended;
  ++drain_result_.cut;
}

void LoopSessions::Count(SessionEnd end) {
  if (const auto counter = KindOf(end).counter; counter != nullptr) {
    (settings_.counters.*counter).Add();
  }
}

// Handshakes may fail as often as any stranger wants, so their events are limited.
void LoopSessions::WriteEvent(const Session& session, SessionEnd end, std::string_view why) {
  const bool is_handshake = IsOfHandshake(end);
  const LogLevel level = is_handshake ? LogLevel::kWarning : LogLevel::kDebug;
  if (!log_.IsEnabled(level)) return;
  std::int64_t suppressed = 0;
  if (is_handshake) {
    const auto suppressed_before = handshake_events_.ShouldWrite(settings_.loop.clock().Now());
    if (!suppressed_before) return;
    suppressed = *suppressed_before;
  }
  const std::string peer = TextOf(session.peer());
  const std::array fields = {LogField{"peer", std::string_view(peer)},
                             LogField{"cause", std::string_view(KindOf(end).cause)},
                             LogField{"message", why}, LogField{"suppressed", suppressed}};
  log_.Write(level, is_handshake ? "transport.handshake_failed" : "transport.connection_ended",
             fields);
}

}  // namespace weir::transport
