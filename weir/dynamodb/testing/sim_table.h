// A table in a simulated DynamoDB, without a network: callbacks run before the calls return.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::dynamo {

inline constexpr UnixMillis kNewYear{1'767'225'600'000};
inline constexpr Deadline kNever = Deadline::Never();

/// Returns what a single attempt with this response of the server means to its caller.
tl::expected<JsonReply, AwsFailure> ReplyTo(const std::string& operation, HttpResponse response);

/// Returns the HTTP request of a call.
HttpRequest RequestOf(const JsonCall& call);
/// Creates a table in a server that has no table of that name.
void CreateTableIn(sim::SimServer& server, std::string_view name, const TableLayout& layout);

/// Passes each call to the server and classifies the response. Does not retry.
class DirectClient final : public JsonClient {
 public:
  explicit DirectClient(sim::SimServer& server) : server_(server) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override;

  enum class Fault {
    kUnsent,        ///< the call fails; the server never received it
    kLostResponse,  ///< the call fails; the server executed it
  };
  /// The nth call from now on (the first is 1) and all later ones have this fault, until Heal.
  void FailFrom(std::uint64_t nth, Fault fault) { fault_at_ = {calls_ + nth, fault}; }
  void Heal() { fault_at_.reset(); }
  /// Calls are refused with this error code, unless it is empty.
  std::string refusal;
  /// Transactions are cancelled with this code for their first action, unless it is empty.
  std::string cancellation;
  /// Runs before each call and simulates the actions of other processes. Does not run for the calls
  /// that it makes itself.
  std::function<void(const JsonCall&)> before_each;
  /// If set, a call whose deadline has passed is not sent. Otherwise deadlines have no effect.
  const Clock* clock = nullptr;

  std::uint64_t calls() const { return calls_; }

 private:
  bool FailsNow() const { return fault_at_ && calls_ >= fault_at_->first; }

  sim::SimServer& server_;
  std::uint64_t calls_ = 0;
  std::optional<std::pair<std::uint64_t, Fault>> fault_at_;
};

/// Returns a layout with the keys PK and SK and no index.
const TableLayout& PlainLayout();

/// The table exists from the start unless `empty`. The layout must outlive this object.
struct SimTable {
  explicit SimTable(const TableLayout& layout, bool empty = false, std::uint64_t seed = 1);

  sim::SimScheduler scheduler;
  sim::SimDynamo server;
  DirectClient client;
  Table table;

  /// Passes a Done<T> to `start`, runs the scheduler until the call has a result, and returns the
  /// result. The simulated time does not advance beyond that.
  template <class T, class Start>
  Result<T> Ask(Start&& start) {
    const auto response = std::make_shared<std::optional<Result<T>>>();
    std::forward<Start>(start)(
        Done<T>([response](Result<T> result) { response->emplace(std::move(result)); }));
    while (!*response && scheduler.RunNext()) {
    }
    scheduler.RunReady();
    if (!*response) return Fail(Code::kInternal, "no answer came");
    return std::move(**response);
  }

  /// For preparation and inspection. They abort the test program if they fail.
  void Put(Item item);
  std::optional<Item> Get(const TableKey& key);
  /// Returns the keys of all items, in ascending order.
  std::vector<TableKey> AllKeys();
};

}  // namespace weir::dynamo
