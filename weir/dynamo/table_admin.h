// The table as a whole: create, look at, check, delete.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/table_layout.h"
#include "weir/dynamo/version.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// The attribute by which items of our table go.
inline constexpr std::string_view kTimeToLiveAttribute = "ttl";

/// Something that can be on or off, or that this engine does not offer at all.
enum class Feature { kOn, kOff, kNotOffered };
std::string_view Name(Feature feature);  ///< "on", "off", "not offered"

struct TableCreated {
  bool created = false;  ///< false: it was there already, and was completed where it needed it
  Feature time_to_live = Feature::kOff;
  Feature recovery = Feature::kOff;  ///< to any point of the last 35 days
  bool wrote_version = false;
};

struct TableStatus {
  TableDescription table;
  Feature time_to_live = Feature::kOff;
  std::string time_to_live_attribute;  ///< where it is on
  Feature recovery = Feature::kOff;
  std::optional<VersionInfo> version;  ///< nothing: there is no record
};

/// What a table has beside its layout. The default is what ours has.
struct TablePurpose {
  /// By which attribute items go (seconds since 1970); empty: time to live is not ours to say.
  std::string time_to_live{kTimeToLiveAttribute};
  bool recovery = true;
  bool version = true;  ///< a version record; takes OurLayout's keys
  /// Billing, stream and further indexes are as the layout says. False: they are the owner's.
  bool exact = true;
};

/// Thread-safe. Table and scheduler must outlive it and every call, and on the scheduler's thread
/// runs what follows a wait. `done` as weir/base/done.h says. A table that does not exist is
/// kNotFound.
class TableAdmin {
 public:
  TableAdmin(Table& table, Scheduler& scheduler, TablePurpose purpose = {})
      : table_(table), scheduler_(scheduler), purpose_(std::move(purpose)) {}

  /// Creates the table as its layout says, waits until it can be used, turns on time to live and
  /// recovery to a point in time, and writes the version record where there is none: what of these
  /// its purpose asks for. Each step is left out where it was done before, so that a call which was
  /// cut off is completed by the next. `by` goes into the version record; may be empty.
  ///
  /// kFailedPrecondition where there is a table of that name of another layout; nothing is changed
  /// then. kDeadlineExceeded if it does not become active in time.
  void Create(std::string_view by, Deadline deadline, Done<TableCreated> done);

  void ReadStatus(Deadline deadline, Done<TableStatus> done);

  /// One line for each thing that differs from what Create makes. None: all is well.
  void Check(Deadline deadline, Done<std::vector<std::string>> done);

  /// With everything in it. Answers when the deletion has begun.
  void Delete(Deadline deadline, Done<void> done);

 private:
  Table& table_;
  Scheduler& scheduler_;
  const TablePurpose purpose_;
};

/// What Check tells of a table that it has looked at.
std::vector<std::string> Shortcomings(const TableStatus& status,
                                      const TableLayout& layout = OurLayout(),
                                      const TablePurpose& purpose = {});

/// What of a layout is not as it should be: Differences, without what is the owner's.
std::vector<std::string> LayoutShortcomings(const TableLayout& found, const TableLayout& wanted,
                                            const TablePurpose& purpose);

}  // namespace weir::dynamo
