// The result type of calls that can fail. No exception crosses a module's interface; std::bad_alloc
// ends the program.
//
// A refusal by a limit is a result, not an error: see weir/store/bucket/decision.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "weir/base/api.h"

namespace weir {

/// gRPC's codes, chosen by what the caller should do next (after absl/status/status.h).
enum class Code {
  kCancelled = 1,           ///< the caller gave up
  kUnknown = 2,             ///< no better code is known
  kInvalidArgument = 3,     ///< the request can never succeed, whatever the state: correct it
  kDeadlineExceeded = 4,    ///< time ran out; the operation may or may not have happened
  kNotFound = 5,            ///< the named thing does not exist
  kAlreadyExists = 6,       ///< the thing to be created exists
  kPermissionDenied = 7,    ///< the caller is known, but not allowed to do this
  kResourceExhausted = 8,   ///< a bound of Weir is reached (queue, memory, disk)
  kFailedPrecondition = 9,  ///< do not retry before the state has been changed
  kAborted = 10,            ///< a concurrent change won: repeat the read and the write
  kOutOfRange = 11,         ///< the number is outside the supported range
  kUnimplemented = 12,      ///< the operation is not offered
  kInternal = 13,           ///< a defect of Weir
  kUnavailable = 14,        ///< retry the same call later
  kDataLoss = 15,           ///< stored data are damaged
  kUnauthenticated = 16,    ///< the caller is unknown
};

/// Returns the code's name as gRPC writes it, for example "INVALID_ARGUMENT".
WEIR_API std::string_view CodeName(Code code);

/// The cause of a failure. The message is one line; it says what failed, where, and what would be
/// right.
struct [[nodiscard]] Error {
  Code code = Code::kUnknown;
  std::string message;
  /// How long to wait before a retry makes sense, if that is known.
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
  /// The index of the part that failed, if the request has several (Limiter::AcquireAll) and this
  /// is known.
  std::optional<std::uint32_t> part = std::nullopt;
  /// Some of the changes of the request were made, or may be, and the others never will be
  /// (BucketStore::Adjust). Without it, a code such as kFailedPrecondition means that nothing was
  /// changed.
  bool is_partial = false;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// Wraps an Error for returning it: `return Fail(Code::kNotFound, "...")` converts to every Result.
inline tl::unexpected<Error> Fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

/// Returns from the enclosing function with the error of `expr`, if it has one.
#define WEIR_RETURN_IF_ERROR(expr)                                         \
  do {                                                                     \
    auto weir_status = (expr);                                             \
    if (!weir_status) return ::weir::Fail(std::move(weir_status.error())); \
  } while (false)

/// `WEIR_ASSIGN_OR_RETURN(auto x, F());` assigns the value of F() to `x`, or returns from the
/// enclosing function with its error.
#define WEIR_ASSIGN_OR_RETURN(name, expr) \
  WEIR_ASSIGN_OR_RETURN_INNER(WEIR_CONCAT(weir_result_, __LINE__), name, expr)
#define WEIR_ASSIGN_OR_RETURN_INNER(result, name, expr)        \
  auto result = (expr);                                        \
  if (!result) return ::weir::Fail(std::move(result.error())); \
  name = std::move(*result)

}  // namespace weir
