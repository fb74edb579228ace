#include "weir/embedded/rows/pending_use.h"

#include <string>
#include <utility>
#include <vector>

#include "weir/embedded/commit/change_index.h"
#include "weir/embedded/rows/bucket_reader.h"

namespace weir {
namespace {

class UseLoader {
 public:
  UseLoader(sqlite::Connection& connection, PendingUsage& pending)
      : connection_(connection), pending_(pending) {}

  Status AddChanges() {
    WEIR_ASSIGN_OR_RETURN(auto rows, connection_.Prepare("SELECT data FROM change ORDER BY seq"));
    Result<bool> row = true;
    while ((row = rows.Step()) && *row) {
      reader_.SalvageChanges(
          rows.Text(0),
          [&](const Change& change) {
            if (Selects(change.entity, change.resource)) index_.Add(change);
          },
          [&](const DamagedChange& change) {
            if (change.key) index_.Add(change);
          });
    }
    if (!row) return Fail(std::move(row.error()));
    for (const auto& [key, latest] : index_.map()) {
      if (latest.is_readable && latest.time) AddOne(key, latest.limits, latest.use);
    }
    return {};
  }

  Status AddRows() {
    const UsageFilter& filter = pending_.filter();
    std::string sql =
        "SELECT entity, resource, shard, limits, use FROM bucket WHERE use IS NOT NULL";
    if (filter.entity) sql += " AND entity = ?1";
    if (filter.resource) sql += " AND resource = ?2";
    WEIR_ASSIGN_OR_RETURN(auto rows, connection_.Prepare(sql));
    if (filter.entity) rows.Bind(1, *filter.entity);
    if (filter.resource) rows.Bind(2, *filter.resource);
    Result<bool> row = true;
    while ((row = rows.Step()) && *row) {
      const BucketKey key{std::string(rows.Text(0)), std::string(rows.Text(1)),
                          static_cast<std::uint32_t>(rows.Integer(2))};
      if (!index_.Contains(BucketKeyView::Of(key))) AddOne(key, rows.Text(3), rows.Text(4));
    }
    if (!row) return Fail(std::move(row.error()));
    return {};
  }

 private:
  bool Selects(std::string_view entity, std::string_view resource) const {
    const UsageFilter& filter = pending_.filter();
    return (!filter.entity || *filter.entity == entity) &&
           (!filter.resource || *filter.resource == resource);
  }

  void AddOne(const BucketKey& key, std::string_view limits, std::string_view text) {
    BucketRecord record;
    if (text.empty() || !reader_.ReadLimits(limits, record)) return;
    const Result<BucketUse> use = reader_.ReadUse(text, record.names.size());
    if (!use) return;
    std::vector<Limit> named;
    named.reserve(record.names.size());
    for (std::string& name : record.names) named.push_back({std::move(name), {}});
    pending_.Add(key, HoursOf(*use, named));
  }

  sqlite::Connection& connection_;
  PendingUsage& pending_;
  BucketReader reader_;
  ChangeIndex index_;
};

}  // namespace

Status AddStoredUse(sqlite::Connection& connection, PendingUsage& pending) {
  UseLoader loader(connection, pending);
  WEIR_RETURN_IF_ERROR(loader.AddChanges());
  return loader.AddRows();
}

}  // namespace weir
