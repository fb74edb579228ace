// weir store: checks the files of a store, copies them, and repairs them.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/backends/open.h"
#include "weir/embedded/file/file_backup.h"
#include "weir/embedded/file/file_check.h"
#include "weir/embedded/file/file_repair.h"
#include "weir/embedded/file/store_files.h"

namespace weir::app {
namespace {

struct StoreVerbOptions {
  std::string to;
};

struct StoreCall {
  const StoreVerbOptions& options;
  Context& context;
  std::string path;  ///< of the store; the names of its files begin with it
  bool read_only;    ///< the URL says mode=ro
  std::vector<StoreFile> files;

  const Clock& clock() const { return context.process().clock; }
};

Result<FileUrl> FileOf(const StoreChoice& choice) {
  if (choice.url.starts_with("sqlite:")) return ParseFileUrl(choice.url);
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a file; write --store sqlite:PATH", choice.url));
}

Result<StoreCall> MakeStoreCall(const StoreVerbOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
  const Result<FileUrl> parsed = FileOf(choice);
  if (!parsed) {
    context.failure = Exit::kUsage;
    return Fail(parsed.error());
  }
  const FileUrl& file = *parsed;
  StoreCall call{.options = options,
                 .context = context,
                 .path = file.path,
                 .read_only = file.read_only,
                 .files = {}};
  WEIR_ASSIGN_OR_RETURN(call.files, FilesOf(file.path, file.namespace_name));
  if (!file.namespace_name.empty()) call.path = call.files.front().path;
  return call;
}

Json TablesJson(const FileCheck& check) {
  Json tables = Json::object();
  for (const auto& [table, rows] : check.rows) {
    tables[table] = Json{{"rows", rows}, {"damaged", check.damage.count(table)}};
  }
  return tables;
}

Json DamageJson(const DamageReport& damage) {
  Json first = Json::array();
  for (const std::string& message : damage.first()) first.push_back(message);
  return {{"count", damage.count()}, {"first", std::move(first)}};
}

void AppendDamage(const DamageReport& damage, std::string& text) {
  for (const std::string& message : damage.first()) text += fmt::format("  {}\n", message);
  const std::size_t more = damage.count() - damage.first().size();
  if (more > 0) text += fmt::format("  and {} more\n", more);
}

void AppendCheck(const StoreFile& file, const FileCheck& check, std::string& text) {
  std::uint64_t rows = 0;
  for (const auto& [table, count] : check.rows) rows += count;
  text += check.sound() ? fmt::format("{}: sound, {} rows\n", file.path, rows)
                        : fmt::format("{}: damaged\n", file.path);
  if (!check.is_log_examined) {
    text += fmt::format("  its write-ahead log was not examined: {}\n", check.log_error);
  }
  AppendDamage(check.damage, text);
}

Result<Exit> CheckStore(const StoreCall& call) {
  Json json = {{"files", Json::array()}};
  std::string text;
  bool sound = true;
  for (const StoreFile& file : call.files) {
    WEIR_ASSIGN_OR_RETURN(const FileCheck check, CheckFile(file, call.clock().WallNow()));
    json["files"].push_back({{"file", file.path},
                             {"sound", check.sound()},
                             {"log_examined", check.is_log_examined},
                             {"tables", TablesJson(check)},
                             {"damage", DamageJson(check.damage)}});
    AppendCheck(file, check, text);
    sound = sound && check.sound();
  }
  call.context.WriteResult(json, text);
  if (sound) return Exit::kDone;
  call.context.Warn(fmt::format("sqlite:{} is damaged; {} saves the readable rows", call.path,
                                call.context.QuotedCommand("store repair")));
  return Exit::kFailed;
}

std::string CopyOf(const StoreFile& file, const StoreCall& call) {
  return call.options.to + file.path.substr(call.path.size());
}

// Returns kAlreadyExists if a file of the copy exists.
Status CheckFree(const StoreCall& call) {
  for (const StoreFile& file : call.files) {
    const std::string to = CopyOf(file, call);
    std::error_code problem;
    const auto type = std::filesystem::symlink_status(to, problem).type();
    if (type == std::filesystem::file_type::not_found) continue;
    if (type == std::filesystem::file_type::none) {
      return Fail(Code::kUnavailable,
                  fmt::format("{}: {}; nothing is copied", to, problem.message()));
    }
    return Fail(
        Code::kAlreadyExists,
        fmt::format("{} exists already; nothing is copied; give another name, or remove it", to));
  }
  return {};
}

// Copies all files. If a copy fails, removes the earlier ones: without all files they are no
// backup.
Status BackUpAll(const StoreCall& call) {
  WEIR_RETURN_IF_ERROR(CheckFree(call));
  for (std::size_t i = 0; i < call.files.size(); ++i) {
    Status copied = BackUpFile(call.files[i], CopyOf(call.files[i], call));
    if (copied) continue;
    bool removed = true;
    for (std::size_t made = 0; made < i; ++made) {
      std::error_code problem;
      std::filesystem::remove(CopyOf(call.files[made], call), problem);
      removed = removed && !problem;
    }
    copied.error().message += removed ? "; no copy is left" : "; remove the copies that are left";
    return copied;
  }
  return {};
}

Result<Exit> BackUpStore(const StoreCall& call) {
  WEIR_RETURN_IF_ERROR(BackUpAll(call));
  Json json = {{"files", Json::array()}};
  std::string text;
  for (const StoreFile& file : call.files) {
    const std::string to = CopyOf(file, call);
    json["files"].push_back({{"file", file.path}, {"copy", to}});
    text += fmt::format("{} -> {}\n", file.path, to);
  }
  call.context.WriteResult(json, text);
  return Exit::kDone;
}

Json RepairJson(const StoreFile& file, const FileRepair& repair) {
  const bool repaired = !repair.kept_as.empty();
  Json json = {
      {"file", file.path}, {"repaired", repaired}, {"completed_earlier", repair.completed_earlier}};
  if (!repaired) return json;
  json["kept_as"] = repair.kept_as;
  json["pages"] = repair.salvaged.scan.pages;
  json["unreadable_pages"] = repair.salvaged.scan.unreadable;
  json["lost_records"] = repair.salvaged.scan.lost_records + repair.salvaged.unknown;
  json["lacks_records"] = repair.lacks_records();
  json["emptied_buckets"] = repair.emptied_buckets;
  json["tables"] = TablesJson(repair.result);
  json["damage"] = DamageJson(repair.damage);
  return json;
}

void AppendRepair(const StoreFile& file, const FileRepair& repair, std::string& text) {
  if (repair.kept_as.empty()) {
    text += repair.completed_earlier
                ? fmt::format(
                      "{}: a repair that was cut off is completed; it kept the damaged file "
                      "next to this one\n",
                      file.path)
                : fmt::format("{}: sound, nothing is changed\n", file.path);
    return;
  }
  const Salvaged& salvaged = repair.salvaged;
  text += fmt::format("{}: repaired; the damaged file is kept as {}\n", file.path, repair.kept_as);
  for (const auto& [table, rows] : repair.result.rows) {
    const bool may_be_lost = table == "bucket" || table == "entity" || table == "level";
    if (rows > 0 || (may_be_lost && repair.lacks_records())) {
      text += fmt::format("  {} rows saved: {}\n", table, rows);
    }
  }
  const std::uint64_t lost_records = salvaged.scan.lost_records + salvaged.unknown;
  if (salvaged.scan.unreadable + lost_records > 0) {
    text += fmt::format("  lost {} of {} pages, and {} records on the others\n",
                        salvaged.scan.unreadable, salvaged.scan.pages, lost_records);
  }
  if (file.kind == StoreFile::Kind::kState && salvaged.scan.unreadable + lost_records > 0) {
    text +=
        "  lost limits do not apply; a lost bucket begins full if the file has no usage of it\n";
  }
  if (file.kind == StoreFile::Kind::kReservations && salvaged.scan.unreadable + lost_records > 0) {
    text +=
        "  lost slots are free; the tokens of a lost account without a limit of its own begin "
        "full\n";
  }
  AppendDamage(repair.damage, text);
  if (!salvaged.scan.free_pages_known) {
    text += "  the list of free pages is lost: rows that were deleted may be there again\n";
  }
  if (repair.emptied_buckets > 0) {
    text += fmt::format(
        "  buckets that begin without tokens, because changes of them may be lost: {}\n",
        repair.emptied_buckets);
  }
}

Result<Exit> RepairStore(const StoreCall& call) {
  if (call.read_only) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("sqlite:{}: the URL says mode=ro, and a repair writes", call.path));
  }
  Json json = {{"files", Json::array()}};
  std::string text;
  bool lacks_records = false;
  for (const StoreFile& file : call.files) {
    const auto repair = RepairFile(
        file, {.clock = call.clock(), .lock_wait = {.longest = call.context.common().lock_wait}});
    if (!repair) {
      // The files before it are repaired already: their losses are reported only here.
      if (!text.empty()) call.context.WriteResult(json, text);
      return Fail(repair.error());
    }
    json["files"].push_back(RepairJson(file, *repair));
    AppendRepair(file, *repair, text);
    lacks_records = lacks_records || repair->lacks_records();
  }
  call.context.WriteResult(json, text);
  if (!lacks_records) return Exit::kDone;
  call.context.Warn(fmt::format(
      "sqlite:{} is repaired, but lacks damaged records; where limits are missing, looser ones "
      "apply: {} compares the store with a limits file",
      call.path, call.context.QuotedCommand("limits plan")));
  return Exit::kFailed;
}

