// One connection of a transport, and the exchange that it carries.
//
//   idle --Begin--> writing --> reading --(reusable)--> idle
//     |                |           |
//     +----------------+-----------+--(failure, Abandon, OnBroken, not reusable)--> Close
//
// The thread that ends an exchange reports it (Ending) to the owner after it has released the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weir/aws/http/byte_stream.h"
#include "weir/aws/http/http_wire.h"
#include "weir/aws/http/io_loop.h"
#include "weir/aws/http/socket_exchange.h"
#include "weir/base/mutex.h"
#include "weir/runtime/wait_scope.h"

namespace weir::internal {

/// The thread that continues an exchange when its connection becomes readable.
enum class Reader { kLoop, kCaller };

/// Thread-safe: any thread may begin, continue and abandon exchanges. If the thread that begins an
/// exchange is about to block for its result (Reader::kCaller), the loop does not watch the
/// connection, and that thread reads the response; the loop takes over if the thread ends its wait
/// earlier.
class SocketConnection final : public IoHandler,
                               public std::enable_shared_from_this<SocketConnection> {
 public:
  /// Called under no lock.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void OnEnded(ConnectionPtr connection, ExchangePtr exchange, HttpResult response,
                         bool reusable) = 0;
    /// The server closed the connection or sent something while no exchange was in progress.
    virtual void OnBroken(ConnectionPtr connection) = 0;
  };
  struct Settings {
    std::string endpoint;  ///< host and port, for messages
    std::size_t max_body_bytes = 0;
  };
  enum class Begun { kBegun, kOver, kBroken };

  /// `settings` and `loop` must outlive the connection; `owner` must outlive each exchange.
  /// `stream` is ready for use.
  SocketConnection(Owner& owner, IoLoop& loop, const Settings& settings,
                   std::unique_ptr<ByteStream> stream);
  ~SocketConnection() override;

  /// Writes as much of the request as the socket accepts. kOver: the exchange has completed
  /// meanwhile. kBroken: the connection cannot be used; nothing was sent. REQUIRES: no exchange is
  /// in progress; for kCaller, WaitScope::AcceptsWork().
  Begun Begin(const ExchangePtr& exchange, Reader reader);
  void OnReady() override;
  /// If the exchange is in progress here, ends it and returns true. The caller must then close the
  /// connection.
  bool Abandon(const ExchangePtr& exchange);
  void Close();
  bool is_watched() const { return is_watched_; }
  /// Returns whether the connection has been idle or has carried a response, so that the endpoint
  /// did not close it at once.
  bool is_proven() const { return is_proven_; }
  void SetProven() { is_proven_ = true; }

 private:
  class CallerRead;
  struct Ending {
    ExchangePtr exchange;
    HttpResult response;
    bool reusable = false;
  };

  /// Continues the exchange on the thread that waits for its result. Returns false if it has ended.
  bool Advance(const ExchangePtr& exchange);
  /// Lets the loop continue the exchange, if it is still in progress.
  void HandOver(const ExchangePtr& exchange);
  /// Begins the exchange, and decides which thread reads. Returns false if the exchange is over.
  bool BeginWriting(ExchangePtr exchange, Reader& reader) WEIR_REQUIRES(mutex_);
  /// Writes as many of the remaining bytes as the socket accepts.
  std::optional<Ending> WriteMore() WEIR_REQUIRES(mutex_);
  /// Reads the bytes that have arrived, up to the limit of one turn; sets `has_more_` at the limit.
  std::optional<Ending> ReadMore() WEIR_REQUIRES(mutex_);
  /// Ends the exchange after a failed write, with the response if there is one.
  Ending FailedWrite() WEIR_REQUIRES(mutex_);
  /// Ends the exchange with the result that the parser's state means.
  Ending EndParsed(ResponseReader::State state, bool has_ended) WEIR_REQUIRES(mutex_);
  Ending EndFailed(bool maybe_sent, std::string_view why) WEIR_REQUIRES(mutex_);
  HttpFailure MakeFailure(bool maybe_sent, std::string_view why) const WEIR_REQUIRES(mutex_);
  /// Ends the exchange with this result.
  Ending EndExchange(HttpResult response, bool reusable) WEIR_REQUIRES(mutex_);
  bool IsWritten() const WEIR_REQUIRES(mutex_);
  /// Lets the loop watch the connection or not. Returns false if the system refuses.
  bool SetWatched(bool watched) WEIR_REQUIRES(mutex_);
  /// Reports the end of an exchange, if there is one, to the owner.
  void ReportEnding(std::optional<Ending> ending) WEIR_EXCLUDES(mutex_);

  Owner& owner_;
  IoLoop& loop_;
  const Settings& settings_;
  Mutex mutex_;
  const std::unique_ptr<ByteStream> stream_;
  ExchangePtr exchange_ WEIR_GUARDED_BY(mutex_);  ///< null: none is in progress
  std::optional<ResponseReader> response_ WEIR_GUARDED_BY(mutex_);
  std::size_t written_ WEIR_GUARDED_BY(mutex_) = 0;  ///< bytes of the exchange's head and body
  std::uint64_t sent_before_ WEIR_GUARDED_BY(mutex_) = 0;
  bool has_more_ WEIR_GUARDED_BY(mutex_) = false;  ///< unread data may be left, without an event
  std::atomic<bool> is_proven_ = false;
  std::atomic<bool> is_watched_ = false;   ///< changed under the lock
  int wake_ WEIR_GUARDED_BY(mutex_) = -1;  ///< the eventfd of waiting callers; -1: not created yet
};

}  // namespace weir::internal
