#include "apps/weir/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "apps/weir/options.h"
#include "apps/weir/testing/process_context_fixture.h"
#include "apps/weir/testing/verb_run_fixture.h"

namespace weir::app {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Words = std::vector<std::string>;

/// weir [--level low|high] (show | store (backup [--to FILE] [--json] | old, which is hidden))
class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    app_.fallthrough();
    app_.add_option("-l,--level", level_)->option_text("low|high[:N]|NAME");
    app_.add_subcommand("show", "Show it")->group(kVerbs);
    CLI::App& store = AddGroup(app_, "store", "The store");
    CLI::App& backup = *store.add_subcommand("backup", "Copy it")->group(kVerbs);
    backup.add_option_group("Target")->add_option("--to,--into", to_, "a file");
    backup.add_flag("--json", json_);
    store.add_subcommand("old", "")->group("");
  }

  Words For(const Words& words) {
    Words found;
    for (const Candidate& candidate : CandidatesFor(app_, words)) found.push_back(candidate.word);
    return found;
  }

  CLI::App app_{"", "weir"};
  std::string level_;
  std::string to_;
  bool json_ = false;
};

TEST_F(CompletionTest, VerbsFollowTheirGroup) {
  EXPECT_THAT(For({""}), ElementsAre("show", "store"));
  EXPECT_THAT(For({"st"}), ElementsAre("store"));
  EXPECT_THAT(For({"store", ""}), ElementsAre("backup"));
  EXPECT_THAT(For({"store", "backup", ""}), IsEmpty());
  EXPECT_EQ(CandidatesFor(app_, {"sh"}), (std::vector<Candidate>{{"show", "Show it"}}));
}

TEST_F(CompletionTest, OptionsAreThoseOfTheVerbAndOfAllAbove) {
  EXPECT_THAT(For({"store", "backup", "-"}), ElementsAre("--help", "--json", "--to", "--level"));
  EXPECT_THAT(For({"store", "backup", "--j"}), ElementsAre("--json"));
  EXPECT_THAT(For({"--le"}), ElementsAre("--level"));
}

TEST_F(CompletionTest, AnOptionTakesTheNextWord) {
  EXPECT_THAT(For({"--level", ""}), ElementsAre("low", "high"));
  EXPECT_THAT(For({"-l", "h"}), ElementsAre("high"));
  EXPECT_THAT(For({"--level", "store", ""}), ElementsAre("show", "store"));
  EXPECT_THAT(For({"store", "backup", "--into", "x"}), IsEmpty());
  EXPECT_THAT(For({"--level=low", "store", ""}), ElementsAre("backup"));
  EXPECT_THAT(For({"store", "backup", "--json", "--level", "l"}), ElementsAre("low"));
}

TEST_F(CompletionTest, AValueAfterAnEqualsSignKeepsItsOption) {
  EXPECT_THAT(For({"store", "--level=h"}), ElementsAre("--level=high"));
  EXPECT_THAT(For({"--unknown="}), IsEmpty());
}

TEST_F(CompletionTest, NothingFollowsDoubleDashes) {
  EXPECT_THAT(For({"--", ""}), IsEmpty());
  EXPECT_THAT(For({"--level", "--", "sh"}), ElementsAre("show"));
}

TEST_F(CompletionTest, WhatDoesNotExistIsPassedOver) {
  EXPECT_THAT(For({"fly", "--fly", "", "sh"}), ElementsAre("show"));
  EXPECT_THAT(For({}), ElementsAre("show", "store"));
}

