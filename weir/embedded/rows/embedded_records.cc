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

void EmbeddedAudit::GetRetention(Deadline deadline, Done<std::int64_t> done) {
  jobs_.Run<std::int64_t>(
      [](StateFile& file) {
        return ReadFrom<std::int64_t>(file, [](sqlite::Connection& connection, DamageReport&) {
          return ReadRetention(connection);
        });
      },
      deadline, std::move(done));
}

void EmbeddedAudit::SetRetention(std::int64_t days, const AuditEvent& event, Deadline deadline,
                                 Done<void> done) {
  Status valid = CheckRetention(days).and_then([&] { return Check(event); });
  if (!valid) return done(std::move(valid));
  jobs_.Run<void>(
      [days, event](StateFile& file) -> Status {
        Status written = file.Write(
            [&](sqlite::Connection& connection) -> Status {
              WEIR_RETURN_IF_ERROR(WriteRetention(connection, days));
              return WriteEvents(connection, {&event, 1}, file.moment());
            },
            StateFile::Sync::kAlways);
        return written.map_error(AsStoreError);
      },
      deadline, std::move(done));
}

void EmbeddedUsage::Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) {
  if (Status valid = Check(added); !valid) return done(std::move(valid));
  jobs_.Run<void>(
      [added](StateFile& file) -> Status {
        UsageRows& usage = file.log().usage();
        Status written = file.Write(
            [&](sqlite::Connection&) -> Status {
              WEIR_RETURN_IF_ERROR(usage.Add(added));
              // As in memory, usage that is added removes no row because of its age: its own time
              // may be any.
              return usage.Trim({});
            },
            StateFile::Sync::kAsCommits);
        usage.End(written.has_value());
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
      [this, filter, page](StateFile& file) {
        // The changes before this job are committed, and no commit runs meanwhile: what the table
        // still counts is not in the rows.
        PendingUsage pending(filter, page);
        buckets_.VisitUse(filter, [&](const BucketKey& key, std::vector<HourOfUse> hours) {
          pending.Add(key, std::move(hours));
        });
        return ReadFrom<Page<UsageSnapshot>>(
            file, [&](sqlite::Connection& connection, DamageReport& damage) {
              return ListUsage(connection, pending, page, damage);
            });
      },
      deadline, std::move(done));
}

}  // namespace weir
