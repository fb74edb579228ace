// One request of a transport, from Send to its end.
#pragma once

#include <aws/common/task_scheduler.h>
#include <aws/http/request_response.h>
#include <aws/io/stream.h>

#include <cstdint>
#include <string_view>

#include "weir/aws/crt_handle.h"
#include "weir/aws/crt_pool.h"
#include "weir/aws/http.h"

namespace weir::internal {

using HttpAnswer = tl::expected<HttpResponse, HttpFailure>;

/// From now on. Those that would be without end are long.
struct ExchangeTimes {
  nanoseconds begin;   ///< until it must have a connection
  nanoseconds answer;  ///< from then to its end ...
  nanoseconds all;     ///< ... or from now, if that is sooner
};

/// Owns itself from Start until the runtime has nothing more to tell about it, which may be after
/// the answer: a limit answers at once, and the connection is closed, or given back when it
/// comes, behind that. After Start everything happens on the pool's loop, so nothing is locked. (A
/// request that was answered while it waited for a connection may also end on the thread that
/// destroys the pool; only End runs there.)
class CrtExchange {
 public:
  /// `pool` must outlive the answer; it does, because an exchange is inside it until then.
  static void Start(CrtPool& pool, HttpRequest request, const ExchangeTimes& times, HttpDone done);

 private:
  CrtExchange(CrtPool& pool, HttpRequest request, HttpDone done);
  bool MakeMessage();
  void Schedule(const ExchangeTimes& times);
  /// Instead of the limit that was armed before. On the loop.
  void ArmLimit(std::uint64_t at);
  bool IsOver() const;

  // What the runtime calls; `self` is the exchange.
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

  void Connected();
  bool Begin(aws_http_connection* connection);
  void TimeOut();
  void Complete(int error);
  HttpFailure Failure(bool maybe_sent, std::string_view what) const;
  /// The first call answers. The pool may be gone when it returns.
  void Answer(HttpAnswer answer);
  /// Nothing of the runtime's refers to this any more: answers, unless that was done, and destroys
  /// this.
  void End(HttpAnswer answer);

  CrtPool& pool_;
  // Copies, as they outlive the pool's own while it closes.
  aws_event_loop* const loop_;
  aws_http_connection_manager* const manager_;
  const std::size_t max_answer_bytes_;
  HttpRequest request_;
  HttpDone done_;  ///< empty once answered
  CrtHandle<aws_http_message, aws_http_message_release> message_;
  CrtHandle<aws_http_stream, aws_http_stream_release> stream_;
  aws_http_connection* connection_ = nullptr;  ///< lent by the pool's manager
  aws_task start_{};
  aws_task limit_{};
  aws_task connected_{};
  int error_ = 0;  ///< why there is no connection
  // On the loop's clock.
  std::uint64_t begin_by_ = 0;
  std::uint64_t answer_time_ = 0;
  std::uint64_t end_by_ = 0;
  std::uint64_t limit_at_ = 0;
  bool limit_armed_ = false;
  bool sending_ = false;  ///< bytes of it may have left
  bool too_large_ = false;
  HttpResponse response_;
};

}  // namespace weir::internal