/// The command line of the program.
class WholeCompletionTest : public WorldTest {
 protected:
  std::string WriteResult(const Words& args) {
    out_.str("");
    EXPECT_EQ(app::Run(args, process_), Exit::kDone) << testing::PrintToString(args) << err_.str();
    return out_.str();
  }
  /// Returns the first words of the lines that the scripts read.
  Words Offered(const Words& path, const std::string& typed) {
    Words args = {"completion", "words", "--"};
    args.insert(args.end(), path.begin(), path.end());
    args.push_back(typed);
    std::istringstream lines(WriteResult(args));
    Words words;
    for (std::string line; std::getline(lines, line);) {
      words.push_back(line.substr(0, line.find(':')));
    }
    return words;
  }
  std::string HelpOf(Words path) {
    path.emplace_back("--help");
    return WriteResult(path);
  }
  /// Checks a verb and all verbs below it. Returns how many they are. A verb has the options of the
  /// verbs above it too.
  std::size_t Check(const Words& path) {
    const std::string help = HelpOf(path);
    std::string all_help;
    for (Words above = path;; above.pop_back()) {
      all_help += HelpOf(above);
      if (above.empty()) break;
    }
    for (const std::string& option : Offered(path, "-")) {
      EXPECT_THAT(all_help, HasSubstr(option));
    }
    std::size_t count = 1;
    for (const std::string& verb : Offered(path, "")) {
      // A verb with another name is followed by a comma.
      EXPECT_THAT(help, AnyOf(HasSubstr("  " + verb + ' '), HasSubstr("  " + verb + ',')));
      Words below = path;
      below.push_back(verb);
      count += Check(below);
    }
    return count;
  }
};

TEST_F(WholeCompletionTest, OffersWhatTheHelpOfEachVerbLists) {
  EXPECT_GT(Check({}), 60U);
  EXPECT_THAT(Offered({"limits"}, ""),
              ElementsAre("check", "plan", "apply", "diff", "export", "import"));
  EXPECT_THAT(Offered({"limits", "plan"}, "--de"), ElementsAre("--detailed-exitcode"));
  EXPECT_THAT(Offered({"--store", "memory:", "audit", "list"}, "--ent"), ElementsAre("--entity"));
  EXPECT_THAT(Offered({"try", "--durability"}, "s"), ElementsAre("strict"));
  EXPECT_THAT(Offered({"completion"}, ""), ElementsAre("bash", "zsh", "fish"));
}

TEST_F(WholeCompletionTest, WordsThatAreTypedNeedNotBeRight) {
  EXPECT_THAT(Offered({"reserve", "emr", "acme", "--", "sh"}, "-"), IsEmpty());
  EXPECT_THAT(Offered({"--", "help"}, "--"), IsEmpty());
  EXPECT_THAT(Offered({"", "fly", "--count"}, "x"), IsEmpty());
  EXPECT_THAT(Offered({}, "--"), Contains("--version"));
}

TEST_F(WholeCompletionTest, ScriptsArePrintedWhole) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = WriteResult({"completion", shell});
    EXPECT_THAT(script, HasSubstr("completion words -- "));
    EXPECT_THAT(script, Not(HasSubstr("\\x")));  // no byte that the output escapes
  }
}

TEST_F(WholeCompletionTest, TheManualPageHasEachVerbWithItsOptions) {
  const std::string page = WriteResult({"man"});
  EXPECT_THAT(page, StartsWith(".TH WEIR 1 "));
  EXPECT_THAT(page, HasSubstr(".SS \"weir limits plan [OPTIONS] FILE\"\n"));
  EXPECT_THAT(page, HasSubstr(".SS \"weir aggregate [OPTIONS]")) << "it has verbs, too";
  EXPECT_THAT(page, HasSubstr(".SS \"weir aggregate package [OPTIONS] OUT\"\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-detailed\\-exitcode\\fR\n"));
  EXPECT_THAT(page, HasSubstr("Exit codes: 0 equal, 1 different, 2 failed."));
  const std::size_t first = page.find("Each verb takes");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(page.find("Each verb takes", first + 1), std::string::npos);
  EXPECT_THAT(page, Not(HasSubstr("weir completion words")));
  for (const std::string& verb : Offered({"entity"}, "")) {
    EXPECT_THAT(page, HasSubstr(".SS \"weir entity " + (verb.substr(0, verb.find('-')))));
  }
}

TEST_F(WholeCompletionTest, TextOfTheManualPageIsNoRequestOfRoff) {
  const VerbEnd end = RunVerb(process_, {"man"}, [](CLI::App& app, Action& chosen) {
    app.description(".dots and \\ backslashes\n'quotes', and a-b");
    AddMan(app, chosen);
  });
  EXPECT_THAT(end.result, HasSubstr("\n\\&.dots and \\e backslashes\n\\&'quotes', and a\\-b\n"));
}

}  // namespace
}  // namespace weir::app
