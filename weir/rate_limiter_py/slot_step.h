// What the protocols of slots ask of the table. Each is a value without I/O: events in, steps out.
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
#include "weir/dynamo/table.h"

namespace weir::rate_limiter_py {

/// To be read in one call; OnRead gets the items in their order.
using Reads = std::vector<dynamo::TableKey>;
using Items = std::vector<std::optional<dynamo::Item>>;
using Writes = std::vector<dynamo::Write>;
/// One transaction; OnWrite gets its outcome. It is made for each try: a roster says when a slot
/// was last claimed, and a try may come long after its call began.
struct Transaction {
  std::function<Writes(UnixMillis now)> make;
  /// Its writes say when they were made, so they may not be written much later. A try of unknown
  /// outcome is made again: its conditions refuse writes that an earlier try made.
  bool is_dated = true;
};
/// One that is the same at any time.
inline Transaction AnyTime(Writes writes) {
  return {.make = [writes = std::move(writes)](UnixMillis) { return writes; }, .is_dated = false};
}
using WriteOutcome = tl::expected<dynamo::WriteAnswer, dynamo::WriteFailure>;

/// The answer, or one thing to be done first. (A dynamo::QueryRequest: OnQuery gets the page.)
template <class Answer, class... Asked>
using SlotStep = std::variant<Result<Answer>, Asked...>;

/// What a call within another asks is asked by the outer one; its answer goes through `next`.
template <class Outer, class Answer, class... Asked, class Next>
Outer Within(SlotStep<Answer, Asked...> step, Next next) {
  return std::visit(
      [&next](auto&& part) -> Outer {
        if constexpr (std::is_same_v<std::decay_t<decltype(part)>, Result<Answer>>) {
          return next(std::move(part));
        } else {
          return std::move(part);
        }
      },
      std::move(step));
}

/// The condition of that action is why the transaction was refused.
inline bool IsRefusedBy(const dynamo::WriteFailure& failure, std::size_t action) {
  return failure.ReasonOf(action) == "ConditionalCheckFailed";
}

/// A call begins anew so often where others change what it saw; then it ends with kUnavailable.
inline constexpr int kMostRounds = 10;

}  // namespace weir::rate_limiter_py
