// weir limits import: limits of another rate limit service, as a rules file.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <string>

#include "apps/weir/commands/rules/rules_verbs.h"
#include "apps/weir/commands/rules/rules_view.h"
#include "apps/weir/files.h"
#include "apps/weir/options.h"
#include "weir/model/yaml_source.h"
#include "weir/rules/import/envoy_ratelimit.h"
#include "weir/rules/import/limitador.h"
#include "weir/rules/rules_file.h"
#include "weir/rules/rules_file_text.h"

namespace weir::app {
namespace {

using Import = Result<rules::ImportedRules> (*)(std::string_view text, std::string_view file_name);

struct ImportOptions {
  Import import = nullptr;
  std::string file;
  std::string output{kStandardStream};
  bool force = false;
};

Result<Import> ParseImport(const std::string& text) {
  if (text == "envoy-ratelimit") return rules::ImportEnvoyRatelimit;
  if (text == "limitador") return rules::ImportLimitador;
  return Fail(
      Code::kInvalidArgument,
      fmt::format("there is no import from '{}': write envoy-ratelimit or limitador", text));
}

/// Prints everything that the rules leave out or change.
void PrintReport(const rules::ImportedRules& imported, const std::string& file, std::ostream& err) {
  for (const auto& [line, is_left_out, what] : imported.notes) {
    err << fmt::format("weir: {}:{}: {}{}\n", file, line, is_left_out ? "left out: " : "", what);
  }
  if (imported.notes_away > 0) err << fmt::format("weir: and {} more\n", imported.notes_away);
  err << fmt::format("weir: {}: limits {}, rules {}, left out {}", file, imported.limits,
                     imported.rules.size(), imported.limits_left_out);
  if (imported.parts_left_out > 0) {
    err << fmt::format("; other parts left out {}", imported.parts_left_out);
  }
  err << '\n';
  if (imported.rules.empty()) return;
  err << "weir: a limit is now a bucket and not a window: 100/min admits up to 200 in its first "
         "minute, the capacity and the refill\n";
}

/// Returns the rules as text that `rules check` accepts.
Result<std::string> ImportedText(const rules::ImportedRules& imported) {
  std::string text = rules::FormatRules(imported.rules);
  const auto set = rules::ParseRules(text, "the imported rules");
  if (!set) return Fail(set.error());
  return text;
}

/// Fails if the rules would replace the file that they are made from or, without --force, another
/// file.
Status CheckOutput(const ImportOptions& options, Context& context) {
  if (IsInputFile(options.output, options.file, context.process())) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument,
                fmt::format("--output: {} is the file that the import reads; name another file",
                            options.output));
  }
  return options.force ? Status() : CheckNew(options.output);
}

Result<Exit> ImportLimits(const ImportOptions& options, Context& context) {
  const bool to_file = options.output != kStandardStream;
  if (to_file) WEIR_RETURN_IF_ERROR(CheckOutput(options, context));
  WEIR_ASSIGN_OR_RETURN(const std::string text,
                        ReadFileOrInput(options.file, context.process(), kMaxYamlBytes));
  const std::string name = NameOfInput(options.file);
  WEIR_ASSIGN_OR_RETURN(const rules::ImportedRules imported, options.import(text, name));
  WEIR_ASSIGN_OR_RETURN(const std::string made, ImportedText(imported));
  if (to_file) WEIR_RETURN_IF_ERROR(WriteFile(options.output, made));
  PrintReport(imported, name, context.process().err);
  context.WriteResult(app::ToJson(imported), to_file ? "wrote " + options.output : made);
  const bool is_whole = imported.limits_left_out == 0 && imported.parts_left_out == 0;
  return is_whole ? Exit::kDone : Exit::kPending;
}

}  // namespace

void AddLimitsImport(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App& verb = AddVerb(group, "import", "Make a rules file from the limits of another service",
                           options, chosen, ImportLimits);
  AddParsed(verb, "--from", options->import, ParseImport,
            "the service: envoy-ratelimit (envoyproxy/ratelimit) or limitador (Kuadrant)")
      ->required()
      ->option_text("envoy-ratelimit|limitador");
  verb.add_option("FILE,-f,--file", options->file,
                  "the file of that service (YAML), - for standard input")
      ->required()
      ->option_text(" ");
  verb.add_option("-o,--output", options->output,
                  "the rules file to create (default: -, standard output)")
      ->option_text("FILE");
  verb.add_flag("--force", options->force, "overwrite the file if it exists");
  verb.footer("Exit codes: 0 done, 1 failed, 2 bad usage, 4 done, and a part is left out.");
}

}  // namespace weir::app
