// The protocol of one accepted connection, without I/O: bytes and times go in, bytes and the next
// wake-up come out. A driver moves the bytes (docs/design/transport.md).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"

namespace weir::transport {

/// The state machine of one connection. Used on the thread of its event loop only. The driver
/// destroys it when IsDone, when the peer is gone, or when the loop ends.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Processes bytes from the peer. Never keeps a view of them.
  virtual void Receive(std::string_view bytes, Instant now) = 0;
  /// Returns bytes to send, empty if there are none now. They stay valid until the next call of any
  /// function of the connection other than wake and IsDone. Until they are sent, each later Output
  /// begins with these bytes: a TLS record that contains them may already be sent in part.
  virtual std::string_view Output() = 0;
  /// The first `count` bytes of the last Output were sent.
  virtual void OnSent(std::size_t count, Instant now) = 0;
  /// The peer sends nothing more. Output may still be sent to it.
  virtual void OnPeerClosed(Instant now) = 0;
  /// Returns the latest time at which OnTime is to be called; Instant{INT64_MAX} if there is none.
  /// After OnTime(now), wake() is later than `now`. OnTime may be called earlier than at wake().
  virtual Instant wake() const = 0;
  virtual void OnTime(Instant now) = 0;
  /// Begins an orderly end: no new requests; those in progress are completed.
  virtual void Drain(Instant now) = 0;
  /// Returns true when the connection is to be closed. Output that is unsent then is dropped, so a
  /// connection whose last output matters returns false until this output was sent. The driver
  /// itself ends a connection whose peer takes no bytes for a configured time.
  virtual bool IsDone() const = 0;
  /// Returns whether it ended itself while requests were in progress, because their time was over.
  virtual bool IsCut() const { return false; }
};

/// What a connection knows of its peer.
struct Peer {
  std::string address;  ///< numeric address and port, for logs; "unix" for a socket file
  bool is_encrypted = false;
  /// The subject of a client certificate that was verified (RFC 2253), or empty.
  std::string certificate_name;
};

/// What a connection gets from its driver.
struct ConnectionContext {
  Peer peer;
  /// The loop that serves the connection. Its tasks run on the thread of the connection.
  Scheduler& loop;
  /// Reports that Output, wake or IsDone may have changed outside a call of the driver. To be
  /// called on the loop's thread; nothing happens after the connection was destroyed. The driver
  /// checks them after the current task, once for several calls.
  std::function<void()> changed;
};

/// Makes the connections of a listener. Called on the thread of the loop that will serve the
/// connection. Null refuses the peer.
using ConnectionFactory = std::function<std::unique_ptr<Connection>(ConnectionContext)>;

}  // namespace weir::transport
