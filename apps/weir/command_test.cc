#include "apps/weir/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "apps/weir/context.h"
#include "apps/weir/terminal/progress.h"
#include "apps/weir/testing/process_context_fixture.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class CommandTest : public WorldTest {
 protected:
  CommandTest() : WorldTest({{"WEIR_STORE", "memory:"}}) {}

  Exit RunArgs(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return app::Run(args, process_);
  }
  /// Runs a wrong command line and returns its line on stderr.
  std::string UsageOf(const std::vector<std::string>& args) {
    EXPECT_EQ(RunArgs(args), Exit::kUsage);
    EXPECT_EQ(out_.str(), "");
    const std::string line = err_.str();
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    return line;
  }
};

TEST_F(CommandTest, Z5ManyChangesHaveMoreTime) {
  const CommonOptions common;
  const Context context(process_, common);
  const Instant now = scheduler_.clock().Now();
  EXPECT_EQ(context.ApplyDeadline(99).Left(now), std::chrono::seconds(30));
  EXPECT_EQ(context.ApplyDeadline(100'000).Left(now), std::chrono::seconds(5'030));
}

class PrincipalTest : public WorldTest {
 protected:
  PrincipalTest() : WorldTest({{"WEIR_STORE", "dynamodb://limits"}}) {
    process_.user = "me@here";
    process_.find_caller = [this](const std::string&) {
      ++look_ups_;
      return caller_;
    };
  }
  std::optional<std::string> Principal(const CommonOptions& common = {}) {
    Context context(process_, common);
    (void)context.Principal();
    return context.Principal().value_or("refused");
  }

  Result<std::optional<std::string>> caller_ = std::optional<std::string>("arn:aws:iam::1:user/me");
  int look_ups_ = 0;
};

// Fails if: the caller is looked up again, or for an author that was given.
TEST_F(PrincipalTest, ACallerIsLookedUpOnceUnlessAnAuthorIsGiven) {
  EXPECT_EQ(Principal(), "arn:aws:iam::1:user/me");
  EXPECT_EQ(look_ups_, 1);
  EXPECT_EQ(Principal({.by = "jo@ci"}), "jo@ci");
  environment_["WEIR_BY"] = "sam";
  EXPECT_EQ(Principal(), "sam");
  EXPECT_EQ(look_ups_, 1);
  environment_["WEIR_BY"] = "#x";
  EXPECT_EQ(Principal(), "refused");
  EXPECT_EQ(err_.str(), "");
}

// Fails if: a command fails because of its author, or the fallback is silent.
TEST_F(PrincipalTest, AFailedLookUpIsReportedAndTheUserIsTheAuthor) {
  caller_ = Fail(Code::kPermissionDenied, "GetCallerIdentity at h: 403");
  EXPECT_EQ(Principal(), "me@here");
  EXPECT_EQ(err_.str(),
            "weir: the audit log names me@here as the author, because the caller's ARN is "
            "unknown: GetCallerIdentity at h: "
            "403\n");
  EXPECT_EQ(look_ups_, 1);
  caller_ = std::optional<std::string>("arn:\n");
  EXPECT_EQ(Principal(), "me@here");
  process_.user = "";
  EXPECT_EQ(Principal(), std::nullopt);
}

TEST_F(PrincipalTest, AStoreWithoutACallerHasItsUser) {
  caller_ = std::optional<std::string>();
  EXPECT_EQ(Principal(), "me@here");
  EXPECT_EQ(err_.str(), "");
}

// Fails if: a decision waits for a request that only changes need.
TEST_F(PrincipalTest, OnlyChangesNeedTheirAuthor) {
  process_.open_backend = [](const std::string&) { return MakeMemoryBackend(); };
  EXPECT_EQ(RunArgs({"system", "get-limits"}), Exit::kFailed);
  EXPECT_EQ(RunArgs({"try", "acme", "api", "rpm=1", "--limits", "rpm:5"}), Exit::kDone)
      << err_.str();
  EXPECT_EQ(look_ups_, 0);
  EXPECT_EQ(RunArgs({"system", "set-limits", "-l", "rpm:5"}), Exit::kDone) << err_.str();
  EXPECT_EQ(look_ups_, 1);
}