using RunOnStore = Result<Exit> (*)(const StoreCall&);

CLI::App& AddStoreVerb(CLI::App& group, Action& chosen, const std::string& name,
                       const std::string& description,
                       const std::shared_ptr<StoreVerbOptions>& options, RunOnStore run) {
  return AddVerb(group, name, description, options, chosen,
                 [run](const StoreVerbOptions& given, Context& context) -> Result<Exit> {
                   WEIR_ASSIGN_OR_RETURN(const StoreCall call, MakeStoreCall(given, context));
                   return run(call);
                 });
}

}  // namespace

void AddStore(CLI::App& app, Action& chosen) {
  CLI::App& group = AddGroup(app, "store", "The files of a store: check, copy, repair");
  AddStoreVerb(group, chosen, "check",
               "Read every page and row; the exit code is 1 if something is damaged",
               std::make_shared<StoreVerbOptions>(), CheckStore);
  auto options = std::make_shared<StoreVerbOptions>();
  AddStoreVerb(group, chosen, "backup", "Copy the files, also while a process uses them", options,
               BackUpStore)
      .add_option("--to", options->to, "the file of the copy, which must not exist")
      ->required()
      ->option_text("FILE");
  AddStoreVerb(group, chosen, "repair",
               "Save the readable rows into new files; the damaged files are kept",
               std::make_shared<StoreVerbOptions>(), RepairStore);
}

}  // namespace weir::app
