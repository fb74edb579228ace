#include "weir/model/limits_file.h"

#include <fmt/format.h>

#include <array>

#include "weir/model/identifier.h"
#include "weir/model/parents.h"
#include "weir/model/yaml_checks.h"
#include "weir/model/yaml_limits.h"
#include "weir/model/yaml_tree.h"

namespace weir {
namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 4> kFileKeys = {"namespace", "system", "resources",
                                                       "entities"};
constexpr std::array<std::string_view, 2> kSystemKeys = {"on_unavailable", "limits"};
constexpr std::array<std::string_view, 1> kResourceKeys = {"limits"};
constexpr std::array<std::string_view, 3> kEntityKeys = {"parent", "cascade", "resources"};

constexpr std::array<std::string_view, 2> kPolicies = {"allow", "block"};
constexpr std::array<std::string_view, 2> kTruths = {"true", "false"};

/// Converts the tree into a LimitsFile. `where` and `owner` name the current part in error
/// messages.
class Reader {
 public:
  explicit Reader(std::string_view file_name) : checks_(file_name), limits_(file_name) {}

  Result<LimitsFile> ReadFile(const YamlNode& root);

 private:
  using Resources = std::map<std::string, std::vector<Limit>>;

  Status ReadSystem(const YamlNode& node, LimitsFile& file);
  /// Reads the resources of the entity `owner`, or those of the namespace if `owner` is empty.
  Result<Resources> ResourceMap(const YamlNode& node, const std::string& owner);
  Status ReadEntities(const YamlNode& node, LimitsFile& file);
  Result<EntityDeclaration> ReadEntity(const YamlNode& node, const std::string& where);
  /// Checks all parents together. The error has the line of the parent that is wrong.
  Status CheckParents(const LimitsFile& file, const YamlNode& entities) const;

  YamlChecks checks_;
  YamlLimits limits_;
};

Result<LimitsFile> Reader::ReadFile(const YamlNode& root) {
  LimitsFile file;
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(root, "the file", kFileKeys));
  const YamlEntry* name = Find(root, "namespace");
  if (name == nullptr) return checks_.Refuse(root.line, "no namespace", "'namespace: NAME'");
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, *name->value, "namespace", "a name"));
  WEIR_RETURN_IF_ERROR(checks_.CheckName(*name->value, CheckNamespace));
  file.namespace_name = name->value->text;

  if (const YamlEntry* system = Find(root, "system")) {
    WEIR_RETURN_IF_ERROR(ReadSystem(*system->value, file));
  }
  if (const YamlEntry* resources = Find(root, "resources")) {
    WEIR_ASSIGN_OR_RETURN(file.resources, ResourceMap(*resources->value, ""));
  }
  if (const YamlEntry* entities = Find(root, "entities")) {
    WEIR_RETURN_IF_ERROR(ReadEntities(*entities->value, file));
    WEIR_RETURN_IF_ERROR(CheckParents(file, *entities->value));
  }
  return file;
}

Status Reader::ReadSystem(const YamlNode& node, LimitsFile& file) {
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(node, "system", kSystemKeys));
  if (node.entries.empty()) {
    return checks_.Refuse(node.line, "system is empty", "limits, or no system");
  }
  if (const YamlEntry* policy = Find(node, "on_unavailable")) {
    const YamlNode& value = *policy->value;
    WEIR_RETURN_IF_ERROR(checks_.ExpectWord(value, "on_unavailable", kPolicies));
    file.on_unavailable = value.text == "allow" ? OnUnavailable::kAllow : OnUnavailable::kBlock;
  }
  if (const YamlEntry* limits = Find(node, "limits")) {
    WEIR_ASSIGN_OR_RETURN(file.system, limits_.Read(*limits->value, "system"));
  }
  return {};
}

Result<Reader::Resources> Reader::ResourceMap(const YamlNode& node, const std::string& owner) {
  const std::string prefix = owner.empty() ? "" : owner + ", ";
  WEIR_RETURN_IF_ERROR(
      checks_.Expect(Kind::kMapping, node, prefix + "resources", "a mapping of names to limits"));
  Resources resources;
  for (const YamlEntry& entry : node.entries) {
    const std::string& name = entry.key->text;
    const bool is_default = !owner.empty() && name == kDefaultResource;
    if (!is_default) WEIR_RETURN_IF_ERROR(checks_.CheckName(*entry.key, CheckResource));
    const std::string where = fmt::format("{}resource '{}'", prefix, name);
    WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(*entry.value, where, kResourceKeys));
    const YamlEntry* limits = Find(*entry.value, "limits");
    if (limits == nullptr) {
      return checks_.Refuse(entry.key->line, fmt::format("{} has no limits", where),
                            kYamlLimitsExample);
    }
    WEIR_ASSIGN_OR_RETURN(resources[name], limits_.Read(*limits->value, where));
  }
  return resources;
}

Status Reader::ReadEntities(const YamlNode& node, LimitsFile& file) {
  WEIR_RETURN_IF_ERROR(
      checks_.Expect(Kind::kMapping, node, "entities", "a mapping of ids to entities"));
  for (const YamlEntry& entry : node.entries) {
    WEIR_RETURN_IF_ERROR(checks_.CheckName(*entry.key, CheckEntityId));
    const std::string& id = entry.key->text;
    WEIR_ASSIGN_OR_RETURN(file.entities[id],
                          ReadEntity(*entry.value, fmt::format("entity '{}'", id)));
  }
  return {};
}

Result<EntityDeclaration> Reader::ReadEntity(const YamlNode& node, const std::string& where) {
  EntityDeclaration entity;
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(node, where, kEntityKeys));
  if (const YamlEntry* parent = Find(node, "parent")) {
    WEIR_RETURN_IF_ERROR(
        checks_.Expect(Kind::kScalar, *parent->value, "parent of " + where, "the id of an entity"));
    WEIR_RETURN_IF_ERROR(checks_.CheckName(*parent->value, CheckEntityId));
    entity.parent = parent->value->text;
  }
  if (const YamlEntry* cascade = Find(node, "cascade")) {
    const YamlNode& value = *cascade->value;
    WEIR_RETURN_IF_ERROR(checks_.ExpectWord(value, "cascade of " + where, kTruths));
    entity.cascade = value.text == "true";
    if (entity.cascade && !entity.parent) {
      return checks_.Refuse(value.line, where + " cascades and has no parent",
                            "'parent: ID' next to it");
    }
  }
  if (const YamlEntry* resources = Find(node, "resources")) {
    WEIR_ASSIGN_OR_RETURN(entity.resources, ResourceMap(*resources->value, where));
  }
  return entity;
}

Status Reader::CheckParents(const LimitsFile& file, const YamlNode& entities) const {
  const auto fault = FindParentFault(file.entities);
  if (!fault) return {};
  const YamlEntry* entity = Find(entities, fault->entity);
  const YamlEntry* parent = Find(*entity->value, "parent");
  return checks_.At(*parent->value, {Code::kInvalidArgument, fault->message});
}

}  // namespace

Result<LimitsFile> ParseLimitsFile(std::string_view text, std::string_view file_name) {
  WEIR_ASSIGN_OR_RETURN(const YamlTree tree, ParseYaml(text, file_name));
  if (tree.root == nullptr) {
    return YamlChecks(file_name).Refuse(1, "the file is empty", "at least 'namespace: NAME'");
  }
  return Reader(file_name).ReadFile(*tree.root);
}

}  // namespace weir
