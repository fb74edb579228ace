// The server's side of an HTTP/2 connection, on nghttp2, without I/O. Mechanism:
// docs/design/http2.md.
//
//   Receive --> nghttp2 --> Stream (fields, data, end)
//                                |
//   Output <--- nghttp2 <--- StreamWriter (respond, write, finish, reset)
#pragma once

#include <absl/container/flat_hash_map.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weir/http2/bounds.h"
#include "weir/http2/connection_times.h"
#include "weir/http2/stream.h"
#include "weir/telemetry/counter.h"
#include "weir/transport/connection.h"

namespace weir::http2 {

/// Makes the application's side of a new request.
using StreamFactory = std::function<std::unique_ptr<Stream>(StreamWriter)>;

/// Counts of events of connections. Any thread.
struct ConnectionCounts {
  Counter streams;
  Counter peer_resets;        ///< streams that the peer ended before their response
  Counter refused_headers;    ///< requests over max_header_list
  Counter request_timeouts;   ///< requests that were not complete in time
  Counter response_timeouts;  ///< responses that the peer did not take in time
  Counter protocol_errors;    ///< connections that violated the protocol
  Counter timeouts;           ///< connections that were closed because a time was over
};

/// Not thread-safe. A stream that exceeds a bound is reset or refused; a connection that violates
/// the protocol, or whose peer resets too many streams, sends GOAWAY and ends.
class ServerConnection final : public transport::Connection {
 public:
  /// `counts` must outlive the connection. `changed` is called when a StreamWriter was used outside
  /// a call of this connection (ConnectionContext::changed).
  ServerConnection(const ConnectionBounds& bounds, StreamFactory factory, ConnectionCounts& counts,
                   std::function<void()> changed, Instant now);
  ~ServerConnection() override;
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  void Receive(std::string_view bytes, Instant now) override;
  std::string_view Output() override;
  void OnSent(std::size_t count, Instant now) override;
  void OnPeerClosed(Instant now) override;
  Instant wake() const override;
  void OnTime(Instant now) override;
  /// Sends GOAWAY twice: first a notice with the highest stream id, so that requests that the peer
  /// sends meanwhile are served, and later the id of the last stream.
  void Drain(Instant now) override;
  bool IsDone() const override;
  bool IsCut() const override { return is_cut_; }

  std::size_t open_streams() const { return streams_.size(); }
  /// `count` bytes of a body were passed to the session.
  void OnTaken(std::size_t count) { unsent_ -= count; }

 private:
  friend class StreamWriter;
  friend struct SessionCallbacks;

  // Events of the session.
  void OnBeginHeaders(std::int32_t id);
  // Counts a field of a request. Returns false if the fields are too large: the request is then
  // reset.
  bool CountField(StreamState& state, std::size_t bytes);
  void OnFrame(const nghttp2_frame& frame);
  // nghttp2 ends the connection because of this frame.
  void OnInvalidFrame(const nghttp2_frame& frame);
  void OnFrameSent(const nghttp2_frame& frame);
  void OnStreamClosed(std::int32_t id);

  // Ends the requests that are not complete in time, and the responses that are not taken in time.
  void CheckStreams();
  void CheckRequest(StreamState& state);
  void CheckResponse(StreamState& state);
  void CheckBy(Instant at) { check_at_ = check_at_ ? std::min(*check_at_, at) : at; }
  // A response is finished: schedules a check, at which the response's time begins.
  void AwaitTaken() { CheckBy(now_ + std::max(bounds_.request, bounds_.response)); }
  void EndNotice();
  // Sends GOAWAY; the connection ends when GOAWAY was sent or `kLastOutput` has passed. A second
  // call ends it at once.
  void End(std::uint32_t error);
  // A writer was used: reports it to the driver, unless the driver made the current call.
  void NoteChange();

  const ConnectionBounds bounds_;
  const StreamFactory factory_;
  ConnectionCounts& counts_;
  const std::function<void()> changed_;
  nghttp2_session* session_ = nullptr;
  absl::flat_hash_map<std::int32_t, std::unique_ptr<StreamState>> streams_;
  std::size_t unsent_ = 0;           // bytes of all streams' bodies
  std::optional<Instant> check_at_;  // the earliest time at which a stream may be overdue
  ConnectionTimes times_;
  Instant now_;
  std::string output_;
  std::size_t sent_ = 0;  // bytes of output_ that were sent
  bool in_driver_ = false;
  bool ending_ = false;
  bool dead_ = false;         // nothing more is sent
  bool is_violated_ = false;  // counted in protocol_errors
  bool draining_ = false;
  bool is_cut_ = false;  // the grace of a drain has ended with open streams
  bool peer_closed_ = false;
  bool peer_leaves_ = false;  // it has sent GOAWAY without an error
};

}  // namespace weir::http2
