// What a call that can fail returns. Nothing of ours throws across a room; std::bad_alloc ends the
// program.
//
// A refusal by a limit is an answer, not an error: see weir/bucket/decision.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace weir {

/// gRPC's codes, chosen by what the caller should do next (after absl/status/status.h).
enum class Code {
  kCancelled = 1,           ///< the caller gave up
  kUnknown = 2,             ///< nothing better is known
  kInvalidArgument = 3,     ///< the request can never succeed, whatever the state: mend it
  kDeadlineExceeded = 4,    ///< time ran out; what was asked may or may not have happened
  kNotFound = 5,            ///< the thing named does not exist
  kAlreadyExists = 6,       ///< the thing to be created exists
  kPermissionDenied = 7,    ///< known caller, not allowed
  kResourceExhausted = 8,   ///< a bound of ours is reached (queue, memory, disk)
  kFailedPrecondition = 9,  ///< do not retry before somebody changes the state
  kAborted = 10,            ///< a concurrent change won: redo the read and the write
  kOutOfRange = 11,         ///< a number beyond what is kept
  kUnimplemented = 12,      ///< not offered
  kInternal = 13,           ///< a defect of ours
  kUnavailable = 14,        ///< retry this very call later
  kDataLoss = 15,           ///< stored data are damaged
  kUnauthenticated = 16,    ///< unknown caller
};

/// The code's name as gRPC writes it, for example "INVALID_ARGUMENT".
std::string_view CodeName(Code code);

/// What went wrong. The message is one line and says what, where, and what would be right.
struct [[nodiscard]] Error {
  Code code = Code::kUnknown;
  std::string message;
  /// When trying again makes sense, if that is known.
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// An Error on its way out: `return Fail(Code::kNotFound, "...")` fits every Result.
inline tl::unexpected<Error> Fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

/// Leaves the function with the error of `expr`, if it has one.
#define WEIR_RETURN_IF_ERROR(expr)                                         \
  do {                                                                     \
    auto weir_status = (expr);                                             \
    if (!weir_status) return ::weir::Fail(std::move(weir_status.error())); \
  } while (false)

/// `WEIR_ASSIGN_OR_RETURN(auto x, F());` names the value of F(), or leaves with its error.
#define WEIR_ASSIGN_OR_RETURN(name, expr) \
  WEIR_ASSIGN_OR_RETURN_INNER(WEIR_CONCAT(weir_result_, __LINE__), name, expr)
#define WEIR_ASSIGN_OR_RETURN_INNER(result, name, expr)        \
  auto result = (expr);                                        \
  if (!result) return ::weir::Fail(std::move(result.error())); \
  name = std::move(*result)

}  // namespace weir
