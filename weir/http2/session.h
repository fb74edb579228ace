// nghttp2's session of a server's connection: its options and callbacks.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <string_view>

#include "weir/http2/bounds.h"

namespace weir::http2 {

class ServerConnection;
struct StreamState;

/// Returns a session that has submitted the server's SETTINGS and reports events to `connection`,
/// which must outlive the session. The caller deletes it (nghttp2_session_del).
nghttp2_session* MakeSession(const ConnectionBounds& bounds, ServerConnection& connection);

/// Returns the state that the connection has attached to the stream, or null.
StreamState* StateOf(nghttp2_session* session, std::int32_t id);

/// Returns nghttp2's bytes as text. The view is valid as long as the bytes are.
std::string_view TextOf(const std::uint8_t* bytes, std::size_t length);

}  // namespace weir::http2
