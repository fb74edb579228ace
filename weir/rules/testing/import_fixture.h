// What an import makes of a file, as texts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/rules/import/imported_rules.h"
#include "weir/rules/rules_file.h"
#include "weir/rules/rules_file_text.h"

namespace weir::rules {

/// Returns the rules as text, without the lines of domains. Fails the test unless the text is a
/// valid rules file.
inline std::string RulesTextOf(const ImportedRules& imported) {
  const std::string text = FormatRules(imported.rules);
  const auto set = ParseRules(text, "rules.yaml");
  EXPECT_TRUE(set) << (set ? "" : set.error().message) << '\n' << text;
  return text;
}

/// Returns the notes as `line: text`, with `left out: ` before the text if it applies.
inline std::vector<std::string> NotesOf(const ImportedRules& imported) {
  std::vector<std::string> notes;
  for (const ImportNote& note : imported.notes) {
    notes.push_back(
        fmt::format("{}: {}{}", note.line, note.is_left_out ? "left out: " : "", note.what));
  }
  return notes;
}

}  // namespace weir::rules
