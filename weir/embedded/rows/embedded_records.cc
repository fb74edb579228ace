#include "weir/embedded/rows/embedded_records.h"

#include <string>
#include <utility>

#include "weir/embedded/rows/audit_rows.h"
#include "weir/embedded/rows/usage_rows.h"

namespace weir {
void EmbeddedAudit::Append(const AuditEvent& event, Deadline deadline, Done<void> done) {
  if (Status valid = Check(event); !valid) return done(std::move(valid));
  jobs_.Run<void>(
      [event](StateFile& file) -> Status {
        Status written = file.Write(
            [&](sqlite::Connection& connection) {
              return WriteEvents(connection, {&event, 1}, file.moment());
            },
            StateFile::Sync::kAlways);
        return written.map_error(AsStoreError);
      },
      deadline, std::move(done));
}

void EmbeddedAudit::List(std::string_view subject, const PageRequest& page, Deadline deadline,
                         Done<Page<AuditEvent>> done) {
  if (Status valid = CheckAuditPage(subject, page); !valid) {
    return done(Fail(std::move(valid.error())));
  }
  jobs_.Run<Page<AuditEvent>>(
      [subject = std::string(subject), page](StateFile& file) {
        return ReadFrom<Page<AuditEvent>>(
            file, [&](sqlite::Connection& connection, DamageReport& damage) {
              return ListEvents(connection, subject, page, damage);
            });
      },
      deadline, std::move(done));
}

void EmbeddedUsage::Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) {
  if (Status valid = Check(added); !valid) return done(std::move(valid));
  jobs_.Run<void>(
      [added](StateFile& file) -> Status {
        Status written =
            file.Write([&](sqlite::Connection& connection) { return AddUsage(connection, added); },
                       StateFile::Sync::kAsCommits);
        if (!written && written.error().code == Code::kOutOfRange) return written;
        return written.map_error(AsStoreError);
      },
      deadline, std::move(done));
}

void EmbeddedUsage::List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
                         Done<Page<UsageSnapshot>> done) {
  if (Status valid = CheckUsagePage(filter, page); !valid)
    return done(Fail(std::move(valid.error())));
  jobs_.Run<Page<UsageSnapshot>>(
      [filter, page](StateFile& file) {
        return ReadFrom<Page<UsageSnapshot>>(
            file, [&](sqlite::Connection& connection, DamageReport& damage) {
              return ListUsage(connection, filter, page, damage);
            });
      },
      deadline, std::move(done));
}

}  // namespace weir
