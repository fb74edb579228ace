#include "weir/http2/server_connection.h"

#include <algorithm>
#include <utility>

#include "weir/http2/session.h"
#include "weir/http2/stream_state.h"

namespace weir::http2 {
namespace {

constexpr std::size_t kOutputChunk = 65'536;

}  // namespace

ServerConnection::ServerConnection(const ConnectionBounds& bounds, StreamFactory factory,
                                   ConnectionCounts& counts, std::function<void()> changed,
                                   Instant now)
    : bounds_(bounds),
      factory_(std::move(factory)),
      counts_(counts),
      changed_(std::move(changed)),
      session_(MakeSession(bounds, *this)),
      times_(bounds, now),
      now_(now) {}

ServerConnection::~ServerConnection() {
  in_driver_ = true;  // streams that end now must not call changed_
  streams_.clear();
  nghttp2_session_del(session_);
}

void ServerConnection::OnBeginHeaders(std::int32_t id) {
  auto state = std::make_unique<StreamState>();
  state->id = id;
  state->stream = factory_(StreamWriter(*this, *state));
  nghttp2_session_set_stream_user_data(session_, id, state.get());
  state->due = now_ + bounds_.request;
  CheckBy(state->due);
  streams_[id] = std::move(state);
  counts_.streams.Add();
  times_.OnStreams(streams_.size(), now_);
}

bool ServerConnection::CountField(StreamState& state, std::size_t bytes) {
  state.header_bytes += bytes;
  if (state.header_bytes <= bounds_.max_header_list) return true;
  state.is_refused = true;
  counts_.refused_headers.Add();
  return false;
}

void ServerConnection::OnFrame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_SETTINGS) times_.OnHandshake();
  if (frame.hd.type == NGHTTP2_PING && (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) {
    times_.OnPingResponse();
  }
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  StreamState* state = StateOf(session_, frame.hd.stream_id);
  if (state == nullptr || state->is_refused) return;
  if (frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    state->stream->OnHead();
  }
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0 || state->is_refused) return;
  state->is_complete = true;
  state->stream->OnEnd();
}

// grpc-go ends its connections with a GOAWAY that names its own last stream instead of 0 (RFC 9113,
// 6.8), so that nghttp2 refuses it. Such a peer leaves, and is no attack.
void ServerConnection::OnInvalidFrame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY && frame.goaway.error_code == NGHTTP2_NO_ERROR) {
    peer_leaves_ = true;
  }
}

// nghttp2 itself ends a connection, or resets a stream, for most violations of the protocol.
void ServerConnection::OnFrameSent(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY && frame.goaway.error_code != NGHTTP2_NO_ERROR &&
      !peer_leaves_ && !std::exchange(is_violated_, true)) {
    counts_.protocol_errors.Add();
  }
  if (frame.hd.type != NGHTTP2_RST_STREAM) return;
  if (StreamState* state = StateOf(session_, frame.hd.stream_id)) state->is_refused = true;
}

void ServerConnection::OnStreamClosed(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  unsent_ -= found->second->body.size();
  if (!found->second->is_finished && !found->second->is_refused) counts_.peer_resets.Add();
  nghttp2_session_set_stream_user_data(session_, id, nullptr);  // nghttp2 stores ended streams
  const std::unique_ptr<StreamState> state = std::move(found->second);
  streams_.erase(found);
  times_.OnStreams(streams_.size(), now_);
}

void ServerConnection::Receive(std::string_view bytes, Instant now) {
  if (ending_) return;
  now_ = now;
  in_driver_ = true;
  times_.OnReceived(now);
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());  // NOLINT
  if (taken < 0) {
    if (!std::exchange(is_violated_, true)) counts_.protocol_errors.Add();
    End(taken == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
  }
  in_driver_ = false;
}

void ServerConnection::End(std::uint32_t error) {
  if (std::exchange(ending_, true)) {
    dead_ = true;
    return;
  }
  times_.OnEnding(now_);
  nghttp2_session_terminate_session(session_, error);
}

