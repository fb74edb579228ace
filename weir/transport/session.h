// Moves the bytes between an accepted socket and the protocol of its connection.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "weir/transport/byte_channel.h"
#include "weir/transport/connection.h"
#include "weir/transport/fd_watch.h"
#include "weir/transport/server_counters.h"
#include "weir/transport/server_tls.h"
#include "weir/transport/socket_address.h"

namespace weir::transport {

/// What the sessions of a loop share. All of it must outlive them.
struct SessionSettings {
  EventLoop& loop;
  std::span<char> buffer;  ///< for the bytes of one read
  const ConnectionFactory& factory;
  const ServerTls* tls;  ///< null: no TLS
  ServerCounters& counters;
  nanoseconds handshake_timeout;
  nanoseconds write_timeout;
  nanoseconds linger_timeout;
};

enum class SessionEnd {
  kDone,           ///< the protocol had ended
  kRefused,        ///< the system lacks a resource, or the protocol refused the connection
  kHandshake,      ///< the handshake failed
  kHandshakeLate,  ///< the handshake passed its time limit
  kNoProtocol,     ///< the peer does not speak the required protocol (ALPN)
  kSlow,           ///< the peer took no bytes for write_timeout
  kBroken,         ///< the peer or the network broke the connection
  kClosed,         ///< the server ends
};

/// Used on the thread of its loop. A turn reads once, up to the size of the buffer, passes all of
/// these bytes to the connection, and then writes. While bytes are unsent, nothing is read.
class Session final : private FdHandler {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The socket is closed and the connection destroyed. The owner must keep the session until
    /// the current task or handler of the loop has returned.
    virtual void OnEnd(Session& session, SessionEnd end, std::string_view why) = 0;
    /// Connection::IsCut of a session; OnEnd follows.
    virtual void OnCut() = 0;
  };

  Session(const SessionSettings& settings, Owner& owner, const SocketAddress& peer)
      : settings_(settings), owner_(owner), peer_(peer) {}
  ~Session() override;

  void Start(UniqueFd fd);
  /// Asks the connection to end. A handshake in progress is cut.
  void Drain();
  /// Cuts the session, unless it has ended.
  void End(SessionEnd end, std::string_view why);
  const SocketAddress& peer() const { return peer_; }
  /// Returns whether the protocol is in progress.
  bool is_open() const { return connection_ != nullptr; }

 private:
  enum class Phase { kNew, kHandshake, kOpen, kLingering, kEnded };
  class Event;

  void OnReadable() override;
  void OnWritable() override;
  /// The connection has changed outside an event.
  void OnChanged();
  void OnTimer();

  void ContinueHandshake();
  void Open();
  Peer DescribePeer() const;
  /// Reads once and passes the bytes to the connection.
  void ReadTurn();
  /// Sends output, then waits for the events that the connection needs.
  void Settle();
  /// Sends output until the socket is full or it is another session's turn. Returns false if the
  /// session has ended.
  bool WriteTurn();
  /// Reads and drops bytes until the peer closes too: a socket that is closed with unread bytes
  /// sends a reset, which could overtake the last output.
  void BeginLinger();
  void LingerTurn();
  void AwaitInput();
  /// Calls OnTimer at `due`, or earlier.
  void SetTimer(Instant due);
  void CancelTask(std::optional<TimerId>& task);
  Instant Now() const { return settings_.loop.clock().Now(); }

  const SessionSettings& settings_;
  Owner& owner_;
  const SocketAddress peer_;
  Phase phase_ = Phase::kNew;
  std::unique_ptr<FdWatch> watch_;
  std::optional<ByteChannel> channel_;
  std::unique_ptr<Connection> connection_;
  /// Identifies the session for callbacks that may outlive it: they have weak pointers.
  const std::shared_ptr<Session*> self_ = std::make_shared<Session*>(this);
  bool in_event_ = false;
  bool is_peer_closed_ = false;
  bool has_unsent_ = false;
  std::size_t discarded_ = 0;
  Instant limit_{INT64_MAX};  ///< deadline of the handshake, of a blocked write, or of lingering
  Instant timer_at_{INT64_MAX};
  std::optional<TimerId> timer_;
  std::optional<TimerId> next_turn_;  ///< a task that settles soon
  bool is_turn_posted_ = false;       ///< a turn that reads comes after the sockets that are ready
};

}  // namespace weir::transport
