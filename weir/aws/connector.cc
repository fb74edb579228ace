#include "weir/aws/connector.h"

#include <aws/common/array_list.h>
#include <aws/common/string.h>
#include <aws/io/host_resolver.h>

#include <algorithm>
#include <utility>

#include "weir/aws/crt_handle.h"

namespace weir::internal {
namespace {

struct Lookup {
  std::uint16_t port;
  std::move_only_function<void(Addresses)> done;
};

Addresses AddressesIn(const aws_array_list& found, std::uint16_t port) {
  std::vector<SocketAddress> addresses;
  for (std::size_t i = 0; i < aws_array_list_length(&found); ++i) {
    void* each = nullptr;
    aws_array_list_get_at_ptr(&found, &each, i);
    const char* const text = aws_string_c_str(static_cast<aws_host_address*>(each)->address);
    if (auto address = ParseAddress(text, port)) addresses.push_back(*address);
  }
  if (addresses.empty()) return Fail(Code::kUnavailable, "the host has no address");
  return addresses;
}

void OnResolved(aws_host_resolver*, const aws_string*, int error, const aws_array_list* found,
                void* lookup) {
  const std::unique_ptr<Lookup> self(static_cast<Lookup*>(lookup));
  const bool is_found = error == 0 && found != nullptr;
  self->done(is_found ? AddressesIn(*found, self->port)
                      : Addresses(Fail(Code::kUnavailable, CrtError(error))));
}

}  // namespace

void Resolve(aws_host_resolver& resolver, const std::string& host, std::uint16_t port,
             std::move_only_function<void(Addresses)> done) {
  if (const auto address = ParseAddress(host, port)) return done(std::vector{*address});
  const aws_host_resolution_config config = aws_host_resolver_init_default_resolution_config();
  const CrtHandle<aws_string, aws_string_destroy> name(aws_string_new_from_array(
      aws_default_allocator(), reinterpret_cast<const std::uint8_t*>(host.data()), host.size()));
  auto lookup = std::make_unique<Lookup>(port, std::move(done));
  if (aws_host_resolver_resolve_host(&resolver, name.get(), &OnResolved, &config, lookup.get()) ==
      AWS_OP_SUCCESS) {
    lookup.release();
  } else {
    lookup->done(Fail(Code::kUnavailable, LastCrtError()));
  }
}

Connector::Connector(IoLoop& loop, const Clock& clock, const ConnectorOptions& options,
                     std::vector<SocketAddress> addresses, Done done)
    : loop_(loop),
      clock_(clock),
      options_(options),
      addresses_(addresses.rbegin(), addresses.rend()),
      each_(options.patience / std::clamp<std::int64_t>(std::ssize(addresses), 1, 3)),
      done_(std::move(done)) {
  constexpr std::size_t kMostTried = 3;
  if (addresses_.size() > kMostTried) {
    addresses_.erase(addresses_.begin(), addresses_.end() - kMostTried);
  }
}

void Connector::Begin() { Connect(); }

void Connector::Connect() {
  auto stream = ByteStream::Connect(addresses_.back());
  addresses_.pop_back();
  if (!stream) return TryNext(stream.error().message);
  stream_ = *std::move(stream);
  limit_ = clock_.Now() + each_;
  if (!loop_.Watch(stream_->descriptor(), shared_from_this())) {
    End(Fail(Code::kUnavailable, "the system cannot watch the connection"));
  }
}

void Connector::TryNext(const std::string& why) {
  if (stream_ != nullptr) loop_.Unwatch(stream_->descriptor());
  if (addresses_.empty()) return End(Fail(Code::kUnavailable, why));
  Connect();
}

void Connector::OnReady() {
  if (is_over()) return;
  if (shakes_) return Shake();
  switch (stream_->FinishConnect()) {
    case ByteStream::State::kBlocked:
      return;
    case ByteStream::State::kOk:
      break;
    default:
      return TryNext(stream_->why());
  }
  if (options_.tls == nullptr) return End(std::move(stream_));
  if (Status begun = stream_->BeginTls(*options_.tls, options_.host); !begun) {
    return End(tl::unexpected(begun.error()));
  }
  shakes_ = true;
  limit_ = clock_.Now() + options_.patience;
  Shake();
}

void Connector::Shake() {
  const ByteStream::State state = stream_->Handshake();
  if (state == ByteStream::State::kBlocked) return;
  if (state == ByteStream::State::kOk) return End(std::move(stream_));
  End(Fail(Code::kUnavailable, stream_->why()));
}

void Connector::OnLimit() {
  if (shakes_) return End(Fail(Code::kUnavailable, "the TLS handshake took too long"));
  TryNext("the host did not answer in time");
}

void Connector::Cancel() { End(Fail(Code::kCancelled, "the transport is closed")); }

void Connector::End(Result<std::unique_ptr<ByteStream>> result) {
  if (is_over()) return;
  const auto self = shared_from_this();  // which the loop may be the last to keep
  const ByteStream* const stream = result ? result->get() : stream_.get();
  if (stream != nullptr) loop_.Unwatch(stream->descriptor());
  limit_ = {INT64_MAX};
  std::exchange(done_, nullptr)(std::move(result));
}

}  // namespace weir::internal
