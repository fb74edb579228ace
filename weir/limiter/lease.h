// What an admitted request holds until its true cost is known.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weir/base/done.h"
#include "weir/model/tokens.h"
#include "weir/store/charge.h"

namespace weir {

class Limiter;

/// The charges of one admitted request. Leaving the scope commits: what was taken stays taken.
/// Leaving it because an exception unwinds cancels. A lease that ended or was moved from refuses
/// with kFailedPrecondition. Movable; not thread-safe; must not outlive its Limiter.
///
/// Blocking calls must not be made on the scheduler's own thread; the others take a `done`.
class Lease {
 public:
  /// Holds nothing, as a moved-from one.
  Lease() = default;
  Lease(Limiter& limiter, std::vector<Charge> charges);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;  ///< ends what it held as the destructor does
  ~Lease();

  bool active() const { return limiter_ != nullptr; }
  /// What it stands for now: taken, plus adjusts, minus returns. One entry for each charged bucket,
  /// the entity's own first.
  std::span<const Charge> charges() const { return charges_; }

  /// Adds (positive) or gives back (negative) in every charged bucket that has the limit; limits
  /// that the request did not name may be adjusted too. May leave debt; never fails for want of
  /// tokens. Unknown names: kInvalidArgument. After an error the same call may be repeated: it
  /// counts once.
  [[nodiscard]] Status Adjust(const Amounts& amounts);
  void Adjust(const Amounts& amounts, Done<void> done);
  /// Gives back: Adjust with the signs turned. REQUIRES: amounts are not negative.
  [[nodiscard]] Status Release(const Amounts& amounts);
  /// Ends the lease; what it stands for stays taken.
  [[nodiscard]] Status Commit();
  /// Ends the lease and gives back all it stands for.
  [[nodiscard]] Status Cancel();

 private:
  Limiter* limiter_ = nullptr;
  std::vector<Charge> charges_;
  int exceptions_ = 0;  ///< std::uncaught_exceptions() when it was made
};

}  // namespace weir
