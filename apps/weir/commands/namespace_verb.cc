// weir namespace register|list|show|delete|recover|orphans|purge.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/confirm.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"
#include "weir/model/namespace_name.h"
#include "weir/model/quoted.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

// A purge may take this long.
constexpr std::chrono::hours kPurgeWait{24};

struct NamespaceOptions {
  std::vector<std::string> names;
  std::string name;
  std::string id;
  bool yes = false;
};

Json ToJson(const Namespace& space) {
  Json json = {{"namespace", space.name},
               {"id", space.id},
               {"status", Name(space.status)},
               {"created_at", FormatTime(space.created_at)}};
  if (space.deleted_at) json["deleted_at"] = FormatTime(*space.deleted_at);
  return json;
}

// The call of one verb.
struct NamespaceRequest {
  const NamespaceOptions& options;
  Context& context;
  NamespaceStore& spaces;
};

Result<Exit> RegisterNamespaces(const NamespaceRequest& call) {
  Json json = {{"namespaces", Json::array()}};
  std::string text;
  for (const std::string& name : call.options.names) {
    const auto space = Await<Namespace>([&](auto done) {
      call.spaces.Register(name, call.context.StoreDeadline(), std::move(done));
    });
    if (!space && json["namespaces"].empty()) return Fail(space.error());
    if (!space) {
      return Fail(space.error().code,
                  fmt::format("{}; the {} before it are registered", space.error().message,
                              json["namespaces"].size()));
    }
    json["namespaces"].push_back(ToJson(*space));
    text += fmt::format("{}: {}\n", space->name, space->id);
  }
  call.context.WriteResult(json, text);
  return Exit::kDone;
}

Result<Exit> ShowNamespace(const NamespaceRequest& call) {
  WEIR_ASSIGN_OR_RETURN(const auto found, Await<std::optional<Namespace>>([&](auto done) {
                          call.spaces.Get(call.options.name, call.context.StoreDeadline(),
                                          std::move(done));
                        }));
  if (!found) {
    return Fail(
        Code::kNotFound,
        fmt::format(
            "namespace {} is not registered (run 'weir namespace list' to see all namespaces)",
            call.options.name));
  }
  call.context.WriteResult(
      ToJson(*found),
      fmt::format("namespace  {}\nid         {}\nstatus     {}\ncreated    {}\n", found->name,
                  found->id, Name(found->status), FormatTime(found->created_at)));
  return Exit::kDone;
}

using Lister = void (NamespaceStore::*)(const PageRequest&, Deadline, Done<Page<Namespace>>);

Result<std::vector<Namespace>> ReadAll(const NamespaceRequest& call, Lister list) {
  std::vector<Namespace> all;
  PageRequest request;
  do {
    WEIR_ASSIGN_OR_RETURN(const Page<Namespace> page, Await<Page<Namespace>>([&](auto done) {
                            (call.spaces.*list)(request, call.context.StoreDeadline(),
                                                std::move(done));
                          }));
    all.insert(all.end(), page.items.begin(), page.items.end());
    std::vector<std::string>& left_out = call.context.left_out();
    left_out.insert(left_out.end(), page.unreadable.begin(), page.unreadable.end());
    request.cursor = page.next;
  } while (!request.cursor.empty());
  return all;
}

Json ToJson(const std::vector<Namespace>& spaces) {
  Json json = {{"namespaces", Json::array()}};
  for (const Namespace& space : spaces) json["namespaces"].push_back(ToJson(space));
  return json;
}

Result<Exit> PrintNamespaces(const NamespaceRequest& call) {
  WEIR_ASSIGN_OR_RETURN(const auto spaces, ReadAll(call, &NamespaceStore::List));
  Table table({"namespace", "id", "created"});
  for (const Namespace& space : spaces) {
    table.Row({space.name, space.id, FormatTime(space.created_at)});
  }
  call.context.WriteResult(ToJson(spaces), table.empty() ? "no namespaces\n" : table.Text());
  return Exit::kDone;
}

Result<Exit> PrintOrphans(const NamespaceRequest& call) {
  WEIR_ASSIGN_OR_RETURN(const auto spaces, ReadAll(call, &NamespaceStore::Orphans));
  Table table({"id", "namespace", "status", "deleted"});
  for (const Namespace& space : spaces) {
    table.Row({space.id, space.name, std::string(Name(space.status)),
               space.deleted_at ? FormatTime(*space.deleted_at) : "-"});
  }
  call.context.WriteResult(ToJson(spaces), table.empty() ? "no orphans\n" : table.Text());
  return Exit::kDone;
}

Result<Exit> DeleteNamespace(const NamespaceRequest& call) {
  WEIR_ASSIGN_OR_RETURN(const Namespace space, Await<Namespace>([&](auto done) {
                          call.spaces.Delete(call.options.name, call.context.StoreDeadline(),
                                             std::move(done));
                        }));
  call.context.WriteResult(
      ToJson(space),
      fmt::format("deleted namespace {}; its data stay under the id {}\n", space.name, space.id));
  return Exit::kDone;
}

Result<Exit> RecoverNamespace(const NamespaceRequest& call) {
  WEIR_ASSIGN_OR_RETURN(const Namespace space, Await<Namespace>([&](auto done) {
                          call.spaces.Recover(call.options.id, call.context.StoreDeadline(),
                                              std::move(done));
                        }));
  call.context.WriteResult(ToJson(space), fmt::format("recovered namespace {}\n", space.name));
  return Exit::kDone;
}

