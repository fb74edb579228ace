// One request of a transport over AWS's runtime, from Send to its end.
//
//   Start --> OnStart --> (a connection is acquired) --> OnConnection --> UseConnection
//                                                                                    |
//         EndWith <-- Complete <-- OnComplete <-- OnHeaders, OnBody <----- Begin <---+
//
// At any time before OnComplete, OnLimit may complete the request with a timeout; the exchange then
// still lives until EndWith. An error before Begin goes to EndWith directly.
#pragma once

#include <aws/common/task_scheduler.h>
#include <aws/http/request_response.h>
#include <aws/io/stream.h>

#include <cstdint>
#include <string_view>

#include "weir/aws/http/crt/crt_handle.h"
#include "weir/aws/http/crt/crt_pool.h"
#include "weir/aws/http/http.h"

namespace weir::internal {

using HttpResult = tl::expected<HttpResponse, HttpFailure>;

/// Durations from now. Those of limits that never expire are very long.
struct ExchangeTimes {
  nanoseconds begin;     ///< until it must have a connection
  nanoseconds response;  ///< from the connection to the end of the response
  nanoseconds all;       ///< from now to the end of the response; the earlier limit applies
};

/// Owns itself from Start until the runtime makes no more callbacks for it. That may be after the
/// result: a limit completes the request at once, and its connection is closed later, or returned
/// when it arrives. After Start everything happens on the pool's loop, so there are no locks. (A
/// request that has completed while it waited for a connection may also end on the thread that
/// destroys the pool; only EndWith runs there.)
class CrtExchange {
 public:
  /// `pool` must outlive the result; it does, because its destructor waits for all results.
  static void Start(CrtPool& pool, HttpRequest request, const ExchangeTimes& times, HttpDone done);

 private:
  CrtExchange(CrtPool& pool, HttpRequest request, HttpDone done);
  /// Creates the runtime's message. Returns false if the runtime refuses a part of the request.
  bool MakeMessage();
  /// Sets the limits and posts OnStart to the loop.
  void ScheduleLimits(const ExchangeTimes& times);
  /// Replaces the limit. To be called on the loop.
  void ArmLimit(std::uint64_t at);
  /// Returns whether the request has completed or must complete now.
  bool IsOver() const;

  // Callbacks of the runtime; `self` is the exchange.
  static void OnStart(aws_task* task, void* self, aws_task_status status);
  static void OnLimit(aws_task* task, void* self, aws_task_status status);
  static void OnConnection(aws_http_connection* connection, int error, void* self);
  static int OnHeaders(aws_http_stream* stream, aws_http_header_block block,
                       const aws_http_header* headers, std::size_t count, void* self);
  static int OnBody(aws_http_stream* stream, const aws_byte_cursor* data, void* self);
  static void OnMetrics(aws_http_stream* stream, const aws_http_stream_metrics* metrics,
                        void* self);
  static void OnComplete(aws_http_stream* stream, int error, void* self);

  static void OnConnected(aws_task* task, void* self, aws_task_status status);

  /// Continues on the loop after OnConnection.
  void UseConnection();
  /// Starts to send. Returns false if the runtime refuses.
  bool Begin(aws_http_connection* connection);
  /// Completes the request because of a limit.
  void TimeOut();
  void Complete(int error);
  HttpFailure MakeFailure(bool maybe_sent, std::string_view what) const;
  /// Completes the request at the first call; later calls do nothing. The pool may be destroyed
  /// when this returns.
  void RunDone(HttpResult response);
  /// The runtime makes no more callbacks: completes the request, unless it has completed, and
  /// destroys this object.
  void EndWith(HttpResult response);

  CrtPool& pool_;
  // Copies: they are used after the result, when the pool's destructor may have released its own.
  aws_event_loop* const loop_;
  aws_http_connection_manager* const manager_;
  const std::size_t max_response_bytes_;
  HttpRequest request_;
  HttpDone done_;  ///< null once it has run
  CrtHandle<aws_http_message, aws_http_message_release> message_;
  CrtHandle<aws_http_stream, aws_http_stream_release> stream_;
  aws_http_connection* connection_ = nullptr;  ///< borrowed from the pool's manager
  aws_task start_{};
  aws_task limit_{};
  aws_task connected_{};
  int error_ = 0;  ///< the cause if there is no connection
  // Instants on the loop's clock, and the duration response_time_, in nanoseconds.
  std::uint64_t begin_by_ = 0;
  std::uint64_t response_time_ = 0;
  std::uint64_t end_by_ = 0;
  std::uint64_t limit_at_ = 0;
  bool limit_armed_ = false;
  bool sending_ = false;  ///< bytes of the request may have been sent
  bool too_large_ = false;
  HttpResponse response_;
};

}  // namespace weir::internal
