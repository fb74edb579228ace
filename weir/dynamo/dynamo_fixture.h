// A table in a simulated DynamoDB, without a network: calls are answered before they return.
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
#include "weir/dynamo/table.h"
#include "weir/sim/sim_dynamo.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::dynamo {

inline constexpr UnixMillis kNewYear{1'767'225'600'000};
inline constexpr Deadline kNever = Deadline::Never();

/// What an answer of the server means to whoever made the call once.
tl::expected<JsonReply, AwsFailure> ReplyTo(const std::string& operation, HttpResponse response);

/// The request of a call, and a table in a server that has none of that name.
HttpRequest RequestOf(const JsonCall& call);
void CreateTableIn(sim::SimServer& server, std::string_view name,
                   const TableLayout& layout = OurLayout());

/// Hands each call to the server and classifies what it answers; tries nothing again.
class DirectClient final : public JsonClient {
 public:
  explicit DirectClient(sim::SimServer& server) : server_(server) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override;

  enum class Fault {
    kUnsent,      ///< fails, and the server never saw it
    kLostAnswer,  ///< fails, and the server did it
  };
  /// The nth call from now on (the first is 1) meets this fault; it is for good.
  void FailFrom(std::uint64_t nth, Fault fault) { fault_at_ = {calls_ + nth, fault}; }
  void Heal() { fault_at_.reset(); }
  /// Calls are refused with this code; empty: they are not.
  std::string refusal;
  /// Transactions are cancelled for this reason of their first action; empty: they are not.
  std::string cancellation;
  /// Runs before each call, for what somebody else does in between. Not for the calls in it.
  std::function<void(const JsonCall&)> before_each;
  /// If given, a call whose deadline has passed is not sent. Otherwise deadlines have no effect.
  const Clock* clock = nullptr;

  std::uint64_t calls() const { return calls_; }

 private:
  bool FailsNow() const { return fault_at_ && calls_ >= fault_at_->first; }

  sim::SimServer& server_;
  std::uint64_t calls_ = 0;
  std::optional<std::pair<std::uint64_t, Fault>> fault_at_;
};

/// It is there from the start unless `empty`. The layout must outlive it.
struct SimTable {
  explicit SimTable(bool empty = false, std::uint64_t seed = 1,
                    const TableLayout& layout = OurLayout());

  sim::SimScheduler scheduler;
  sim::SimDynamo server;
  DirectClient client;
  Table table;

  /// What a call answers, and time goes no further: `start` gets a Done<T>.
  template <class T, class Start>
  Result<T> Ask(Start&& start) {
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    std::forward<Start>(start)(
        Done<T>([answer](Result<T> result) { answer->emplace(std::move(result)); }));
    while (!*answer && scheduler.RunNext()) {
    }
    scheduler.RunReady();
    if (!*answer) return Fail(Code::kInternal, "no answer came");
    return std::move(**answer);
  }

  /// For preparing and looking; they must succeed.
  void Put(Item item);
  std::optional<Item> Get(const TableKey& key);
  /// Of all items, in order.
  std::vector<TableKey> AllKeys();
};

}  // namespace weir::dynamo
