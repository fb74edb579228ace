// Bytes of a client on a connection that serves gRPC, in pieces and at several times: whatever they
// are, the output of a turn and the calls in flight stay within their bounds, and the connection
// can be destroyed at any time.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.h"
#include "weir/grpc/server.h"

namespace weir {
namespace {

/// A scheduler whose tasks never run: calls that respond later do not respond.
class NoScheduler final : public Scheduler, private Clock {
 public:
  const Clock& clock() const override { return *this; }
  void Post(Task) override {}
  TimerId At(Instant, Task) override { return TimerId{1}; }
  bool Cancel(TimerId) override { return true; }

 private:
  Instant Now() const override { return {1'000'000'000'000}; }
  UnixMillis WallNow() const override { return {1'767'225'600'000}; }
};

class Echo final : public grpc::CallHandler {
 public:
  explicit Echo(grpc::CallWriter writer) : writer_(std::move(writer)) {}
  void OnMessage(std::string_view message) override { writer_.Send(message); }
  void OnHalfClose() override { writer_.Finish({}); }

 private:
  grpc::CallWriter writer_;
};

void Feed(std::string_view bytes) {
  NoScheduler loop;
  std::vector<grpc::CallWriter> kept;
  grpc::MethodTable methods;
  methods.Add("s", "now", grpc::UnaryMethod([](const auto&, auto message, auto writer) {
                writer.Reply(message);
              }));
  methods.Add("s", "later", grpc::UnaryMethod([&](const auto&, auto, auto writer) {
                kept.push_back(std::move(writer));
              }));
  methods.Add("s", "chat", grpc::StreamMethod([](const auto&, auto writer) {
                return std::make_unique<Echo>(std::move(writer));
              }));
  const grpc::ServerTerms terms{.methods = methods,
                                .connection = {.max_streams = 8, .max_header_list = 1'024},
                                .calls = {.max_message = 512, .max_kept = 1'024, .max_calls = 4}};
  grpc::ServerCounts counts;
  const auto connection =
      grpc::ServeConnection(terms, counts, {.peer = {}, .loop = loop, .changed = [] {}});
  Instant now{1'000'000'000'000};
  // The first byte chooses the size of the pieces.
  const std::size_t piece = bytes.empty() ? 1 : 1 + static_cast<unsigned char>(bytes.front());
  if (!bytes.empty()) bytes.remove_prefix(1);
  for (std::size_t at = 0; at < bytes.size() && !connection->IsDone(); at += piece) {
    now = now + nanoseconds(1'000'000);
    connection->Receive(bytes.substr(at, piece), now);
    if (connection->wake() <= now) connection->OnTime(now);
    for (std::string_view out = connection->Output(); !out.empty(); out = connection->Output()) {
      Require(out.size() < 1'000'000, "the output of one turn is bounded");
      connection->OnSent(std::min<std::size_t>(out.size(), 1'000), now);
    }
    Require(kept.size() <= 4 + counts.calls.abandoned.Value(), "calls in flight are bounded");
  }
  for (const grpc::CallWriter& writer : kept) writer.Reply("later");
  connection->Drain(now);
  static_cast<void>(connection->Output());
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::Feed(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
