#include "weir/aws/http/socket_connection.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace weir::internal {
namespace {

/// The maximum number of reads in one turn, so that a server that never stops sending does not
/// delay the loop and the limits for longer.
constexpr int kReadsPerTurn = 64;

}  // namespace

/// An exchange that is continued by the thread that waits for its result.
class SocketConnection::CallerRead final : public WaiterWork {
 public:
  CallerRead(ConnectionPtr connection, ExchangePtr exchange, int wake)
      : connection_(std::move(connection)), exchange_(std::move(exchange)), wake_(wake) {}

  int readable() const override { return connection_->stream_->descriptor(); }
  int wake() const override { return wake_; }
  bool Continue() override { return connection_->Advance(exchange_); }
  void HandOver() override { connection_->HandOver(exchange_); }

 private:
  const ConnectionPtr connection_;
  const ExchangePtr exchange_;
  const int wake_;
};

SocketConnection::SocketConnection(Owner& owner, IoLoop& loop, const Settings& settings,
                                   std::unique_ptr<ByteStream> stream)
    : owner_(owner), loop_(loop), settings_(settings), stream_(std::move(stream)) {}

SocketConnection::~SocketConnection() {
  if (wake_ >= 0) close(wake_);
}

SocketConnection::Begun SocketConnection::Begin(const ExchangePtr& exchange, Reader reader) {
  std::optional<Ending> ending;
  std::unique_ptr<WaiterWork> caller_read;
  {
    const MutexLock lock(mutex_);
    if (!stream_->IsQuiet()) return Begun::kBroken;
    if (!BeginWriting(exchange, reader)) return Begun::kOver;
    ending = WriteMore();
    // The socket's buffer is full: the loop writes the rest, and reads.
    if (!ending && !IsWritten()) reader = Reader::kLoop;
    if (!ending && !SetWatched(reader == Reader::kLoop)) {
      ending =
          EndFailed(stream_->SentSince(sent_before_), "the system cannot watch the connection");
    }
    if (!ending && reader == Reader::kCaller) {
      caller_read = std::make_unique<CallerRead>(shared_from_this(), exchange, wake_);
    }
  }
  if (caller_read != nullptr) WaitScope::GiveWork(std::move(caller_read));
  ReportEnding(std::move(ending));
  return Begun::kBegun;
}

bool SocketConnection::BeginWriting(ExchangePtr exchange, Reader& reader) {
  // From here on, the limit of the exchange reports that it may have been sent.
  Exchange::State waiting = Exchange::State::kWaiting;
  if (!exchange->state.compare_exchange_strong(waiting, Exchange::State::kSending)) return false;
  exchange_ = std::move(exchange);
  response_.emplace(ResponseReader::Expected{.is_head = exchange_->request.method == "HEAD",
                                             .max_body_bytes = settings_.max_body_bytes});
  written_ = 0;
  sent_before_ = stream_->sent();
  if (reader == Reader::kCaller && wake_ < 0) wake_ = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  // Without an eventfd the caller could not wait.
  if (wake_ < 0) reader = Reader::kLoop;
  // Before the request is sent, so that the loop misses no event and is not woken for this
  // response.
  if (reader == Reader::kCaller) SetWatched(false);
  return true;
}

void SocketConnection::OnReady() {
  std::optional<Ending> ending;
  bool is_broken = false, has_more = false;
  {
    const MutexLock lock(mutex_);
    if (exchange_ == nullptr) {
      // Idle: a readable connection was closed by the server or has unexpected data.
      is_broken = !stream_->IsQuiet();
    } else {
      ending = WriteMore();
      if (!ending) ending = ReadMore();
      has_more = !ending && has_more_;
    }
  }
  // After other work of the loop that is due.
  if (has_more) loop_.Post([self = shared_from_this()] { self->OnReady(); });
  if (is_broken) owner_.OnBroken(shared_from_this());
  ReportEnding(std::move(ending));
}

bool SocketConnection::Advance(const ExchangePtr& exchange) {
  std::optional<Ending> ending;
  {
    const MutexLock lock(mutex_);
    // Another thread has ended the exchange.
    if (exchange_ != exchange) return false;
    ending = ReadMore();
  }
  const bool is_in_progress = !ending;
  ReportEnding(std::move(ending));
  return is_in_progress;
}

// If the loop cannot watch the connection, the limit of the exchange ends it.
void SocketConnection::HandOver(const ExchangePtr& exchange) {
  const MutexLock lock(mutex_);
  if (exchange_ == exchange) SetWatched(true);
}

