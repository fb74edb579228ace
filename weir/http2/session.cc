#include "weir/http2/session.h"

#include <array>

#include "weir/http2/server_connection.h"
#include "weir/http2/stream_state.h"

namespace weir::http2 {
namespace {

// nghttp2 ends a connection that sends more, as an attack does; a request with 64 KB of fields
// needs four.
constexpr std::size_t kMaxContinuations = 8;
constexpr std::size_t kFieldOverhead = 32;  // of a field in a header list: RFC 9113, 6.5.2

ServerConnection& ConnectionOf(void* user) { return *static_cast<ServerConnection*>(user); }

}  // namespace

std::string_view TextOf(const std::uint8_t* bytes, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes), length};  // NOLINT
}

StreamState* StateOf(nghttp2_session* session, std::int32_t id) {
  return static_cast<StreamState*>(nghttp2_session_get_stream_user_data(session, id));
}

/// The functions that nghttp2 calls while it reads and writes frames.
struct SessionCallbacks {
  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      ConnectionOf(user).OnBeginHeaders(frame->hd.stream_id);
    }
    return 0;
  }
  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame,
                      const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                      std::size_t value_size, std::uint8_t, void* user) {
    StreamState* state = StateOf(session, frame->hd.stream_id);
    if (state == nullptr || state->is_refused) return 0;
    const std::size_t bytes = name_size + value_size + kFieldOverhead;
    if (!ConnectionOf(user).CountField(*state, bytes)) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    // Trailers count towards the bound, but must not change a request that has begun.
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      state->stream->OnField(TextOf(name, name_size), TextOf(value, value_size));
    }
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    ConnectionOf(user).OnFrame(*frame);
    return 0;
  }
  static int OnInvalidFrame(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    ConnectionOf(user).OnInvalidFrame(*frame);
    return 0;
  }
  static int OnData(nghttp2_session* session, std::uint8_t, std::int32_t id,
                    const std::uint8_t* data, std::size_t size, void*) {
    StreamState* state = StateOf(session, id);
    if (state != nullptr && !state->is_refused) state->stream->OnData(TextOf(data, size));
    return 0;
  }
  static int OnFrameSent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    ConnectionOf(user).OnFrameSent(*frame);
    return 0;
  }
  static int OnClose(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    ConnectionOf(user).OnStreamClosed(id);
    return 0;
  }

  static nghttp2_session_callbacks* Make() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, OnInvalidFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, OnFrameSent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnClose);
    return callbacks;
  }
};

nghttp2_session* MakeSession(const ConnectionBounds& bounds, ServerConnection& connection) {
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_stream_reset_rate_limit(option, bounds.reset_burst, bounds.resets_per_second);
  nghttp2_option_set_max_continuations(option, kMaxContinuations);
  nghttp2_session_callbacks* callbacks = SessionCallbacks::Make();
  nghttp2_session* session = nullptr;
  nghttp2_session_server_new2(&session, callbacks, &connection, option);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  // The priorities of RFC 7540 stay enabled, and nghttp2 stores ended streams: otherwise nghttp2
  // would ignore frames that are errors of the connection (docs/design/http2.md).
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, bounds.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bounds.stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(bounds.max_header_list)},
  }};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(bounds.connection_window));
  return session;
}

}  // namespace weir::http2
