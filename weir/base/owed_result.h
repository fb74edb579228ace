// A result that its receiver gets in every case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/done.h"
#include "weir/base/result.h"

namespace weir {

/// A text as a template argument.
template <std::size_t kSize>
struct FixedText {
  // NOLINTNEXTLINE(google-explicit-constructor): FixedText is written as a literal
  consteval FixedText(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
  constexpr std::string_view view() const { return {text, kSize - 1}; }

  char text[kSize];
};

/// A callable that owes one result to its receiver: if it is destroyed before it was called, for
/// example by a scheduler that ends, it reports kCancelled with the message `kWhyDropped`. A
/// Done<T> can hold it. It has the size of its receiver.
///
/// A receiver is called with a Result<T>&&. It converts to bool: true, or false if it is
/// default-constructed. Done<T> is such a receiver.
template <class T, FixedText kWhyDropped, class Receiver = Done<T>>
class OwedResult {
 public:
  explicit OwedResult(Receiver receiver) : receiver_(std::move(receiver)) {}
  OwedResult(OwedResult&& other) noexcept : receiver_(std::exchange(other.receiver_, Receiver{})) {}
  OwedResult& operator=(OwedResult&&) = delete;
  ~OwedResult() {
    if (receiver_) receiver_(Fail(Code::kCancelled, std::string(kWhyDropped.view())));
  }

  /// Reports the result. REQUIRES: this object was not called before. The parameter is a reference,
  /// because a result may be large, and each call by value would move it once more.
  void operator()(Result<T>&& result) { std::exchange(receiver_, Receiver{})(std::move(result)); }

 private:
  Receiver receiver_;
};

}  // namespace weir
