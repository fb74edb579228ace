#include "weir/grpc/grpc_stream.h"

#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "weir/grpc/status_text.h"
#include "weir/grpc/timeout_text.h"

namespace weir::grpc {
namespace {

// "application/grpc", alone or with a suffix such as "+proto" or a parameter.
bool IsGrpc(std::string_view content_type) {
  constexpr std::string_view kName = "application/grpc";
  if (!content_type.starts_with(kName)) return false;
  const std::string_view more = content_type.substr(kName.size());
  return more.empty() || more.starts_with('+') || more.starts_with(';');
}

constexpr std::array kHeaders = {http2::Field{":status", "200"},
                                 http2::Field{"content-type", "application/grpc"},
                                 http2::Field{"grpc-accept-encoding", "identity,gzip"}};

}  // namespace

GrpcStream::GrpcStream(const StreamContext& context, http2::StreamWriter writer)
    : context_(context), writer_(writer), reader_(context.bounds.max_message) {}

GrpcStream::~GrpcStream() {
  context_.calls->kept -= kept_;
  if (deadline_timer_ != TimerId{}) context_.loop.Cancel(deadline_timer_);
  if (state_ == nullptr) return;
  if (!is_over_) context_.counts.abandoned.Add();
  is_over_ = true;
  state_->stream = nullptr;
}

void GrpcStream::OnField(std::string_view name, std::string_view value) {
  if (name == ":path") {
    method_ = context_.methods.Find(value);
    if (method_ != nullptr) return;
    unknown_path_ = value;
    is_known_service_ = context_.methods.HasService(value);
  } else if (name == ":method") {
    is_post_ = value == "POST";
  } else if (name == "content-type") {
    is_grpc_ = IsGrpc(value);
  } else if (name == "grpc-timeout") {
    const Result<nanoseconds> timeout = ParseTimeout(value);
    if (timeout) {
      deadline_ = Deadline::After(context_.loop.clock(), *timeout);
    } else {
      bad_field_ = timeout.error();
    }
  } else if (name == "grpc-encoding") {
    if (value == "gzip") reader_.AllowGzip();
  } else if (name == "authorization") {
    authorization_ = value;
  } else {
    ids_.Take(name, value);
  }
}

CallHead GrpcStream::Head() const {
  return {
      .deadline = deadline_, .authorization = authorization_, .ids = ids_, .loop = context_.loop};
}

void GrpcStream::RefuseRequest(std::string_view status, std::string_view text) {
  http_status_ = status;
  http_text_ = text;
}

void GrpcStream::OnHead() {
  if (!is_grpc_) {
    return RefuseRequest("415", "This port serves gRPC: content-type must be application/grpc.\n");
  }
  if (!is_post_) return RefuseRequest("405", "gRPC calls are POST requests.\n");
  context_.counts.calls.Add();
  if (bad_field_) return Finish(Fail(*bad_field_));
  if (method_ == nullptr) {
    context_.counts.unknown.Add();
    return Finish(
        Fail(Code::kUnimplemented, fmt::format("{}: there is no such {}", unknown_path_,
                                               is_known_service_ ? "method" : "service")));
  }
  if (context_.calls->in_flight >= context_.bounds.max_calls) {
    context_.counts.overloaded.Add();
    return Finish(Fail(Code::kResourceExhausted,
                       fmt::format("{} calls of this connection are in flight; at most {}",
                                   context_.calls->in_flight, context_.bounds.max_calls)));
  }
  Begin();
}

void GrpcStream::Begin() {
  state_ = std::make_shared<CallState>(this, context_.calls);
  const auto* method = std::get_if<StreamMethod>(&method_->second);
  if (method == nullptr) return;
  if (!deadline_.is_never()) {
    deadline_timer_ = context_.loop.At(deadline_.at(), [state = std::weak_ptr<CallState>(state_)] {
      const auto alive = state.lock();
      if (alive == nullptr || alive->stream == nullptr) return;
      alive->stream->Finish(Fail(Code::kDeadlineExceeded, "the call's deadline has passed"));
    });
  }
  stream_handler_ = (*method)(Head(), CallWriter(state_));
}

void GrpcStream::OnData(std::string_view bytes) {
  if (is_over_ || state_ == nullptr) return;
  const Status status =
      reader_.Add(bytes, [this](const ReceivedMessage& message) { TakeMessage(message); });
  NoteKept();
  if (!status) return Finish(status);
  if (context_.calls->kept <= context_.bounds.max_kept) return;
  context_.counts.overloaded.Add();
  Finish(Fail(Code::kResourceExhausted,
              fmt::format("the incomplete requests of this connection have more than {} bytes",
                          context_.bounds.max_kept)));
}

void GrpcStream::NoteKept() {
  context_.calls->kept -= kept_;
  kept_ = reader_.kept() + (message_ ? message_->size() : 0);
  context_.calls->kept += kept_;
}

// A compressed message of a unary call stays compressed until its request ends: otherwise requests
// that do not end would keep far more memory than their callers have sent.
void GrpcStream::TakeMessage(const ReceivedMessage& message) {
  if (is_over_) return;
  if (stream_handler_ != nullptr) return Deliver(message);
  if (message_) return Finish(Fail(Code::kUnimplemented, "a unary call has one message"));
  message_ = message.bytes;
  is_compressed_ = message.is_compressed;
}

void GrpcStream::Deliver(const ReceivedMessage& message) {
  if (!message.is_compressed) return Handle(message.bytes);
  const Result<std::string> plain = reader_.Decompress(message.bytes);
  if (!plain) return Finish(Fail(plain.error()));
  Handle(*plain);
}

void GrpcStream::Handle(std::string_view message) {
  if (stream_handler_ != nullptr) return stream_handler_->OnMessage(message);
  std::get<UnaryMethod>(method_->second)(Head(), message, CallWriter(state_));
}

void GrpcStream::OnEnd() {
  if (!http_status_.empty()) {
    context_.counts.not_grpc.Add();
    writer_.Respond(std::array{http2::Field{":status", http_status_},
                               http2::Field{"content-type", "text/plain"}},
                    /*is_end=*/false);
    writer_.Write(http_text_);
    return writer_.Finish({});
  }
  if (is_over_ || state_ == nullptr) return;
  if (!reader_.is_at_boundary()) {
    return Finish(Fail(Code::kInternal, "the request ends within a message"));
  }
  if (stream_handler_ != nullptr) return stream_handler_->OnHalfClose();
  if (!message_) return Finish(Fail(Code::kUnimplemented, "a unary call has one message"));
  const std::string message = *std::exchange(message_, std::nullopt);
  NoteKept();
  Deliver({.bytes = message, .is_compressed = is_compressed_});
}

void GrpcStream::OnRequestTimeout() { is_over_ = true; }

void GrpcStream::Send(std::string_view message) {
  if (is_over_) return;
  if (writer_.connection_pending() + message.size() > context_.bounds.max_connection_pending) {
    context_.counts.overloaded.Add();
    return Finish(Fail(Code::kResourceExhausted,
                       "the caller takes the responses of its connection too slowly"));
  }
  if (!std::exchange(has_sent_, true)) writer_.Respond(kHeaders, /*is_end=*/false);
  writer_.Write(MessagePrefix(message.size()));
  writer_.Write(message);
  if (writer_.pending() <= context_.bounds.max_pending) return;
  context_.counts.overloaded.Add();
  Finish(Fail(Code::kResourceExhausted, "the caller takes its messages too slowly"));
}

void GrpcStream::Finish(const Status& status, const ErrorDetails& details) {
  if (std::exchange(is_over_, true)) return;
  if (status && has_sent_) return writer_.Finish(std::array{http2::Field{"grpc-status", "0"}});
  const Error error = status ? Error{.code = Code{}, .message = {}} : status.error();
  const std::string code = std::to_string(static_cast<int>(error.code));
  const std::string text = EscapeStatusMessage(StatusMessage(error.message));
  // 0 would mean a retry without a pause.
  const std::string pushback = error.retry_after.value_or(milliseconds(0)) > milliseconds(0)
                                   ? std::to_string(error.retry_after->count())
                                   : std::string();
  const std::string bytes = EncodeBinaryHeader(details.status);
  // The first two are headers: only a response without messages needs them here.
  absl::InlinedVector<http2::Field, 6> fields = {
      kHeaders[0], kHeaders[1], {"grpc-status", code}, {"grpc-message", text}};
  if (!pushback.empty()) fields.push_back({"grpc-retry-pushback-ms", pushback});
  if (!bytes.empty()) fields.push_back({"grpc-status-details-bin", bytes});
  if (has_sent_) return writer_.Finish(std::span(fields).subspan(2));
  writer_.Respond(fields, /*is_end=*/true);
}

void CallWriter::Send(std::string_view message) const {
  if (state_->stream != nullptr) state_->stream->Send(message);
}

void CallWriter::Finish(const Status& status, const ErrorDetails& details) const {
  if (state_->stream != nullptr) state_->stream->Finish(status, details);
}

bool CallWriter::is_open() const { return state_->stream != nullptr && !state_->stream->is_over(); }

}  // namespace weir::grpc
