// weir completion bash|zsh|fish: scripts that call this program for the candidates.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/weir/completion.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"

namespace weir::app {
namespace {

// Bash also splits words at = and :. The script joins parts without a blank between them; bash
// itself keeps the text up to the last of these characters.
constexpr std::string_view kBash =
    R"SCRIPT(# bash completion of weir: source <(weir completion bash)
_weir() {
  local rest=${COMP_LINE:0:COMP_POINT} part=${COMP_WORDS[COMP_CWORD]} word='' words=() i line
  while [[ $rest != *"$part" ]]; do part=${part%?}; done
  for ((i = COMP_CWORD; i > 0; i--)); do
    word=$part$word
    rest=${rest%"$part"}
    if [[ $rest == *[[:space:]] ]]; then
      words=("$word" "${words[@]}")
      word=''
      rest=${rest%"${rest##*[![:space:]]}"}
    fi
    part=${COMP_WORDS[i-1]}
  done
  local typed=${words[${#words[@]}-1]}
  local kept=${typed%"${typed##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    line=${line%%:*}
    COMPREPLY+=("${line#"$kept"}")
  done < <("$1" completion words -- "${words[@]}" 2>/dev/null)
}
complete -o bashdefault -o default -F _weir weir
)SCRIPT";

constexpr std::string_view kZsh = R"SCRIPT(#compdef weir
# zsh completion of weir: source <(weir completion zsh), or this file as _weir in a folder of $fpath
_weir() {
  local -a found
  found=(${(f)"$("${words[1]}" completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then
    _describe weir found
  else
    _files
  fi
}
if [[ $funcstack[1] == _weir ]]; then _weir "$@"; else compdef _weir weir; fi
)SCRIPT";

constexpr std::string_view kFish = R"SCRIPT(# fish completion of weir: weir completion fish | source
function __weir_candidates
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l found ($words[1] completion words -- $words[2..-1] "$typed" 2>/dev/null)
    if test (count $found) -eq 0
        __fish_complete_path "$typed"
    else
        string replace ':' \t -- $found
    end
end
complete -c weir -f -a '(__weir_candidates)'
)SCRIPT";

struct NoOptions {};

struct WordsOptions {
  std::vector<std::string> words;
};

/// Prints one line for each candidate: the word, and its description after a colon.
Result<Exit> OfferWords(const CLI::App& root, const WordsOptions& options, Context& context) {
  Json json = {{"candidates", Json::array()}};
  std::string text;
  for (const Candidate& candidate : CandidatesFor(root, options.words)) {
    json["candidates"].push_back(
        {{"word", candidate.word}, {"description", candidate.description}});
    text += candidate.word + ':' + candidate.description + '\n';
  }
  context.WriteResult(json, text);
  return Exit::kDone;
}

void AddScript(CLI::App& group, const std::string& shell, std::string_view script, Action& chosen) {
  AddVerb(group, shell, "Print the script for " + shell, std::make_shared<NoOptions>(), chosen,
          [shell, script](const NoOptions&, Context& context) -> Result<Exit> {
            context.WriteResult({{"shell", shell}, {"script", script}}, script);
            return Exit::kDone;
          });
}

}  // namespace

void AddCompletion(CLI::App& root, Action& chosen) {
  CLI::App& group = AddGroup(root, "completion", "Completion of verbs and options by a shell");
  AddScript(group, "bash", kBash, chosen);
  AddScript(group, "zsh", kZsh, chosen);
  AddScript(group, "fish", kFish, chosen);
  auto options = std::make_shared<WordsOptions>();
  CLI::App& words = AddVerb(group, "words", "List the candidates for the last of some words",
                            options, chosen, [&root](const WordsOptions& given, Context& context) {
                              return OfferWords(root, given, context);
                            });
  words.group("");
  const auto read_words = [options](const std::vector<std::string>& typed) {
    options->words = typed;
  };
  AddWords(words, kCommandArgument, read_words, "the words that are typed, after --");
}

}  // namespace weir::app
