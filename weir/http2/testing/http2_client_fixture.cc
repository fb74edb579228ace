#include "weir/http2/testing/http2_client_fixture.h"

#include <cstring>

namespace weir::http2 {
namespace {

std::string_view View(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::uint8_t* ToBytes(const std::string& text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

}  // namespace

struct ClientCallbacks {
  static Http2Client& Of(void* user) { return *static_cast<Http2Client*>(user); }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* user) {
    Of(user).responses_[frame->hd.stream_id].fields[std::string(View(name, name_size))] =
        View(value, value_size);
    return 0;
  }
  static int OnData(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* user) {
    Of(user).responses_[id].body += View(data, size);
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Client& client = Of(user);
    const bool has_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (has_end && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
      client.responses_[frame->hd.stream_id].is_complete = true;
    }
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      client.goaways_.emplace_back(frame->goaway.error_code, frame->goaway.last_stream_id);
    }
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
      ++client.pings_;
    }
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
      client.responses_[frame->hd.stream_id].reset = frame->rst_stream.error_code;
    }
    return 0;
  }
  static ssize_t Read(nghttp2_session*, std::int32_t id, std::uint8_t* buffer, std::size_t length,
                      std::uint32_t* flags, nghttp2_data_source*, void* user) {
    Http2Client::Upload& upload = Of(user).uploads_[id];
    if (upload.bytes.empty() && !upload.is_end) return NGHTTP2_ERR_DEFERRED;
    const std::size_t count = std::min(length, upload.bytes.size());
    std::memcpy(buffer, upload.bytes.data(), count);
    upload.bytes.erase(0, count);
    if (upload.bytes.empty() && upload.is_end) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }
};

Http2Client::Http2Client(transport::Connection& server, std::uint32_t window) : server_(server) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, ClientCallbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, ClientCallbacks::OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, ClientCallbacks::OnFrame);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &setting, 1);
}

Http2Client::~Http2Client() { nghttp2_session_del(session_); }

std::int32_t Http2Client::Begin(const Fields& fields, bool is_end) {
  std::vector<nghttp2_nv> values;
  for (const auto& [name, value] : fields) {
    values.push_back(
        {ToBytes(name), ToBytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  nghttp2_data_provider provider{.source = {.ptr = nullptr},
                                 .read_callback = ClientCallbacks::Read};
  return nghttp2_submit_request(session_, nullptr, values.data(), values.size(),
                                is_end ? nullptr : &provider, nullptr);
}

std::int32_t Http2Client::Post(std::string_view path, std::string body, const Fields& more) {
  Fields fields = {{":method", "POST"},
                   {":scheme", "http"},
                   {":path", std::string(path)},
                   {":authority", "localhost"}};
  fields.insert(fields.end(), more.begin(), more.end());
  const std::int32_t id = Begin(fields, /*is_end=*/false);
  Send(id, body, /*is_end=*/true);
  return id;
}

void Http2Client::Send(std::int32_t id, std::string_view bytes, bool is_end) {
  uploads_[id].bytes += bytes;
  uploads_[id].is_end = is_end;
  nghttp2_session_resume_data(session_, id);
}

void Http2Client::Reset(std::int32_t id) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

void Http2Client::Ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

void Http2Client::Exchange(Instant now) {
  for (bool moved = true; moved;) {
    moved = false;
    const std::uint8_t* bytes = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
      server_.Receive(View(bytes, static_cast<std::size_t>(size)), now);
      moved = true;
    }
    for (std::string_view out = server_.Output(); !out.empty(); out = server_.Output()) {
      const auto size = out.size();
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(out.data()), size);
      server_.OnSent(size, now);
      moved = true;
    }
  }
}

void Http2Client::Raw(std::string_view bytes, Instant now) { server_.Receive(bytes, now); }

}  // namespace weir::http2
