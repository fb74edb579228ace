#include "weir/http2/stream.h"

#include <nghttp2/nghttp2.h>

#include <array>
#include <utility>

#include "weir/http2/server_connection.h"
#include "weir/http2/stream_state.h"

namespace weir::http2 {
namespace {

constexpr std::size_t kMaxFields = 32;

std::uint8_t* Bytes(std::string_view text) {
  // nghttp2 takes non-const pointers, but only copies the bytes.
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // NOLINT
}

/// The fields in the form of nghttp2. Fields beyond kMaxFields are dropped.
struct FieldArray {
  std::array<nghttp2_nv, kMaxFields> values;
  std::size_t size = 0;

  void Add(std::string_view name, std::string_view value) {
    if (size == kMaxFields) return;
    values[size++] = {Bytes(name), Bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }
};

void SubmitTrailers(nghttp2_session* session, const StreamState& state) {
  FieldArray fields;
  for (const auto& [name, value] : state.trailers) fields.Add(name, value);
  nghttp2_submit_trailer(session, state.id, fields.values.data(), fields.size);
}

// Called by the session when the peer's windows have space.
ssize_t ReadBody(nghttp2_session* session, std::int32_t, std::uint8_t* buffer, std::size_t length,
                 std::uint32_t* flags, nghttp2_data_source* source, void* user) {
  StreamState& state = *static_cast<StreamState*>(source->ptr);
  const std::size_t count = state.body.Take(buffer, length);
  static_cast<ServerConnection*>(user)->OnTaken(count);
  if (state.body.size() == 0) {
    if (state.is_finished) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!state.trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        SubmitTrailers(session, state);
      }
    } else if (count == 0) {
      state.is_deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
  }
  return static_cast<ssize_t>(count);
}

}  // namespace

void StreamWriter::Respond(std::span<const Field> fields, bool is_end) {
  if (state_->is_completed) return;
  state_->is_completed = true;
  state_->is_finished = is_end;
  FieldArray array;
  for (const Field& field : fields) array.Add(field.name, field.value);
  nghttp2_data_provider provider{.source = {.ptr = state_}, .read_callback = ReadBody};
  nghttp2_submit_response(connection_->session_, state_->id, array.values.data(), array.size,
                          is_end ? nullptr : &provider);
  connection_->NoteChange();
}

void StreamWriter::Write(std::string_view bytes) {
  if (state_->is_finished) return;
  state_->body.Append(bytes);
  connection_->unsent_ += bytes.size();
  if (std::exchange(state_->is_deferred, false)) {
    nghttp2_session_resume_data(connection_->session_, state_->id);
  }
  connection_->NoteChange();
}

void StreamWriter::Finish(std::span<const Field> trailers) {
  if (state_->is_finished) return;
  state_->is_finished = true;
  connection_->AwaitTaken();
  for (const Field& field : trailers) state_->trailers.emplace_back(field.name, field.value);
  if (std::exchange(state_->is_deferred, false)) {
    nghttp2_session_resume_data(connection_->session_, state_->id);
  }
  connection_->NoteChange();
}

void StreamWriter::Cancel() {
  state_->is_completed = state_->is_finished = true;
  nghttp2_submit_rst_stream(connection_->session_, NGHTTP2_FLAG_NONE, state_->id, NGHTTP2_CANCEL);
  connection_->NoteChange();
}

std::size_t StreamWriter::pending() const { return state_->body.size(); }

std::size_t StreamWriter::connection_pending() const { return connection_->unsent_; }

}  // namespace weir::http2
