#include "weir/zae_table/config/entity_levels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weir/zae_table/config/config_cursor.h"
#include "weir/zae_table/config/config_item.h"
#include "weir/zae_table/config/config_listing.h"

namespace weir::dynamo {
namespace {

Page<LevelRecord> LevelsAmong(const std::vector<Item>& items, const Keys& keys,
                              const EntityLevelsPage& wanted) {
  Page<LevelRecord> page;
  for (const Item& item : items) {
    auto record = ReadLevelRecord(keys, item);
    if (!record) {
      page.unreadable.push_back(std::move(record.error().message));
      continue;
    }
    if (!*record || !wanted.filter.Matches((*record)->level)) continue;
    if (wanted.after && (*record)->level <= *wanted.after) continue;
    page.items.push_back(**std::move(record));
  }
  std::ranges::sort(page.items, {}, &LevelRecord::level);
  if (page.items.size() <= wanted.limit) return page;
  page.items.resize(wanted.limit);
  page.next = CursorOf(page.items.back().level);
  return page;
}

}  // namespace

void ListLevelsOfEntity(Table& table, const Keys& keys, EntityLevelsPage page, Deadline deadline,
                        Done<Page<LevelRecord>> done) {
  const QueryRequest query{.partition = keys.EntityPartition(*page.filter.entity),
                           .sort_prefix = std::string(kConfigSort)};
  table.QueryAll(query, kMaxConfigs, deadline,
                 [keys, page = std::move(page),
                  done = std::move(done)](Result<std::vector<Item>> items) mutable {
                   if (!items) return done(Fail(std::move(items.error())));
                   done(LevelsAmong(*items, keys, page));
                 });
}

}  // namespace weir::dynamo
