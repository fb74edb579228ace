// Candidates for the word that is being typed in a shell. Mechanism: docs/design/completion.md.
#pragma once

#include <string>
#include <vector>

#include "apps/weir/verbs.h"

namespace weir::app {

struct Candidate {
  std::string word;  ///< replaces the word that is being typed
  std::string description;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// `words` follow the name of the program; the last one is being typed and may be empty. Verbs,
/// options and the words of choices that begin with it, from the command line's own tree. Nothing:
/// the tree does not know, and it may be a file.
std::vector<Candidate> CandidatesFor(const CLI::App& root, const std::vector<std::string>& words);

/// weir completion bash|zsh|fish. As verbs.h says; `root` must also outlive the run.
void AddCompletion(CLI::App& root, Action& chosen);

/// weir man: every verb and option of `root`, as a manual page. As AddCompletion.
void AddMan(CLI::App& root, Action& chosen);

}  // namespace weir::app