TEST_F(CommandTest, SaysItsVersion) {
  EXPECT_EQ(RunArgs({"--version"}), Exit::kDone);
  EXPECT_THAT(out_.str(), StartsWith("weir "));
}

TEST_F(CommandTest, EveryVerbHasHelp) {
  const std::vector<std::vector<std::string>> verbs = {{},
                                                       {"try"},
                                                       {"buckets"},
                                                       {"load"},
                                                       {"replay"},
                                                       {"kinesis"},
                                                       {"kinesis", "put"},
                                                       {"kinesis", "cat"},
                                                       {"limits"},
                                                       {"limits", "check"},
                                                       {"limits", "plan"},
                                                       {"limits", "apply"},
                                                       {"limits", "diff"},
                                                       {"limits", "export"},
                                                       {"system"},
                                                       {"system", "set-limits"},
                                                       {"system", "get-limits"},
                                                       {"system", "delete-limits"},
                                                       {"system", "list"},
                                                       {"resource", "set-limits"},
                                                       {"resource", "get-limits"},
                                                       {"resource", "delete-limits"},
                                                       {"resource", "list"},
                                                       {"entity", "create"},
                                                       {"entity", "show"},
                                                       {"entity", "delete"},
                                                       {"entity", "children"},
                                                       {"entity", "list"},
                                                       {"entity", "set-limits"},
                                                       {"entity", "get-limits"},
                                                       {"entity", "delete-limits"}};
  for (std::vector<std::string> verb : verbs) {
    std::string name = "Usage: weir";
    for (const std::string& word : verb) name += ' ' + word;
    verb.push_back("--help");
    EXPECT_EQ(RunArgs(verb), Exit::kDone);
    EXPECT_THAT(out_.str(), HasSubstr(name));
    EXPECT_EQ(err_.str(), "");
  }
}

TEST_F(CommandTest, AWrongCommandLineIsOneLineThatPointsAtTheHelp) {
  EXPECT_THAT(UsageOf({}), AllOf(StartsWith("weir: "), HasSubstr("a verb is missing"),
                                 EndsWith("see 'weir --help'\n")));
  EXPECT_THAT(UsageOf({"entity"}), HasSubstr("see 'weir entity --help'"));
  EXPECT_THAT(UsageOf({"fly"}), HasSubstr("fly"));
  EXPECT_THAT(UsageOf({"entity", "fly"}), HasSubstr("fly"));
  EXPECT_THAT(UsageOf({"try"}), HasSubstr("ENTITY is required; see 'weir try --help'"));
  EXPECT_THAT(UsageOf({"try", "acme", "llm"}), HasSubstr("AMOUNT is required"));
  EXPECT_THAT(UsageOf({"try", "acme", "llm", "rpm=1", "--fly"}), HasSubstr("--fly"));
  EXPECT_THAT(UsageOf({"try", "acme", "llm", "rpm"}), HasSubstr("name=amount"));
  EXPECT_THAT(UsageOf({"try", "acme!", "llm", "rpm=1"}), HasSubstr("acme!"));
  EXPECT_THAT(UsageOf({"try", "a b", "llm", "rpm=1"}), HasSubstr("a b"));
  EXPECT_THAT(UsageOf({"try", "a", "l", "x=1", "--durability", "loose"}), HasSubstr("loose"));
  EXPECT_THAT(UsageOf({"try", "a", "l", "x=1", "--store", "tape:x"}), HasSubstr("tape:x"));
}

