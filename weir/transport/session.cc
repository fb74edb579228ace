#include "weir/transport/session.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <string>
#include <utility>

namespace weir::transport {
namespace {

constexpr Instant kUnlimited{INT64_MAX};
/// One connection does not hold up the loop with more writes than this.
constexpr int kWritesPerTurn = 16;
constexpr std::size_t kMaxDiscarded = 256 * 1024;

}  // namespace

/// While an Event exists, OnChanged does nothing: the handler in progress settles at its end.
class Session::Event {
 public:
  explicit Event(Session& session) : session_(session) { session_.in_event_ = true; }
  ~Event() { session_.in_event_ = false; }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

 private:
  Session& session_;
};

Session::~Session() {
  CancelTask(timer_);
  CancelTask(next_turn_);
}

void Session::Start(UniqueFd fd) {
  const Event event(*this);
  Result<std::unique_ptr<FdWatch>> watch = FdWatch::Make(settings_.loop, std::move(fd), *this);
  if (!watch) return End(SessionEnd::kRefused, watch.error().message);
  watch_ = std::move(*watch);
  channel_.emplace(watch_->fd());
  if (settings_.tls == nullptr) return Open();
  sockets::TlsState tls = settings_.tls->NewState();
  if (tls == nullptr) return End(SessionEnd::kRefused, "no memory for TLS");
  channel_->BeginTls(std::move(tls));
  phase_ = Phase::kHandshake;
  limit_ = Now() + settings_.handshake_timeout;
  SetTimer(limit_);
  ContinueHandshake();
}

void Session::Drain() {
  const Event event(*this);
  if (phase_ == Phase::kHandshake) return End(SessionEnd::kClosed, "the server drains");
  if (phase_ != Phase::kOpen) return;
  connection_->Drain(Now());
  Settle();
}

void Session::End(SessionEnd end, std::string_view why) {
  if (phase_ == Phase::kEnded) return;
  phase_ = Phase::kEnded;
  const std::string reason(why);  // `why` may be a text of the channel
  CancelTask(timer_);
  CancelTask(next_turn_);
  connection_.reset();
  channel_.reset();
  watch_.reset();
  owner_.OnEnd(*this, end, reason);
}

void Session::OnReadable() {
  const Event event(*this);
  switch (phase_) {
    case Phase::kHandshake:
      return ContinueHandshake();
    case Phase::kOpen:
      // This wait began before the output was blocked. The next wait begins when the output is
      // sent.
      return has_unsent_ ? void() : ReadTurn();
    case Phase::kLingering:
      return LingerTurn();
    default:
      return;
  }
}

void Session::OnWritable() {
  const Event event(*this);
  if (phase_ == Phase::kHandshake) return ContinueHandshake();
  if (phase_ == Phase::kOpen) Settle();
}

void Session::OnChanged() {
  if (in_event_ || next_turn_ || phase_ != Phase::kOpen) return;
  // Deferred, so that all changes of a turn of the loop become one write.
  next_turn_ = settings_.loop.At(Now(), [this] {
    next_turn_.reset();
    const Event event(*this);
    Settle();
  });
}

void Session::OnTimer() {
  const Event event(*this);
  const Instant now = Now();
  if (now >= limit_) {
    if (phase_ == Phase::kHandshake) return End(SessionEnd::kHandshakeLate, "no handshake in time");
    if (phase_ == Phase::kLingering) return End(SessionEnd::kDone, "");
    return End(SessionEnd::kSlow, "the peer takes no bytes");
  }
  if (phase_ != Phase::kOpen) return SetTimer(limit_);
  if (now >= connection_->wake()) connection_->OnTime(now);
  Settle();
}

void Session::ContinueHandshake() {
  switch (channel_->Handshake()) {
    case ByteChannel::State::kBlocked:
      return channel_->handshake_writes() ? watch_->AwaitWritable() : watch_->AwaitReadable();
    case ByteChannel::State::kOk:
      break;
    default:
      return End(SessionEnd::kHandshake, channel_->why());
  }
  const std::string& wanted = settings_.tls->options().protocol;
  if (!wanted.empty() && channel_->protocol() != wanted) {
    return End(SessionEnd::kNoProtocol, "the peer does not offer the protocol of the server");
  }
  Open();
}

void Session::Open() {
  phase_ = Phase::kOpen;
  limit_ = kUnlimited;
  connection_ = settings_.factory(
      {.peer = DescribePeer(), .loop = settings_.loop, .changed = [weak = std::weak_ptr(self_)] {
         if (const auto self = weak.lock()) (*self)->OnChanged();
       }});
  if (connection_ == nullptr) return End(SessionEnd::kRefused, "the protocol refuses the peer");
  ReadTurn();
}

Peer Session::DescribePeer() const {
  return {.address = TextOf(peer_),
          .is_encrypted = channel_->is_tls(),
          .certificate_name = channel_->certificate_name()};
}

void Session::ReadTurn() {
  const ByteChannel::Moved moved = channel_->Read(settings_.buffer);
  switch (moved.state) {
    case ByteChannel::State::kOk:
      settings_.counters.bytes_received.Add(moved.bytes);
      connection_->Receive({settings_.buffer.data(), moved.bytes}, Now());
      break;
    case ByteChannel::State::kBlocked:
      break;
    case ByteChannel::State::kEnded:
      is_peer_closed_ = true;
      connection_->OnPeerClosed(Now());
      break;
    case ByteChannel::State::kFailed:
      return End(SessionEnd::kBroken, channel_->why());
  }
  Settle();
}

void Session::Settle() {
  if (!WriteTurn()) return;
  if (connection_->IsDone()) {
    if (connection_->IsCut()) owner_.OnCut();
    return has_unsent_ ? End(SessionEnd::kSlow, "the peer takes no bytes") : BeginLinger();
  }
  if (has_unsent_) {
    watch_->AwaitWritable();
  } else if (!is_peer_closed_) {
    AwaitInput();
  }
  SetTimer(std::min(connection_->wake(), limit_));
}

bool Session::WriteTurn() {
  bool has_progress = false;
  std::string_view output = connection_->Output();
  for (int i = 0; i < kWritesPerTurn && !output.empty(); ++i) {
    const ByteChannel::Moved moved = channel_->Write(output);
    if (moved.state == ByteChannel::State::kBlocked) break;
    if (moved.state != ByteChannel::State::kOk) {
      End(SessionEnd::kBroken, channel_->why());
      return false;
    }
    has_progress = true;
    settings_.counters.bytes_sent.Add(moved.bytes);
    connection_->OnSent(moved.bytes, Now());
    output = connection_->Output();
  }
  has_unsent_ = !output.empty();
  if (!has_unsent_) {
    limit_ = kUnlimited;
  } else if (has_progress || limit_ == kUnlimited) {
    limit_ = Now() + settings_.write_timeout;
  }
  return true;
}

void Session::BeginLinger() {
  phase_ = Phase::kLingering;
  CancelTask(next_turn_);  // it settles the connection
  connection_.reset();
  channel_->EndWrites();
  if (is_peer_closed_) return End(SessionEnd::kDone, "");
  limit_ = Now() + settings_.linger_timeout;
  SetTimer(limit_);
  AwaitInput();
}

void Session::LingerTurn() {
  const ByteChannel::Moved moved = channel_->Read(settings_.buffer);
  discarded_ += moved.bytes;
  const bool continues =
      moved.state == ByteChannel::State::kOk || moved.state == ByteChannel::State::kBlocked;
  if (!continues || discarded_ > kMaxDiscarded) return End(SessionEnd::kDone, "");
  AwaitInput();
}

// Bytes that TLS holds have their turn after the sockets that are ready now. As a task of the loop,
// the turn would come before them.
void Session::AwaitInput() {
  if (!channel_->has_more()) return watch_->AwaitReadable();
  if (std::exchange(is_turn_posted_, true)) return;
  boost::asio::post(settings_.loop.io(), [weak = std::weak_ptr(self_)] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    (*self)->is_turn_posted_ = false;
    (*self)->OnReadable();
  });
}

void Session::SetTimer(Instant due) {
  if (due >= timer_at_) return;
  CancelTask(timer_);
  timer_at_ = due;
  timer_ = settings_.loop.At(due, [this] {
    timer_.reset();
    timer_at_ = kUnlimited;
    OnTimer();
  });
}

void Session::CancelTask(std::optional<TimerId>& task) {
  if (task) settings_.loop.Cancel(*std::exchange(task, std::nullopt));
}

}  // namespace weir::transport
