// The steps that the protocols of slots request from the table. Each protocol is a state machine
// without I/O.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weir/base/time.h"
#include "weir/dynamodb/table.h"

namespace weir::rate_limiter_py {

/// Items to be read in one call; OnRead gets them in this order.
using Reads = std::vector<dynamo::TableKey>;
using Items = std::vector<std::optional<dynamo::Item>>;
using Writes = std::vector<dynamo::Write>;
/// One transaction; OnWrite gets its outcome. `make` is called for each try, because a roster
/// stores the time at which a slot was last claimed or moved, and a try may be made long after the
/// call began.
struct Transaction {
  std::function<Writes(UnixMillis now)> make;
  /// The writes contain the time at which they were made, so a try must be sent soon. After a try
  /// of unknown outcome another is made: its conditions fail if the earlier try was applied.
  bool is_dated = true;
};
/// A transaction whose writes do not depend on the time.
inline Transaction AnyTime(Writes writes) {
  return {.make = [writes = std::move(writes)](UnixMillis) { return writes; }, .is_dated = false};
}
using WriteOutcome = tl::expected<dynamo::WriteResponse, dynamo::WriteFailure>;

/// The result of a call, or one request. (After a dynamo::QueryRequest, OnQuery gets the page.)
template <class Value, class... Requests>
using SlotStep = std::variant<Result<Value>, Requests...>;

/// Converts a step of an inner call to a step of the outer call: a request is passed on, the result
/// is passed to `next`.
template <class Outer, class Value, class... Requests, class Next>
Outer ForwardStep(SlotStep<Value, Requests...> step, Next next) {
  return std::visit(
      [&next](auto&& part) -> Outer {
        if constexpr (std::is_same_v<std::decay_t<decltype(part)>, Result<Value>>) {
          return next(std::move(part));
        } else {
          return std::move(part);
        }
      },
      std::move(step));
}

/// Returns whether the transaction was refused by the condition of this action.
inline bool IsRefusedBy(const dynamo::WriteFailure& failure, std::size_t action) {
  return failure.ReasonOf(action) == "ConditionalCheckFailed";
}

/// The maximum number of times that a call starts again because others changed the items that it
/// read. After that, the call fails with kUnavailable.
inline constexpr int kMaxRounds = 10;

}  // namespace weir::rate_limiter_py