bool SocketConnection::Abandon(const ExchangePtr& exchange) {
  const MutexLock lock(mutex_);
  if (exchange_ != exchange) return false;
  exchange_ = nullptr;
  return true;
}

void SocketConnection::Close() {
  const MutexLock lock(mutex_);
  SetWatched(false);
  stream_->Shut();
}

bool SocketConnection::IsWritten() const {
  return written_ == exchange_->head.size() + exchange_->request.body.size();
}

std::optional<SocketConnection::Ending> SocketConnection::WriteMore() {
  const std::string_view head = exchange_->head;
  const std::string_view body = exchange_->request.body;
  while (!IsWritten()) {
    const bool in_head = written_ < head.size();
    const auto left = in_head ? head.substr(written_) : body.substr(written_ - head.size());
    const ByteStream::Moved moved = stream_->Write(left);
    if (moved.state == ByteStream::State::kBlocked) break;
    if (moved.state != ByteStream::State::kOk) return FailedWrite();
    written_ += moved.bytes;
  }
  return std::nullopt;
}

// A server that rejects a request early, for example one that is too long, closes the connection
// after its response.
SocketConnection::Ending SocketConnection::FailedWrite() {
  HttpFailure failure = MakeFailure(stream_->SentSince(sent_before_), stream_->why());
  std::optional<Ending> read = ReadMore();
  if (!read) return EndExchange(tl::unexpected(std::move(failure)), false);
  if (!read->response) read->response = tl::unexpected(std::move(failure));
  return *std::move(read);
}

std::optional<SocketConnection::Ending> SocketConnection::ReadMore() {
  // Not zeroed: only bytes that Read has written are used. A TLS record fits into the buffer, so
  // that OpenSSL holds no rest of a record; there would be no event for such a rest.
  std::array<char, 16 * 1024> buffer;
  has_more_ = false;
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    const auto [state, bytes] = stream_->Read(buffer);
    if (state == ByteStream::State::kBlocked) return std::nullopt;
    if (state == ByteStream::State::kFailed) return EndFailed(true, stream_->why());
    const bool has_ended = state == ByteStream::State::kEnded;
    const auto read = has_ended ? response_->End() : response_->Feed({buffer.data(), bytes});
    if (read != ResponseReader::State::kMore) return EndParsed(read, has_ended);
  }
  has_more_ = true;
  return std::nullopt;
}

SocketConnection::Ending SocketConnection::EndParsed(ResponseReader::State state, bool has_ended) {
  switch (state) {
    case ResponseReader::State::kComplete: {
      // A response before the end of the request leaves the connection in an undefined state.
      const bool reusable = !has_ended && response_->keeps_alive() && IsWritten();
      return EndExchange(response_->Take(), reusable);
    }
    case ResponseReader::State::kTooLong:
      return EndFailed(
          true, fmt::format("the response is longer than {} bytes", settings_.max_body_bytes));
    case ResponseReader::State::kTooMuchFraming:
      return EndFailed(true, fmt::format("the response has more than {} bytes besides its body",
                                         kMaxFramingBytes));
    default:
      return EndFailed(true, has_ended ? stream_->why() : "the response is not HTTP");
  }
}

SocketConnection::Ending SocketConnection::EndFailed(bool maybe_sent, std::string_view why) {
  return EndExchange(tl::unexpected(MakeFailure(maybe_sent, why)), false);
}

HttpFailure SocketConnection::MakeFailure(bool maybe_sent, std::string_view why) const {
  return FailureOf(exchange_->request, settings_.endpoint, maybe_sent, why);
}

SocketConnection::Ending SocketConnection::EndExchange(HttpResult response, bool reusable) {
  response_.reset();
  return {std::exchange(exchange_, nullptr), std::move(response), reusable};
}

bool SocketConnection::SetWatched(bool watched) {
  if (watched == is_watched_) return true;
  if (watched && !loop_.Watch(stream_->descriptor(), shared_from_this())) return false;
  if (!watched) loop_.Unwatch(stream_->descriptor());
  is_watched_ = watched;
  return true;
}

void SocketConnection::ReportEnding(std::optional<Ending> ending) {
  if (!ending) return;
  owner_.OnEnded(shared_from_this(), std::move(ending->exchange), std::move(ending->response),
                 ending->reusable);
}

}  // namespace weir::internal