// Fails if: a text of the parser's library is printed unchanged.
TEST_F(CommandTest, ErrorsOfTheParserAreInTheWordsOfTheHelp) {
  EXPECT_EQ(UsageOf({"--store", "memory:", "system", "list", "--store", "memory:"}),
            "weir: --store is given more than once; see 'weir system list --help'\n");
  const std::string subjects =
      "weir: exactly one of these options is required: --entity, --resource, --system; see 'weir "
      "audit list --help'\n";
  EXPECT_EQ(UsageOf({"audit", "list"}), subjects);
  EXPECT_EQ(UsageOf({"audit", "list", "--system", "-e", "acme"}), subjects);
  EXPECT_EQ(UsageOf({"entity", "list", "--json=maybe"}),
            "weir: --json takes no value; see 'weir entity list --help'\n");
  EXPECT_EQ(UsageOf({"limits", "check"}),
            "weir: FILE is required; see 'weir limits check --help'\n");
  EXPECT_EQ(UsageOf({"entity", "set-limits", "acme"}),
            "weir: --limit is required; see 'weir entity set-limits --help'\n");
  EXPECT_EQ(UsageOf({"system", "set-limits", "-l"}),
            "weir: --limit needs a value; see 'weir system set-limits --help'\n");
  // The value of an option is not taken for such a text.
  EXPECT_THAT(UsageOf({"try", "a", "l", "x=1", "--wait", ": 1 required "}),
              HasSubstr("--wait: ': 1 required ' is not a duration"));
}

// Fails if: the help shows an option as if several values followed it.
TEST_F(CommandTest, AnOptionOfSeveralValuesIsRepeated) {
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"load"},
                                               {"entity", "create"},
                                               {"entity", "update"},
                                               {"entity", "set-limits"},
                                               {"system", "set-limits"}}) {
    std::vector<std::string> args = verb;
    args.emplace_back("--help");
    EXPECT_EQ(RunArgs(args), Exit::kDone);
    EXPECT_THAT(out_.str(), HasSubstr(" (may be repeated)"));
    EXPECT_THAT(out_.str().substr(out_.str().find("Options:")), testing::Not(HasSubstr("...")));
  }
  EXPECT_THAT(UsageOf({"load", "a", "llm", "rpm=1", "--adjust", "rpm=-1", "tpm=-1"}),
              HasSubstr("'tpm=-1' is not an amount to take: write a number from 0; each adjustment "
                        "needs an --adjust of its own"));
  EXPECT_THAT(UsageOf({"load", "a", "llm", "rpm=-1"}), testing::Not(HasSubstr("--adjust")));
}

// Fails if: an exception of a library ends the process without its line.
TEST_F(CommandTest, AnExceptionIsAnErrorOfOneLine) {
  const auto text_of = [&](const std::vector<std::string>& args, const std::exception& problem) {
    err_.str("");
    EXPECT_EQ(FailWithException(args, problem, err_), Exit::kFailed);
    return err_.str();
  };
  const std::system_error no_thread(
      std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_THAT(text_of({}, no_thread), StartsWith("weir: no thread can be started: Resource temp"));
  EXPECT_THAT(
      text_of({"--json"}, no_thread),
      StartsWith("{\"error\":{\"code\":\"RESOURCE_EXHAUSTED\",\"message\":\"no thread can"));
  EXPECT_THAT(text_of({}, std::bad_alloc()), StartsWith("weir: no memory is left"));
  EXPECT_EQ(text_of({}, std::runtime_error("a\nb")), "weir: a b\n");
  process_.open_backend = [&](const std::string&) -> Result<std::unique_ptr<Backend>> {
    throw no_thread;
  };
  EXPECT_EQ(RunArgs({"entity", "list"}), Exit::kFailed);
  EXPECT_THAT(err_.str(), StartsWith("weir: no thread can be started: "));
}

TEST_F(CommandTest, OptionsMayStandBeforeOrAfterTheVerb) {
  const std::vector<std::string> verb = {"try", "acme", "llm", "rpm=1", "--limits", "rpm:5"};
  std::vector<std::string> before = {"--json", "--store", "memory:"};
  std::vector<std::string> after = verb;
  after.insert(after.end(), before.begin(), before.end());
  before.insert(before.end(), verb.begin(), verb.end());
  EXPECT_EQ(RunArgs(before), Exit::kDone) << err_.str();
  const std::string first = out_.str();
  EXPECT_THAT(first, StartsWith("{\"admitted\":true"));
  EXPECT_EQ(RunArgs(after), Exit::kDone) << err_.str();
  EXPECT_EQ(out_.str(), first);
}

TEST_F(CommandTest, AnEntityMayBeCalledAsAVerb) {
  EXPECT_EQ(RunArgs({"try", "entity", "try", "rpm=1", "--limits", "rpm:5"}), Exit::kDone)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("entity  rpm"));
}

