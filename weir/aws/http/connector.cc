#include "weir/aws/http/connector.h"

#include <aws/common/array_list.h>
#include <aws/common/string.h>
#include <aws/io/host_resolver.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weir/aws/http/crt_handle.h"

namespace weir::internal {
namespace {

/// A lookup. One response of the resolver has only one address of each family, in rotation: the
/// next response has the next ones. So the resolver is called several times.
struct Lookup {
  aws_host_resolver& resolver;
  std::string host;
  std::uint16_t port;
  std::move_only_function<void(Addresses)> done;
  std::size_t asked = 0;
  std::vector<SocketAddress> addresses{};
};

void Ask(std::unique_ptr<Lookup> lookup);

/// Adds new addresses to the lookup. Returns whether there was one.
bool Collect(const aws_array_list& found, Lookup& lookup) {
  const std::size_t before = lookup.addresses.size();
  for (std::size_t i = 0; i < aws_array_list_length(&found); ++i) {
    void* each = nullptr;
    aws_array_list_get_at_ptr(&found, &each, i);
    const char* const text = aws_string_c_str(static_cast<aws_host_address*>(each)->address);
    const auto address = ParseAddress(text, lookup.port);
    if (!address || std::ranges::count(lookup.addresses, *address) != 0) continue;
    if (lookup.addresses.size() < kMostAddresses) lookup.addresses.push_back(*address);
  }
  return lookup.addresses.size() > before;
}

void Finish(Lookup& lookup, const std::string& why) {
  if (lookup.addresses.empty()) return lookup.done(Fail(Code::kUnavailable, why));
  lookup.done(std::move(lookup.addresses));
}

void OnResolved(aws_host_resolver*, const aws_string*, int error, const aws_array_list* found,
                void* lookup) {
  std::unique_ptr<Lookup> self(static_cast<Lookup*>(lookup));
  if (error != 0 || found == nullptr) return Finish(*self, CrtError(error));
  const bool asks_again = Collect(*found, *self) && self->asked < kMostAddresses;
  if (asks_again) return Ask(std::move(self));
  Finish(*self, "the host has no address");
}

void Ask(std::unique_ptr<Lookup> lookup) {
  ++lookup->asked;
  const aws_host_resolution_config config = aws_host_resolver_init_default_resolution_config();
  const CrtHandle<aws_string, aws_string_destroy> name(aws_string_new_from_array(
      aws_default_allocator(), reinterpret_cast<const std::uint8_t*>(lookup->host.data()),
      lookup->host.size()));
  Lookup* const self = lookup.release();
  if (aws_host_resolver_resolve_host(&self->resolver, name.get(), &OnResolved, &config, self) !=
      AWS_OP_SUCCESS) {
    lookup.reset(self);
    Finish(*lookup, LastCrtError());
  }
}

}  // namespace

void Resolve(aws_host_resolver& resolver, const std::string& host, std::uint16_t port,
             std::move_only_function<void(Addresses)> done) {
  if (const auto address = ParseAddress(host, port)) return done(std::vector{*address});
  Ask(std::make_unique<Lookup>(resolver, host, port, std::move(done)));
}

Connector::Connector(HostEnvironment around, const ConnectorOptions& options,
                     std::vector<SocketAddress> addresses, Done done)
    : around_(around), options_(options), addresses_(std::move(addresses)), done_(std::move(done)) {
  around_.dead.PutLast(addresses_, around_.clock.Now());
  std::ranges::reverse(addresses_);
}

void Connector::Begin() {
  end_ = around_.clock.Now() + options_.patience;
  TryNext("");
}

void Connector::TryNext(std::string why) {
  while (!addresses_.empty()) {
    const SocketAddress address = addresses_.back();
    addresses_.pop_back();
    why = Begin(address);
    if (!why.empty()) continue;
    const Instant next = around_.clock.Now() + kHeadStart;
    limit_ = addresses_.empty() ? end_ : std::min(end_, next);
    return;
  }
  if (tries_.empty()) return End(Fail(Code::kUnavailable, why));
  limit_ = end_;
}

std::string Connector::Begin(const SocketAddress& address) {
  auto stream = ByteStream::Connect(address);
  if (!stream) {
    around_.dead.Add(address, around_.clock.Now());
    return stream.error().message;
  }
  if (!around_.loop.Watch((*stream)->descriptor(), shared_from_this())) {
    return "the system cannot watch the connection";
  }
  tries_.push_back({address, *std::move(stream)});
  return "";
}

void Connector::Drop(std::size_t index) {
  around_.loop.Unwatch(tries_[index].stream->descriptor());
  tries_.erase(tries_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Connector::OnReady() {
  if (is_over()) return;
  if (shakes_) return Shake();
  // The loop does not report which descriptor is ready, so all attempts are checked.
  std::optional<std::string> failed;
  for (std::size_t i = 0; i < tries_.size();) {
    const ByteStream::State state = tries_[i].stream->FinishConnect();
    if (state == ByteStream::State::kOk) return Take(i);
    if (state == ByteStream::State::kBlocked) {
      ++i;
      continue;
    }
    failed = tries_[i].stream->why();
    around_.dead.Add(tries_[i].address, around_.clock.Now());
    Drop(i);
  }
  if (failed) TryNext(*std::move(failed));
}

void Connector::Take(std::size_t index) {
  const auto self = shared_from_this();  // the loop may have held the last reference
  around_.dead.Remove(tries_[index].address);
  for (; index > 0; --index) {  // these had a head start
    around_.dead.Add(tries_[0].address, around_.clock.Now());
    Drop(0);
  }
  while (tries_.size() > 1) Drop(1);
  stream_ = std::move(tries_[0].stream);
  tries_.clear();
  if (options_.tls == nullptr) return End(std::move(stream_));
  if (Status begun = stream_->BeginTls(*options_.tls, options_.host); !begun) {
    return End(tl::unexpected(begun.error()));
  }
  shakes_ = true;
  limit_ = around_.clock.Now() + options_.patience;
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
  const Instant now = around_.clock.Now();
  // The head start of the last address has passed.
  if (now < end_) return TryNext("");
  for (const Try& each : tries_) around_.dead.Add(each.address, now);
  End(Fail(Code::kUnavailable, "the host did not answer in time"));
}

void Connector::Cancel() { End(Fail(Code::kCancelled, "the transport is closed")); }

void Connector::End(Result<std::unique_ptr<ByteStream>> result) {
  if (is_over()) return;
  const auto self = shared_from_this();  // the loop may have held the last reference
  while (!tries_.empty()) Drop(0);
  const ByteStream* const stream = result ? result->get() : stream_.get();
  if (stream != nullptr) around_.loop.Unwatch(stream->descriptor());
  limit_ = {INT64_MAX};
  std::exchange(done_, nullptr)(std::move(result));
}

}  // namespace weir::internal
