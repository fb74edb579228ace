// Completion of the word that a user types in a shell. Mechanism: docs/design/completion.md.
#pragma once

#include <string>
#include <vector>

#include "apps/weir/verbs.h"

namespace weir::app {

struct Candidate {
  std::string word;  ///< replaces the typed word
  std::string description;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// Returns the verbs, options and choices of the command line that begin with the typed word.
/// `words` follow the name of the program; the last one is the typed word and may be empty. Returns
/// no candidate if no verb, option or choice can be typed there; the word may then be a file.
std::vector<Candidate> CandidatesFor(const CLI::App& root, const std::vector<std::string>& words);

/// Adds weir completion bash|zsh|fish. See verbs.h; `root` must also outlive the run.
void AddCompletion(CLI::App& root, Action& chosen);

/// Adds weir man: a manual page of all verbs and options of `root`. As AddCompletion.
void AddMan(CLI::App& root, Action& chosen);

}  // namespace weir::app