/// Returns the namespace that a purge would delete. Fails like a purge if there is none.
Result<Namespace> FindOrphan(const NamespaceRequest& call) {
  const std::string& id = call.options.id;
  WEIR_ASSIGN_OR_RETURN(const auto orphans, ReadAll(call, &NamespaceStore::Orphans));
  const auto orphan = std::ranges::find(orphans, id, &Namespace::id);
  if (orphan != orphans.end()) return *orphan;
  WEIR_ASSIGN_OR_RETURN(const auto registered, ReadAll(call, &NamespaceStore::List));
  const auto active = std::ranges::find(registered, id, &Namespace::id);
  return active == registered.end() ? UnknownNamespaceId(id) : NotYetDeleted(*active);
}

Status ConfirmPurge(const NamespaceRequest& call) {
  if (call.options.yes) return {};
  WEIR_ASSIGN_OR_RETURN(const Namespace space, FindOrphan(call));
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, call.context.Store());
  return NeedsYes(call.context, fmt::format("deletes all data of namespace {} ({}) for good, in {}",
                                            space.id, Quoted(space.name), choice.url));
}

Result<Exit> PurgeNamespace(const NamespaceRequest& call) {
  WEIR_RETURN_IF_ERROR(ConfirmPurge(call));
  const std::string& id = call.options.id;
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t items, Await<std::uint64_t>([&](auto done) {
                          call.spaces.Purge(id, call.context.StoreDeadline(kPurgeWait),
                                            std::move(done));
                        }));
  call.context.WriteResult({{"purged", id}, {"items", items}},
                           fmt::format("purged {}: {} items\n", id, items));
  return Exit::kDone;
}

// The parent of the verbs.
struct Verbs {
  CLI::App& group;
  Action& chosen;
  const WithTable& with_table;
};
struct NamespaceVerb {
  std::string name;
  std::string description;
  Result<Exit> (*run)(const NamespaceRequest&);
  Access access = Access::kRead;
};

CLI::App& AddNamespaceVerb(const Verbs& verbs, const NamespaceVerb& verb,
                           const std::shared_ptr<NamespaceOptions>& options) {
  return AddVerb(verbs.group, verb.name, verb.description, options, verbs.chosen,
                 [run = verb.run, access = verb.access, with_table = verbs.with_table](
                     const NamespaceOptions& given, Context& context) {
                   return OnNamespaces(context, with_table, access, [&](NamespaceStore& spaces) {
                     return run({given, context, spaces});
                   });
                 });
}

void AddOnName(const Verbs& verbs, const NamespaceVerb& verb) {
  auto options = std::make_shared<NamespaceOptions>();
  AddParsed(AddNamespaceVerb(verbs, verb, options), "NAME", options->name, Checked(CheckNamespace),
            "the name of the namespace")
      ->required()
      ->option_text(" ");
}

CLI::App& AddOnId(const Verbs& verbs, const NamespaceVerb& verb,
                  const std::shared_ptr<NamespaceOptions>& options) {
  CLI::App& app = AddNamespaceVerb(verbs, verb, options);
  AddParsed(app, "ID", options->id, Checked(CheckNamespaceId),
            "the ID of the namespace, as listed by 'weir namespace orphans'")
      ->required()
      ->option_text(" ");
  return app;
}

Result<std::vector<std::string>> ParseNamespaceNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) WEIR_RETURN_IF_ERROR(CheckNamespace(name));
  return names;
}

void AddRegister(const Verbs& verbs) {
  auto options = std::make_shared<NamespaceOptions>();
  CLI::App& app = AddNamespaceVerb(
      verbs,
      {"register", "Register namespaces; namespaces that are registered already stay",
       RegisterNamespaces, Access::kWrite},
      options);
  AddParsedList(app, "NAME", options->names, ParseNamespaceNames, "the names of the namespaces")
      ->required()
      ->option_text("...");
}

}  // namespace

void AddNamespace(CLI::App& app, Action& chosen, const WithTable& with_table) {
  CLI::App& group = AddGroup(app, "namespace", "The separate tenants of a table or a file");
  const Verbs verbs{group, chosen, with_table};
  AddRegister(verbs);
  AddNamespaceVerb(verbs, {"list", "List the registered namespaces", PrintNamespaces},
                   std::make_shared<NamespaceOptions>());
  AddOnName(verbs, {"show", "Show a namespace", ShowNamespace});
  AddOnName(verbs, {"delete", "Delete a namespace; its data stay, and can be recovered",
                    DeleteNamespace, Access::kWrite});
  AddOnId(verbs,
          {"recover", "Register a deleted namespace again under its name", RecoverNamespace,
           Access::kWrite},
          std::make_shared<NamespaceOptions>());
  AddNamespaceVerb(
      verbs, {"orphans", "List the namespaces that are deleted or partly purged", PrintOrphans},
      std::make_shared<NamespaceOptions>());
  auto options = std::make_shared<NamespaceOptions>();
  AddOnId(verbs,
          {"purge", "Permanently delete the data of a deleted namespace", PurgeNamespace,
           Access::kWrite},
          options)
      .add_flag("--yes", options->yes, "purge without asking");
}

}  // namespace weir::app