std::string_view ServerConnection::Output() {
  if (sent_ == output_.size()) {
    output_.clear();
    sent_ = 0;
    in_driver_ = true;
    while (output_.size() < kOutputChunk) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t count = nghttp2_session_mem_send(session_, &bytes);
      if (count <= 0) {
        if (count < 0) dead_ = true;
        break;
      }
      output_.append(TextOf(bytes, static_cast<std::size_t>(count)));
    }
    in_driver_ = false;
  }
  return std::string_view(output_).substr(sent_);
}

void ServerConnection::OnSent(std::size_t count, Instant now) {
  now_ = now;
  sent_ += count;
  // An idle connection holds no buffer.
  if (sent_ == output_.size() && streams_.empty()) {
    std::string().swap(output_);
    sent_ = 0;
  }
}

void ServerConnection::OnPeerClosed(Instant now) {
  now_ = now;
  peer_closed_ = true;
}

Instant ServerConnection::wake() const {
  if (dead_) return Instant{INT64_MAX};
  const Instant at = times_.wake();
  return check_at_ ? std::min(at, *check_at_) : at;
}

void ServerConnection::OnTime(Instant now) {
  now_ = now;
  in_driver_ = true;
  CheckStreams();
  for (TimeAction action = times_.TakeDue(now); action != TimeAction::kNone;
       action = times_.TakeDue(now)) {
    if (action == TimeAction::kClose) {
      if (!ending_) counts_.timeouts.Add();
      End(NGHTTP2_NO_ERROR);
      break;
    }
    if (action == TimeAction::kEndOfNotice) EndNotice();
    if (action == TimeAction::kEndOfGrace) {
      is_cut_ = !streams_.empty();
      End(NGHTTP2_NO_ERROR);
    }
    if (action == TimeAction::kDrain) Drain(now);
    if (action == TimeAction::kPing) {
      nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
      times_.OnPinged(now);
    }
  }
  in_driver_ = false;
}

// Visits all streams: there are at most max_streams, and checks are rare.
void ServerConnection::CheckStreams() {
  if (!check_at_ || *check_at_ > now_) return;
  check_at_.reset();
  for (auto& [id, state] : streams_) {
    if (state->is_overdue) continue;
    state->is_complete ? CheckResponse(*state) : CheckRequest(*state);
  }
}

void ServerConnection::CheckRequest(StreamState& state) {
  if (state.due > now_) return CheckBy(state.due);
  state.is_overdue = state.is_refused = true;
  counts_.request_timeouts.Add();
  state.stream->OnRequestTimeout();
  StreamWriter(*this, state).Cancel();
}

// The time for a response begins at its first check, because `now_` may be out of date when the
// response is finished.
void ServerConnection::CheckResponse(StreamState& state) {
  if (!state.is_finished) return;
  if (!state.response_due) state.response_due = now_ + bounds_.response;
  if (*state.response_due > now_) return CheckBy(*state.response_due);
  state.is_overdue = true;
  counts_.response_timeouts.Add();
  StreamWriter(*this, state).Cancel();
}

void ServerConnection::Drain(Instant now) {
  if (std::exchange(draining_, true)) return;
  now_ = now;
  nghttp2_submit_shutdown_notice(session_);
  times_.OnDrainNotice(now);
}

void ServerConnection::EndNotice() {
  if (streams_.empty()) return End(NGHTTP2_NO_ERROR);
  times_.OnLastStream(now_);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

bool ServerConnection::IsDone() const {
  if (dead_) return true;
  if (sent_ < output_.size() || nghttp2_session_want_write(session_) != 0) return false;
  if (ending_) return true;
  // A peer that has closed its side can still receive the responses of its requests.
  if (peer_closed_) return streams_.empty();
  return nghttp2_session_want_read(session_) == 0;
}

void ServerConnection::NoteChange() {
  if (!in_driver_ && changed_) changed_();
}

}  // namespace weir::http2
