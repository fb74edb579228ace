#include "apps/weir/entity_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

std::string ResourceOf(const LevelRecord& level) {
  return level.level.resource.empty() ? std::string(kDefaultResource) : level.level.resource;
}

bool IsSelected(const EntityView& view, const EntityListOptions& options) {
  if (!options.after.empty() && view.id <= options.after) return false;
  if (options.parent && (!view.record || view.record->entity.parent != options.parent)) {
    return false;
  }
  if (options.limits_on &&
      std::ranges::find(view.levels, *options.limits_on, ResourceOf) == view.levels.end()) {
    return false;
  }
  const bool has_name = view.record && view.record->entity.name.starts_with(options.prefix);
  return has_name || view.id.starts_with(options.prefix);
}

std::vector<std::string> RowOf(const EntityView& view) {
  std::vector<std::string> resources;
  resources.reserve(view.levels.size());
  for (const LevelRecord& level : view.levels) resources.push_back(ResourceOf(level));
  const std::optional<EntityRecord>& record = view.record;
  return {view.id, record ? record->entity.parent.value_or("-") : "-",
          record && record->entity.cascade ? "yes" : "no",
          resources.empty() ? "-" : fmt::format("{}", fmt::join(resources, ","))};
}

}  // namespace

std::vector<EntityView> ViewsOf(const Declared& declared) {
  std::map<std::string, EntityView> views;
  for (const auto& [id, record] : declared.entities) views[id].record = record;
  for (const auto& [level, limits] : declared.levels) {
    if (!level.entity.empty()) views[level.entity].levels.push_back({level, limits});
  }
  std::vector<EntityView> ordered;
  for (auto& [id, view] : views) {
    view.id = id;
    ordered.push_back(std::move(view));
  }
  return ordered;
}

std::map<std::string, std::size_t> EntitiesByResource(const std::vector<LevelRecord>& levels) {
  std::map<std::string, std::size_t> entities;
  for (const LevelRecord& level : levels) {
    if (!level.level.entity.empty()) ++entities[ResourceOf(level)];
  }
  return entities;
}

EntityPage PageOf(const std::vector<EntityView>& views, const EntityListOptions& options) {
  EntityPage page;
  for (const EntityView& view : views) {
    if (!IsSelected(view, options)) continue;
    if (page.entities.size() == options.count) {
      page.next = page.entities.back().id;
      break;
    }
    page.entities.push_back(view);
  }
  return page;
}

Json ToJson(const EntityView& view) {
  Json json = view.record ? app::ToJson(*view.record) : Json{{"entity", view.id}};
  json["limits"] = Json::array();
  for (const LevelRecord& level : view.levels) json["limits"].push_back(app::ToJson(level));
  return json;
}

std::string TextOf(const EntityView& view) {
  std::string text = fmt::format("entity    {}\n", view.id);
  if (view.record) {
    const Entity& entity = view.record->entity;
    text += fmt::format("name      {}\nparent    {}\ncascade   {}\ncreated   {}\n",
                        OneLine(entity.name), entity.parent.value_or("-"),
                        entity.cascade ? "yes" : "no", FormatTime(entity.created_at));
    for (const auto& [key, value] : entity.metadata) {
      text += fmt::format("metadata  {}={}\n", OneLine(key), OneLine(value));
    }
  }
  for (const LevelRecord& level : view.levels) {
    text += fmt::format("limits    {}: {}\n", ResourceOf(level), FormatLimits(level.limits.limits));
  }
  return text;
}

Json ToJson(const EntityPage& page) {
  Json json = {{"entities", Json::array()}};
  for (const EntityView& view : page.entities) json["entities"].push_back(ToJson(view));
  if (!page.next.empty()) json["next"] = page.next;
  return json;
}

std::string TextOf(const EntityPage& page) {
  if (page.entities.empty()) return "no entities\n";
  Table table({"entity", "parent", "cascade", "limits on"});
  for (const EntityView& view : page.entities) table.Row(RowOf(view));
  const std::string more = page.next.empty() ? "" : fmt::format("more: --after {}\n", page.next);
  return table.Text() + more;
}

}  // namespace weir::app
