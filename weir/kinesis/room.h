// How much a producer may hold: records without a result, and the bytes they occupy.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"

namespace weir::kinesis {

/// What a record occupies besides its data and keys: itself, its callback, its result.
inline constexpr std::size_t kRecordOverhead = 768;

struct RoomOptions {
  std::size_t max_records = 100'000;
  std::size_t max_bytes = std::size_t{64} << 20;
};

/// What records take of it.
struct Load {
  std::size_t records = 0;
  std::size_t bytes = 0;
};

/// A value. Who finds no room may wait: first come, first served within a tenant (a stream), and
/// nobody waits behind another tenant that could not be served anyway. Where there are several, a
/// tenant has no more than is free, so that one that is stuck cannot take all of it (dynamic
/// thresholds; Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
/// switches", 1998): one that is busy alone has half. A load larger than the room is let in when
/// the room is empty.
class Room {
 public:
  using Tenant = std::size_t;  ///< as AddTenant numbers them
  /// Names one who waits. 0: none.
  using Ticket = std::uint64_t;

  explicit Room(const RoomOptions& options) : options_(options) {}

  Tenant AddTenant();
  /// True: `load` is taken.
  bool Take(Tenant tenant, Load load);
  /// As Take as soon as there is room, which GiveBack tells.
  Ticket Wait(Tenant tenant, Load load);
  /// False: nobody waits under this ticket any more.
  bool Leave(Ticket ticket);
  /// Who waited and has taken its room now is appended to `served`.
  void GiveBack(Tenant tenant, Load load, std::vector<Ticket>& served);

  const Load& used() const { return used_; }
  const Load& used(Tenant tenant) const { return tenants_[tenant]; }
  bool anybody_waits() const { return !waiting_.empty(); }

 private:
  struct Waiting {
    Ticket ticket = 0;
    Tenant tenant = 0;
    Load load;
  };

  bool Fits(Tenant tenant, Load load) const;
  void Add(Tenant tenant, Load load);

  RoomOptions options_;
  Load used_;
  std::vector<Load> tenants_;
  std::list<Waiting> waiting_;
  Ticket next_ticket_ = 1;
};

}  // namespace weir::kinesis