TEST_F(CommandTest, ARefusalIsAnAnswerWithACodeOfItsOwn) {
  EXPECT_EQ(RunArgs({"try", "acme", "llm", "rpm=5", "tpm=1", "--limits", "rpm:9:5,tpm:7"}),
            Exit::kDone);
  EXPECT_EQ(RunArgs({"load", "acme", "llm", "rpm=6", "--limits", "rpm:5", "--duration", "1h"}),
            Exit::kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("the first with"));
}

TEST_F(CommandTest, ReadingVerbsOnAnEmptyStoreSaySo) {
  EXPECT_EQ(RunArgs({"entity", "list"}), Exit::kDone);
  EXPECT_EQ(out_.str(), "no entities\n");
  EXPECT_EQ(RunArgs({"entity", "show", "acme"}), Exit::kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("entity acme does not exist"));
}

TEST_F(CommandTest, TheDefaultStoreIsInTheStateFolder) {
  environment_ = {{"HOME", "/home/sam"}};
  EXPECT_EQ(DefaultStoreUrl(process_), "sqlite:/home/sam/.local/state/weir/weir.db");
  environment_["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(DefaultStoreUrl(process_), "sqlite:/state/weir/weir.db");
  environment_.clear();
  EXPECT_FALSE(DefaultStoreUrl(process_));
  EXPECT_EQ(RunArgs({"entity", "list"}), Exit::kFailed);
  EXPECT_THAT(err_.str(), HasSubstr("--store sqlite:PATH"));
}

// Fails if: the refusal does not name the variable that chose the store.
TEST_F(CommandTest, SlotsInAStoreThatKeepsNoneAreRefusedByTheVariable) {
  environment_ = {{"HOME", "/home/sam"}, {"ZAEL_STACK", "limits"}};
  EXPECT_EQ(RunArgs({"reservation", "list", "emr", "acme"}), Exit::kUsage);
  EXPECT_EQ(err_.str(),
            "weir: ZAEL_STACK names the store 'dynamodb:': a table of zae-limiter stores no slots; "
            "name another store with --store or WEIR_STORE: sqlite:PATH or "
            "rate-limiter-py://BASE\n");
}

TEST_F(CommandTest, RateLimiterPysTablesHaveNoStatus) {
  EXPECT_EQ(RunArgs({"--store", "rate-limiter-py://acme", "table", "status"}), Exit::kUsage);
  EXPECT_EQ(err_.str(),
            "weir: store 'rate-limiter-py://acme' is rate-limiter-py's three tables, which only "
            "'table create' works on: name a table of zae-limiter with --store dynamodb://TABLE\n");
}

TEST_F(CommandTest, TheFileOfAUrlIsWhatFollowsTheScheme) {
  EXPECT_EQ(FileOfUrl("sqlite:a/b.db"), "a/b.db");
  EXPECT_EQ(FileOfUrl("sqlite:/a/b.db"), "/a/b.db");
  EXPECT_EQ(FileOfUrl("sqlite:///a/b.db"), "/a/b.db");
  for (const char* url : {"memory:", "sqlite:", "sqlite://a/b.db", "tape:a"}) {
    EXPECT_EQ(FileOfUrl(url), std::nullopt) << url;
  }
}

TEST_F(CommandTest, ProgressIsForTerminalsOnly) {
  {
    ProgressLine(process_).Show("row 1");
  }
  EXPECT_EQ(err_.str(), "");
  process_.err_is_terminal = true;
  {
    ProgressLine line(process_);
    line.Show("row 10");
    line.Show("row 2");
  }
  EXPECT_EQ(err_.str(), "\rrow 10\rrow 2 \r      \r");
}

TEST_F(CommandTest, OutputThatCannotBeWrittenIsAFailure) {
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(app::Run({"entity", "list"}, process_), Exit::kFailed);
  EXPECT_THAT(
      err_.str(),
      HasSubstr("cannot write the output to stdout; the command's changes, if any, are made"));
}

}  // namespace
}  // namespace weir::app
