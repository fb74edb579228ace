// The sessions of a server that one event loop serves.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "weir/runtime/deadline.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"
#include "weir/transport/connection_bounds.h"
#include "weir/transport/drain_result.h"
#include "weir/transport/session.h"

namespace weir::transport {

/// A socket that a listener accepted and the bounds admitted.
struct AcceptedSocket {
  UniqueFd fd;
  SocketAddress peer;
};

/// Used on the loop's thread, except where a function says otherwise. It must be closed (CloseAll)
/// before it is destroyed.
class LoopSessions final : public Session::Owner {
 public:
  using DrainDone = std::move_only_function<void(DrainResult)>;

  /// The references must outlive the object. `settings.buffer` is replaced by a buffer that the
  /// object owns.
  LoopSessions(SessionSettings settings, ConnectionBounds& bounds, Log& log);

  /// Any thread: passes a socket to the loop.
  void Deal(AcceptedSocket socket);
  /// Any thread: returns the number of sockets that were dealt to the loop and have not ended.
  std::size_t open() const { return open_.load(std::memory_order_relaxed); }
  EventLoop& loop() { return settings_.loop; }

  /// Ends all sessions by the deadline, then calls `done`. Later sockets are refused. To be called
  /// once.
  void Drain(Deadline deadline, DrainDone done);
  /// Cuts all sessions, and refuses later ones.
  void CloseAll();

  void OnEnd(Session& session, SessionEnd end, std::string_view why) override;
  void OnCut() override;

 private:
  void Add(AcceptedSocket socket);
  /// Returns a copy of the list of sessions: a call of one session may remove others from the
  /// table.
  std::vector<Session*> All() const;
  void CutAll();
  void FinishDrainIfEmpty();
  void Count(SessionEnd end);
  void WriteEvent(const Session& session, SessionEnd end, std::string_view why);

  SessionSettings settings_;
  ConnectionBounds& bounds_;
  Log& log_;
  const std::unique_ptr<char[]> buffer_;
  RepeatedEvent handshake_events_{std::chrono::seconds(10)};
  std::atomic<std::size_t> open_ = 0;
  std::unordered_map<const Session*, std::unique_ptr<Session>> sessions_;
  bool is_ending_ = false;
  DrainDone drained_;
  DrainResult drain_result_;
  std::optional<TimerId> drain_timer_;
};

}  // namespace weir::transport
