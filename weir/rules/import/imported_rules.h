// The result of an import: rules, and a report of everything that the import changes or leaves out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/rules/rule.h"

namespace weir::rules {

struct ImportNote {
  int line;          ///< in the imported file
  bool is_left_out;  ///< a part of the file has no counterpart in the rules
  std::string what;  ///< one line of visible text in UTF-8
};

/// The largest number of notes; further ones are only counted.
inline constexpr std::size_t kMaxImportNotes = 1000;

struct ImportedRules {
  std::vector<Rule> rules;  ///< valid for ParseRules
  std::vector<ImportNote> notes;
  std::size_t limits = 0;           ///< limits that the imported file has
  std::size_t limits_left_out = 0;  ///< those of them that no rule has
  std::size_t parts_left_out = 0;   ///< other parts of the file that are left out
  std::size_t notes_away = 0;       ///< notes beyond kMaxImportNotes
};

/// Returns why a rules file cannot have the key or the text of this entry; empty if it can.
std::string FaultOfEntry(const EntryPattern& entry);

/// Collects rules and notes within the bounds of a rules file.
class ImportCollector {
 public:
  void CountLimits(std::size_t limits) { imported_.limits += limits; }
  /// Reports a part of the file that has no counterpart, and is no limit.
  void LeaveOut(int line, std::string what);
  /// Reports limits that no rule has. `limits` is 0 for a further reason to leave out the same
  /// limit.
  void LeaveOutLimits(int line, std::string what, std::size_t limits);
  /// Reports a difference of behaviour.
  void Remark(int line, std::string what) { AddNote({line, false, std::move(what)}); }

  /// Adds a rule, or reports why a rules file cannot have it. Add completes the rule's name,
  /// amounts and bucket. `limits` is the number of limits of the file that become this rule.
  /// REQUIRES: no prefix of the pattern has a '*'.
  void Add(Rule rule, std::size_t limits);
  /// Returns the rules; callers may change their limits.
  std::vector<Rule>& rules() { return imported_.rules; }

  /// Returns the import in the order of the file. Leaves out names in `replaces` that no rule has,
  /// that are the rule's own, or with which rules replace each other in a cycle.
  ImportedRules Finish() &&;

 private:
  void AddNote(ImportNote note);

  ImportedRules imported_;
  std::size_t text_bytes_ = 0;
};

}  // namespace weir::rules
