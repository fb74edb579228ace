// The completion of an asynchronous call.
#pragma once

#include <functional>

#include "weir/base/result.h"

namespace weir {

/// Receives the result of an asynchronous call. The callee runs it exactly once: before the call
/// returns, or later on a thread of its own; never while it holds a lock. It must not throw.
template <class T>
using Done = std::move_only_function<void(Result<T>)>;

}  // namespace weir
