// Wraps functions so that they are called only after tokens were taken.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weir/base/result.h"
#include "weir/reservation/token_guard.h"
#include "weir/reservation/token_limiter.h"

namespace weir {

/// A TokenRequest without the account.
struct TokenSpec {
  std::string resource;
  std::int64_t default_limit = 0;
  std::chrono::seconds default_window{0};
  std::int64_t count = 1;
};

/// Returns a callable that selects the argument with this index, counted from 0, as the account.
/// The object of a member function is not counted. The argument must convert to std::string_view;
/// for another type use a callable of your own.
template <std::size_t N>
constexpr auto AccountArgument() {
  return [](const auto&... arguments) -> std::string_view {
    static_assert(N < sizeof...(arguments), "the function has no argument with this index");
    return std::get<N>(std::tie(arguments...));
  };
}

namespace internal {

/// The return type of a limited function that returns R: Result<R>, or R if it is a Result already.
template <class R>
struct LimitedResult {
  static_assert(!std::is_reference_v<R>, "return a value or a pointer: Result holds no reference");
  using Type = Result<R>;
};
template <class T>
struct LimitedResult<Result<T>> {
  using Type = Result<T>;
};

}  // namespace internal

/// A callable with the parameters of `function`. It returns the result of `function` as a Result.
template <class Function, class Account>
class RateLimitedFunction {
 public:
  RateLimitedFunction(TokenLimiter& limiter, TokenSpec spec, Function function, Account account)
      : limiter_(&limiter),
        spec_(std::move(spec)),
        function_(std::move(function)),
        account_(std::move(account)) {}

  /// Takes the tokens, blocking for at most `store_timeout`, and calls the function. If they are
  /// not taken, the function is not called, the arguments are not changed, and the error of
  /// TokenGuard::Take is returned.
  template <class... Args>
    requires std::invocable<const Function&, Args...>
  auto operator()(Args&&... args) const ->
      typename internal::LimitedResult<std::invoke_result_t<const Function&, Args...>>::Type {
    const std::string account = AccountOf(std::as_const(args)...);
    const TokenRequest request{.resource = spec_.resource,
                               .account = account,
                               .default_limit = spec_.default_limit,
                               .default_window = spec_.default_window,
                               .count = spec_.count};
    WEIR_RETURN_IF_ERROR(TokenGuard::Take(*limiter_, request, limiter_->Timeout()));
    if constexpr (std::is_void_v<std::invoke_result_t<const Function&, Args...>>) {
      std::invoke(function_, std::forward<Args>(args)...);
      return {};
    } else {
      return std::invoke(function_, std::forward<Args>(args)...);
    }
  }

 private:
  template <class First, class... Rest>
  std::string AccountOf(const First& first, const Rest&... rest) const {
    if constexpr (std::is_member_pointer_v<Function>) {
      return std::string(std::invoke(account_, rest...));
    } else {
      return std::string(std::invoke(account_, first, rest...));
    }
  }

  TokenLimiter* limiter_;
  TokenSpec spec_;
  Function function_;
  Account account_;
};

/// Returns `function`, limited by tokens of `limiter`, which must outlive the returned object.
/// `account` is AccountArgument, or any callable that takes the arguments (without the object of a
/// member function) as constants and returns the account's name. The returned object must not be
/// called on the thread on which the store completes.
///
///   auto submit = RateLimited(limiter, {"emr", 10, std::chrono::seconds(60)}, Submit,
///                             AccountArgument<1>());
///   Result<JobId> job = submit(script, "acme");
template <class Function, class Account>
auto RateLimited(TokenLimiter& limiter, TokenSpec spec, Function function, Account account) {
  return RateLimitedFunction<Function, Account>(limiter, std::move(spec), std::move(function),
                                                std::move(account));
}

}  // namespace weir
