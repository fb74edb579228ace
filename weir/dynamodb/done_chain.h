// Chains asynchronous calls that report their results to a Done.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"

namespace weir::dynamo {

/// Returns a Done<In> that passes an error on to `done`, and calls `next(value, done)` with a
/// value.
template <class In, class Out, class Next>
Done<In> Then(Done<Out> done, Next next) {
  return [done = std::move(done), next = std::move(next)](Result<In> in) mutable {
    if (!in) return done(Fail(std::move(in.error())));
    next(std::move(*in), std::move(done));
  };
}

/// Like Then, but for a call whose success has no value: calls `next(done)`.
template <class Out, class Next>
Done<void> ThenVoid(Done<Out> done, Next next) {
  return [done = std::move(done), next = std::move(next)](Status in) mutable {
    if (!in) return done(Fail(std::move(in.error())));
    next(std::move(done));
  };
}

}  // namespace weir::dynamo
