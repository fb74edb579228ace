#include "weir/aws/http/connector.h"

#include <aws/common/array_list.h>
#include <aws/common/string.h>
#include <aws/io/host_resolver.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weir/aws/http/crt/crt_handle.h"

namespace weir::internal {
namespace {

/// A lookup. One response of the resolver has only one address of each family, in rotation: the
/// next response has the next ones. So the resolver is called several times.
struct Lookup {
  aws_host_resolver& resolver;
  std::string host;
  std::uint16_t port;
  std::move_only_function<void(Addresses)> done;
  std::size_t rounds = 0;
  std::vector<SocketAddress> addresses{};
};

void LookUp(std::unique_ptr<Lookup> lookup);

/// Adds new addresses to the lookup. Returns whether there was one.
bool CollectAddresses(const aws_array_list& found, Lookup& lookup) {
  const std::size_t before = lookup.addresses.size();
  for (std::size_t i = 0; i < aws_array_list_length(&found); ++i) {
    void* each = nullptr;
    aws_array_list_get_at_ptr(&found, &each, i);
    const char* const text = aws_string_c_str(static_cast<aws_host_address*>(each)->address);
    const auto address = ParseAddress(text, lookup.port);
    if (!address || std::ranges::count(lookup.addresses, *address) != 0) continue;
    if (lookup.addresses.size() < kMaxAddresses) lookup.addresses.push_back(*address);
  }
  return lookup.addresses.size() > before;
}

void FinishLookup(Lookup& lookup, const std::string& why) {
  if (lookup.addresses.empty()) return lookup.done(Fail(Code::kUnavailable, why));
  lookup.done(std::move(lookup.addresses));
}

void OnResolved(aws_host_resolver*, const aws_string*, int error, const aws_array_list* found,
                void* lookup) {
  std::unique_ptr<Lookup> self(static_cast<Lookup*>(lookup));
  if (error != 0 || found == nullptr) return FinishLookup(*self, CrtError(error));
  const bool needs_another = CollectAddresses(*found, *self) && self->rounds < kMaxAddresses;
  if (needs_another) return LookUp(std::move(self));
  FinishLookup(*self, "the host has no address");
}

void LookUp(std::unique_ptr<Lookup> lookup) {
  ++lookup->rounds;
  const aws_host_resolution_config config = aws_host_resolver_init_default_resolution_config();
  const CrtHandle<aws_string, aws_string_destroy> name(aws_string_new_from_array(
      aws_default_allocator(), reinterpret_cast<const std::uint8_t*>(lookup->host.data()),
      lookup->host.size()));
  Lookup* const self = lookup.release();
  if (aws_host_resolver_resolve_host(&self->resolver, name.get(), &OnResolved, &config, self) !=
      AWS_OP_SUCCESS) {
    lookup.reset(self);
    FinishLookup(*lookup, LastCrtError());
  }
}

}  // namespace

void Resolve(aws_host_resolver& resolver, const std::string& host, std::uint16_t port,
             std::move_only_function<void(Addresses)> done) {
  if (const auto address = ParseAddress(host, port)) return done(std::vector{*address});
  LookUp(std::make_unique<Lookup>(resolver, host, port, std::move(done)));
}

Connector::Connector(Context context, const ConnectorOptions& options,
                     std::vector<SocketAddress> addresses, Done done)
    : context_(context),
      options_(options),
      addresses_(std::move(addresses)),
      done_(std::move(done)) {
  context_.dead_addresses.MoveToEnd(addresses_, context_.clock.Now());
  std::ranges::reverse(addresses_);
}

void Connector::Begin() {
  tcp_end_ = context_.clock.Now() + options_.patience;
  StartNextAttempt("");
}

void Connector::StartNextAttempt(std::string why) {
  while (!addresses_.empty()) {
    const SocketAddress address = addresses_.back();
    addresses_.pop_back();
    why = StartAttempt(address);
    if (!why.empty()) continue;
    const Instant next = context_.clock.Now() + kHeadStart;
    wake_ = addresses_.empty() ? tcp_end_ : std::min(tcp_end_, next);
    return;
  }
  if (attempts_.empty()) return Complete(Fail(Code::kUnavailable, why));
  wake_ = tcp_end_;
}

std::string Connector::StartAttempt(const SocketAddress& address) {
  auto stream = ByteStream::Connect(address);
  if (!stream) {
    context_.dead_addresses.Add(address, context_.clock.Now());
    return stream.error().message;
  }
  if (!context_.loop.Watch((*stream)->descriptor(), shared_from_this())) {
    return "the system cannot watch the connection";
  }
  attempts_.push_back({address, *std::move(stream)});
  return "";
}

void Connector::EndAttempt(std::size_t index) {
  context_.loop.Unwatch(attempts_[index].stream->descriptor());
  attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Connector::OnReady() {
  if (is_over()) return;
  if (in_handshake_) return ContinueHandshake();
  // The loop does not report which descriptor is ready, so all attempts are checked.
  std::optional<std::string> failure;
  for (std::size_t i = 0; i < attempts_.size();) {
    const ByteStream::State state = attempts_[i].stream->FinishConnect();
    if (state == ByteStream::State::kOk) return UseAttempt(i);
    if (state == ByteStream::State::kBlocked) {
      ++i;
      continue;
    }
    failure = attempts_[i].stream->why();
    context_.dead_addresses.Add(attempts_[i].address, context_.clock.Now());
    EndAttempt(i);
  }
  if (failure) StartNextAttempt(*std::move(failure));
}

void Connector::UseAttempt(std::size_t index) {
  const auto self = shared_from_this();  // the loop may have held the last reference
  context_.dead_addresses.Remove(attempts_[index].address);
  for (; index > 0; --index) {  // the earlier attempts had a head start
    context_.dead_addresses.Add(attempts_[0].address, context_.clock.Now());
    EndAttempt(0);
  }
  while (attempts_.size() > 1) EndAttempt(1);
  stream_ = std::move(attempts_[0].stream);
  attempts_.clear();
  if (options_.tls == nullptr) return Complete(std::move(stream_));
  if (Status begun = stream_->BeginTls(*options_.tls, options_.host); !begun) {
    return Complete(tl::unexpected(begun.error()));
  }
  in_handshake_ = true;
  wake_ = context_.clock.Now() + options_.patience;
  ContinueHandshake();
}

void Connector::ContinueHandshake() {
  const ByteStream::State state = stream_->Handshake();
  if (state == ByteStream::State::kBlocked) return;
  if (state == ByteStream::State::kOk) return Complete(std::move(stream_));
  Complete(Fail(Code::kUnavailable, stream_->why()));
}

void Connector::OnTime() {
  if (in_handshake_) return Complete(Fail(Code::kUnavailable, "the TLS handshake took too long"));
  const Instant now = context_.clock.Now();
  // The head start of the address that was tried last has passed.
  if (now < tcp_end_) return StartNextAttempt("");
  for (const Attempt& each : attempts_) context_.dead_addresses.Add(each.address, now);
  Complete(Fail(Code::kUnavailable, "the host did not answer in time"));
}

void Connector::Cancel() { Complete(Fail(Code::kCancelled, "the transport is closed")); }

void Connector::Complete(Result<std::unique_ptr<ByteStream>> result) {
  if (is_over()) return;
  const auto self = shared_from_this();  // the loop may have held the last reference
  while (!attempts_.empty()) EndAttempt(0);
  const ByteStream* const stream = result ? result->get() : stream_.get();
  if (stream != nullptr) context_.loop.Unwatch(stream->descriptor());
  wake_ = {INT64_MAX};
  std::exchange(done_, nullptr)(std::move(result));
}

}  // namespace weir::internal
