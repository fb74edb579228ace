// One request of an HTTP/2 connection, and its response.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weir::http2 {

class ServerConnection;
struct StreamState;

struct Field {
  std::string_view name;  ///< lower case
  std::string_view value;
};

/// Sends the response of one stream. Valid as long as its Stream. Used on the connection's thread.
class StreamWriter {
 public:
  StreamWriter(ServerConnection& connection, StreamState& state)
      : connection_(&connection), state_(&state) {}

  /// Sends the fields, `:status` first. If `is_end`, the response has nothing else; otherwise Write
  /// and Finish follow. REQUIRES: not called before.
  void Respond(std::span<const Field> fields, bool is_end);
  /// Sends bytes of the body when the peer's windows allow it. They are buffered until then, so
  /// the caller must bound pending().
  void Write(std::string_view bytes);
  /// Ends the response, with trailers if there are any.
  void Finish(std::span<const Field> trailers);
  /// Ends the stream without the rest of the response: CANCEL (RFC 9113, section 7).
  void Cancel();
  /// Returns the bytes of the body that were not sent yet.
  std::size_t pending() const;
  /// Returns the sum of pending() of all streams of the connection.
  std::size_t connection_pending() const;

 private:
  ServerConnection* connection_;
  StreamState* state_;
};

/// The application's side of a request. The connection destroys it when the stream has ended,
/// because the response was sent, the peer reset the stream, or the connection is gone.
class Stream {
 public:
  virtual ~Stream() = default;

  /// A field of the request, pseudo fields such as `:path` included, but not of its trailers. The
  /// views are valid during the call.
  virtual void OnField(std::string_view name, std::string_view value) = 0;
  /// All fields were received.
  virtual void OnHead() = 0;
  virtual void OnData(std::string_view bytes) = 0;
  /// The request is complete.
  virtual void OnEnd() = 0;
  /// The request was not complete in time (ConnectionBounds::request). The stream is reset.
  virtual void OnRequestTimeout() = 0;
};

}  // namespace weir::http2
