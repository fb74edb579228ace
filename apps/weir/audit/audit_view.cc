#include "apps/weir/audit/audit_view.h"

#include <fmt/format.h>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

Json PartsJson(const AuditDetail::Parts& parts);

struct DetailToJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(bool flag) const { return flag; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(const AuditDetail::List& list) const {
    Json json = Json::array();
    for (const AuditDetail& detail : list) json.push_back(std::visit(*this, detail.value));
    return json;
  }
  Json operator()(const AuditDetail::Parts& parts) const { return PartsJson(parts); }
};

Json PartsJson(const AuditDetail::Parts& parts) {
  Json json = Json::object();
  for (const auto& [name, part] : parts) json[name] = std::visit(DetailToJson{}, part.value);
  return json;
}

}  // namespace

Json ToJson(const AuditEvent& event) {
  return {{"id", event.id},
          {"at", FormatTime(event.at)},
          {"subject", event.subject},
          {"action", event.action},
          {"principal", event.principal ? Json(*event.principal) : Json()},
          {"resource", event.resource ? Json(*event.resource) : Json()},
          {"details", PartsJson(event.details)}};
}

std::string TextOf(const Page<AuditEvent>& page) {
  if (page.items.empty()) return "no events\n";
  Table table({"time", "action", "by", "resource", "details"});
  for (const AuditEvent& event : page.items) {
    table.Row({FormatTime(event.at), event.action, event.principal.value_or("-"),
               event.resource.value_or("-"),
               PartsJson(event.details).dump(-1, ' ', false, Json::error_handler_t::replace)});
  }
  std::string text = table.Text();
  if (!page.next.empty()) text += fmt::format("older events: --after {}\n", page.next);
  return text;
}

}  // namespace weir::app
