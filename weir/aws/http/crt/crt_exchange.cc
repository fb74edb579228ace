#include "weir/aws/http/crt/crt_exchange.h"

#include <aws/http/connection.h>
#include <aws/io/event_loop.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "weir/aws/http/http_wire.h"
#include "weir/runtime/callback_scope.h"

namespace weir::internal {
namespace {

// The time between two calls of `gives_up`, in nanoseconds.
constexpr std::uint64_t kGiveUpPollNanos = 100'000'000;

/// Bounds a duration, so that sums with instants do not overflow.
std::uint64_t NanosOf(nanoseconds wait) {
  constexpr nanoseconds kFarthest = std::chrono::hours(24 * 365);
  return static_cast<std::uint64_t>(std::clamp(wait, nanoseconds(0), kFarthest).count());
}

CrtExchange& ExchangeOf(void* self) { return *static_cast<CrtExchange*>(self); }

bool AddHeader(aws_http_message* message, std::string_view name, std::string_view value) {
  aws_http_header header{};
  header.name = Cursor(name);
  header.value = Cursor(value);
  return aws_http_message_add_header(message, header) == AWS_OP_SUCCESS;
}

std::uint64_t LoopNow(aws_event_loop* loop) {
  std::uint64_t now = 0;
  aws_event_loop_current_clock_time(loop, &now);
  return now;
}

}  // namespace

void CrtExchange::Start(CrtPool& pool, HttpRequest request, const ExchangeTimes& times,
                        HttpDone done) {
  // Destroyed here if it completes at once; owns itself after ScheduleLimits.
  std::unique_ptr<CrtExchange> exchange(new CrtExchange(pool, std::move(request), std::move(done)));
  if (times.begin <= nanoseconds(0) || pool.GivesUp()) {
    exchange->TimeOut();
  } else if (!exchange->MakeMessage()) {
    exchange->RunDone(tl::unexpected(exchange->MakeFailure(false, LastCrtError())));
  } else {
    exchange.release()->ScheduleLimits(times);
  }
}

CrtExchange::CrtExchange(CrtPool& pool, HttpRequest request, HttpDone done)
    : pool_(pool),
      loop_(pool.loop()),
      manager_(pool.manager()),
      max_response_bytes_(pool.max_response_bytes()),
      request_(std::move(request)),
      done_(std::move(done)) {
  pool_.AddRequest();
}

bool CrtExchange::MakeMessage() {
  message_.reset(aws_http_message_new_request(pool_.allocator()));
  aws_http_message* const message = message_.get();
  bool made = aws_http_message_set_request_method(message, Cursor(request_.method)) == 0 &&
              aws_http_message_set_request_path(message, Cursor(request_.path)) == 0;
  if (!HasHeader(request_, "host")) made = made && AddHeader(message, "host", pool_.authority());
  for (const auto& [name, value] : request_.headers) made = made && AddHeader(message, name, value);
  if (!HasHeader(request_, "content-length")) {
    made = made && AddHeader(message, "content-length", fmt::to_string(request_.body.size()));
  }
  const aws_byte_cursor bytes = Cursor(request_.body);
  const CrtHandle<aws_input_stream, aws_input_stream_release> body(
      aws_input_stream_new_from_cursor(pool_.allocator(), &bytes));
  aws_http_message_set_body_stream(message, body.get());
  return made && body != nullptr;
}

void CrtExchange::ScheduleLimits(const ExchangeTimes& times) {
  const std::uint64_t now = LoopNow(loop_);
  begin_by_ = now + NanosOf(times.begin);
  end_by_ = now + NanosOf(times.all);
  response_time_ = NanosOf(times.response);
  aws_task_init(&start_, &CrtExchange::OnStart, this, "weir_exchange_start");
  aws_task_init(&limit_, &CrtExchange::OnLimit, this, "weir_exchange_limit");
  aws_event_loop_schedule_task_now(loop_, &start_);
}

void CrtExchange::ArmLimit(std::uint64_t at) {
  if (limit_armed_) aws_event_loop_cancel_task(loop_, &limit_);
  limit_armed_ = true;
  limit_at_ = at;
  // If the pool may give up, OnLimit must check that regularly.
  const bool polls_give_up = done_ != nullptr && pool_.may_give_up();
  const std::uint64_t wake = polls_give_up ? std::min(at, LoopNow(loop_) + kGiveUpPollNanos) : at;
  aws_event_loop_schedule_task_future(loop_, &limit_, wake);
}

// Once the request has its result (done_ is null), the pool may be destroyed.
bool CrtExchange::IsOver() const {
  return done_ == nullptr || LoopNow(loop_) >= limit_at_ || pool_.GivesUp();
}

void CrtExchange::OnStart(aws_task*, void* self, aws_task_status) {
  CrtExchange& exchange = ExchangeOf(self);
  exchange.ArmLimit(exchange.begin_by_);
  aws_http_connection_manager_acquire_connection(exchange.manager_, &CrtExchange::OnConnection,
                                                 self);
}

void CrtExchange::OnConnection(aws_http_connection* connection, int error, void* self) {
  CrtExchange& exchange = ExchangeOf(self);
  exchange.connection_ = connection;
  exchange.error_ = error;
  // The resolver reports an unknown name on a thread of its own.
  const bool is_on_loop = aws_event_loop_thread_is_callers_thread(exchange.loop_);
  if (is_on_loop || error == AWS_ERROR_HTTP_CONNECTION_MANAGER_SHUTTING_DOWN) {
    return exchange.UseConnection();
  }
  aws_task_init(&exchange.connected_, &CrtExchange::OnConnected, self, "weir_exchange_connected");
  aws_event_loop_schedule_task_now(exchange.loop_, &exchange.connected_);
}

void CrtExchange::OnConnected(aws_task*, void* self, aws_task_status) {
  ExchangeOf(self).UseConnection();
}

void CrtExchange::UseConnection() {
  if (done_ == nullptr) return EndWith(tl::unexpected(HttpFailure{}));  // the pool may be destroyed
  if (connection_ == nullptr) return EndWith(tl::unexpected(MakeFailure(false, CrtError(error_))));
  ArmLimit(std::min(end_by_, LoopNow(loop_) + response_time_));
  if (!Begin(connection_)) EndWith(tl::unexpected(MakeFailure(false, LastCrtError())));
}

bool CrtExchange::Begin(aws_http_connection* connection) {
  aws_http_make_request_options options{};
  options.self_size = sizeof(options);
  options.request = message_.get();
  options.user_data = this;
  options.on_response_headers = &CrtExchange::OnHeaders;
  options.on_response_body = &CrtExchange::OnBody;
  options.on_metrics = &CrtExchange::OnMetrics;
  options.on_complete = &CrtExchange::OnComplete;
  stream_.reset(aws_http_connection_make_request(connection, &options));
  sending_ = stream_ != nullptr && aws_http_stream_activate(stream_.get()) == AWS_OP_SUCCESS;
  return sending_;
}

int CrtExchange::OnHeaders(aws_http_stream*, aws_http_header_block block,
                           const aws_http_header* headers, std::size_t count, void* self) {
  if (block != AWS_HTTP_HEADER_BLOCK_MAIN) return AWS_OP_SUCCESS;
  std::vector<HttpHeader>& into = ExchangeOf(self).response_.headers;
  for (std::size_t i = 0; i < count; ++i) {
    into.push_back({LowerCase(View(headers[i].name)), std::string(View(headers[i].value))});
  }
  return AWS_OP_SUCCESS;
}

int CrtExchange::OnBody(aws_http_stream*, const aws_byte_cursor* data, void* self) {
  CrtExchange& exchange = ExchangeOf(self);
  std::string& body = exchange.response_.body;
  if (data->len > exchange.max_response_bytes_ - body.size()) {
    exchange.too_large_ = true;
    return aws_raise_error(AWS_ERROR_SHORT_BUFFER);
  }
  body.append(View(*data));
  return AWS_OP_SUCCESS;
}

void CrtExchange::OnMetrics(aws_http_stream*, const aws_http_stream_metrics* metrics, void* self) {
  // -1: the connection ended before the first byte of this request was written.
  if (metrics->send_start_timestamp_ns == -1) ExchangeOf(self).sending_ = false;
}

void CrtExchange::OnComplete(aws_http_stream* stream, int error, void* self) {
  CrtExchange& exchange = ExchangeOf(self);
  aws_http_stream_get_incoming_response_status(stream, &exchange.response_.status);
  exchange.Complete(error);
}

void CrtExchange::OnLimit(aws_task*, void* self, aws_task_status status) {
  // This is also called when the task is cancelled.
  if (status != AWS_TASK_STATUS_RUN_READY) return;
  CrtExchange& exchange = ExchangeOf(self);
  exchange.limit_armed_ = false;
  if (!exchange.IsOver()) return exchange.ArmLimit(exchange.limit_at_);
  if (exchange.stream_ != nullptr) {
    aws_http_stream_cancel(exchange.stream_.get(), AWS_ERROR_HTTP_STREAM_CANCELLED);
  }
  exchange.TimeOut();
}

void CrtExchange::TimeOut() {
  HttpFailure failure =
      MakeFailure(sending_, sending_ ? "no response in time" : "no connection in time");
  failure.timed_out = true;
  RunDone(tl::unexpected(std::move(failure)));
}

void CrtExchange::Complete(int error) {
  if (error == AWS_ERROR_SUCCESS) {
    EndWith(std::move(response_));
  } else if (too_large_) {
    EndWith(tl::unexpected(MakeFailure(
        true, fmt::format("the response is longer than {} bytes", max_response_bytes_))));
  } else {
    EndWith(tl::unexpected(MakeFailure(sending_, CrtError(error))));
  }
}

HttpFailure CrtExchange::MakeFailure(bool maybe_sent, std::string_view what) const {
  return {.maybe_sent = maybe_sent,
          .message = fmt::format("{} {}: {}", request_.method, pool_.endpoint(), what)};
}

void CrtExchange::RunDone(HttpResult response) {
  if (done_ == nullptr) return;
  HttpDone done = std::exchange(done_, nullptr);
  const CallbackScope scope;
  done(std::move(response));
  // Destroy the callback before the pool is released: a thread that waits for the release may then
  // free objects that the callback refers to.
  done = nullptr;
  pool_.RemoveRequest();
}

void CrtExchange::EndWith(HttpResult response) {
  const std::unique_ptr<CrtExchange> self(this);
  if (limit_armed_) aws_event_loop_cancel_task(loop_, &limit_);
  stream_.reset();
  // Before the result: the pool may be destroyed as soon as the result is delivered, and the
  // caller's next request may use this connection.
  if (connection_ != nullptr) {
    aws_http_connection_manager_release_connection(manager_, connection_);
  }
  RunDone(std::move(response));
}

}  // namespace weir::internal
