// The imports of envoyproxy/ratelimit and limitador, both on each input: the rules are a valid
// rules file, every limit is a rule or has a note, and notes are visible lines. An error begins
// with the name and a line of the file and ends with a remedy.
#include <string>

#include "fuzz/require_file_refusal.h"
#include "weir/rules/import/envoy_ratelimit.h"
#include "weir/rules/import/limitador.h"
#include "weir/rules/rules_file.h"
#include "weir/rules/rules_file_text.h"

namespace weir {
namespace {

constexpr std::string_view kName = "f.yaml";
/// Aliases make a file longer when it is written.
constexpr std::size_t kLongestText = std::size_t{1} << 20;

void CheckNotes(const rules::ImportedRules& imported) {
  Require(imported.notes.size() <= rules::kMaxImportNotes, "notes are bounded");
  for (const rules::ImportNote& note : imported.notes) {
    Require(note.line >= 1 && !note.what.empty(), "a note says something");
    RequireVisible(note.what, "a note is one visible line");
  }
}

void CheckImport(std::string_view text, const Result<rules::ImportedRules>& imported) {
  if (!imported) return RequireFileRefusal(text, kName, imported.error());
  CheckNotes(*imported);
  std::size_t limits = 0;
  for (const rules::Rule& rule : imported->rules) limits += rule.limits.size();
  Require(limits + imported->limits_left_out <= imported->limits, "no limit is invented");
  const std::string made = rules::FormatRules(imported->rules);
  if (made.size() > kLongestText) return;
  const auto set = rules::ParseRules(made, "made");
  Require(set.has_value(), set ? "" : set.error().message);
  Require(set->rules().size() == imported->rules.size(), "no rule is lost");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  weir::CheckImport(text, weir::rules::ImportEnvoyRatelimit(text, weir::kName));
  weir::CheckImport(text, weir::rules::ImportLimitador(text, weir::kName));
  return 0;
}
