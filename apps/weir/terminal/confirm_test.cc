#include "apps/weir/terminal/confirm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/testing/process_context_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"

namespace weir::app {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Standard input on which `y` is typed after `work` has run.
class YesAfter : public std::streambuf {
 public:
  explicit YesAfter(std::function<void()> work) : work_(std::move(work)) {}

 protected:
  int_type underflow() override {
    if (std::exchange(is_typed_, true)) return traits_type::eof();
    work_();
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_.front());
  }

 private:
  std::function<void()> work_;
  std::string line_ = "y\n";
  bool is_typed_ = false;
};

/// A store in a file, with one resource that one limits file declares and an empty limits file
/// removes.
class ConfirmTest : public WorldTest {
 protected:
  ConfirmTest() {
    Write("llm.yaml", "namespace: default\nresources: {llm: {limits: {rpm: 5}}}\n");
    Write("none.yaml", "namespace: default\n");
    EXPECT_EQ(Weir({"limits", "apply", Path("llm.yaml")}), Exit::kDone) << err_.str();
    process_.in_is_terminal = true;
  }
  std::string Path(const std::string& name) const { return folder_ / name; }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(Path(name)) << text;
  }
  Exit Weir(std::vector<std::string> args, const std::string& typed = "") {
    out_.str("");
    err_.str("");
    in_.clear();
    in_.str(typed);
    args.insert(args.begin(), {"--store", "sqlite:" + Path("weir.db")});
    return app::Run(args, process_);
  }
  /// Runs another command on the same file. It does not wait for a lock.
  Exit Elsewhere(std::vector<std::string> args) {
    std::ostringstream out;
    args.insert(args.begin(), {"--store", "sqlite:" + Path("weir.db"), "--lock-wait", "0s"});
    return app::Run(args, WorldOf(in_, out, elsewhere_err_));
  }
  /// Applies none.yaml and confirms it, after `work` has run while the question is open.
  Exit ApplyNoneWhile(std::function<void()> work) {
    YesAfter typed(std::move(work));
    std::istream in(&typed);
    out_.str("");
    err_.str("");
    const std::vector<std::string> args{"--store", "sqlite:" + Path("weir.db"), "limits", "apply",
                                        Path("none.yaml")};
    ProcessContext process = WorldOf(in, out_, err_);
    process.in_is_terminal = true;
    return app::Run(args, process);
  }
  /// Returns the process of another command, with streams of its own.
  ProcessContext WorldOf(std::istream& in, std::ostream& out, std::ostream& err) {
    return {.clock = scheduler_.clock(),
            .scheduler = scheduler_,
            .in = in,
            .out = out,
            .err = err,
            .environment = process_.environment,
            .interrupted = process_.interrupted};
  }
  std::string Levels() {
    EXPECT_EQ(Weir({"system", "list"}), Exit::kDone);
    return out_.str();
  }
  /// Registers and deletes a namespace and returns its id.
  std::string DeletedNamespace() {
    EXPECT_EQ(Weir({"namespace", "register", "team-a"}), Exit::kDone) << err_.str();
    const std::string text = out_.str();
    const std::string id = text.substr(text.find(' ') + 1, text.find('\n') - text.find(' ') - 1);
    EXPECT_EQ(Weir({"namespace", "delete", "team-a"}), Exit::kDone) << err_.str();
    return id;
  }
  std::string Orphans() {
    EXPECT_EQ(Weir({"namespace", "orphans"}), Exit::kDone);
    return out_.str();
  }

  TempFolder folder_;
  std::ostringstream elsewhere_err_;
};

TEST_F(ConfirmTest, ApplyAsksOnATerminalWhatItWouldDelete) {
  EXPECT_EQ(Weir({"limits", "apply", Path("none.yaml")}, "n\n"), Exit::kFailed);
  EXPECT_THAT(err_.str(), AllOf(StartsWith("- delete resource llm: rpm:5\n"),
                                HasSubstr("delete 1 records in sqlite:"), HasSubstr("? [y/N] "),
                                HasSubstr("it was not confirmed")));
  EXPECT_THAT(Levels(), HasSubstr("resource llm"));
  EXPECT_EQ(Weir({"limits", "apply", Path("none.yaml")}, "y\n"), Exit::kDone) << err_.str();
  EXPECT_EQ(Levels(), "nothing is set\n");
}

TEST_F(ConfirmTest, OnlyYesIsYes) {
  for (const char* typed : {"", "\n", "no\n", "yy\n", "N\n", " y\n"}) {
    EXPECT_EQ(Weir({"limits", "apply", Path("none.yaml")}, typed), Exit::kFailed) << typed;
  }
  EXPECT_THAT(Levels(), HasSubstr("resource llm"));
  EXPECT_EQ(Weir({"limits", "apply", Path("none.yaml")}, "yes\n"), Exit::kDone) << err_.str();
}

// Fails if: apply keeps the file open while it asks.
TEST_F(ConfirmTest, AnotherCommandWorksOnTheFileWhileApplyAsks) {
  EXPECT_EQ(ApplyNoneWhile([&] {
              EXPECT_EQ(Elsewhere({"entity", "create", "bolt"}), Exit::kDone)
                  << elsewhere_err_.str();
            }),
            Exit::kDone)
      << err_.str();
  EXPECT_EQ(Levels(), "nothing is set\n");
}

// Fails if: a confirmed deletion removes a limit that was set while the question was open.
TEST_F(ConfirmTest, WhatChangedWhileApplyAskedIsKept) {
  const auto set = [&] {
    EXPECT_EQ(Elsewhere({"resource", "set-limits", "llm", "--limit", "rpm:7"}), Exit::kDone)
        << elsewhere_err_.str();
  };
  EXPECT_EQ(ApplyNoneWhile(set), Exit::kFailed);
  EXPECT_THAT(err_.str(),
              EndsWith("weir: nothing is changed: the limits in sqlite:" + Path("weir.db") +
                       ", namespace default changed while the prompt was open; run "
                       "the command again for a new plan\n"));
  EXPECT_THAT(Levels(), HasSubstr("rpm:7"));
  EXPECT_EQ(out_.str().find("rpm:5"), std::string::npos);
}

TEST_F(ConfirmTest, PurgeAsksOnATerminalAndNamesWhatIsLost) {
  const std::string id = DeletedNamespace();
  EXPECT_EQ(Weir({"namespace", "purge", id}, "n\n"), Exit::kFailed);
  EXPECT_THAT(err_.str(),
              StartsWith("this deletes all data of namespace " + id +
                         " ('team-a') for good, in sqlite:" + Path("weir.db") + "; go on? [y/N] "));
  EXPECT_THAT(err_.str(), EndsWith("weir: nothing is deleted: it was not confirmed\n"));
  EXPECT_THAT(Orphans(), HasSubstr(id));
  EXPECT_EQ(Weir({"namespace", "purge", id}, "y\n"), Exit::kDone) << err_.str();
  EXPECT_THAT(Orphans(), Not(HasSubstr(id)));
}

// Fails if: a signal at the question counts as a reply, or a later one is caught and ignored.
TEST_F(ConfirmTest, ASignalAtTheQuestionEndsTheCommand) {
  const std::string id = DeletedNamespace();
  bool is_released = false;
  process_.release_signals = [&] { is_released = true; };
  EXPECT_EQ(Weir({"namespace", "purge", id}, "y\n"), Exit::kDone) << err_.str();
  EXPECT_TRUE(is_released);
  process_.interrupted = [] { return true; };
  EXPECT_EQ(static_cast<int>(Weir({"limits", "apply", Path("none.yaml")}, "y\n")), 130);
  process_.interrupted = nullptr;
  EXPECT_THAT(Levels(), HasSubstr("resource llm"));
}

TEST_F(ConfirmTest, WithYesNothingIsAsked) {
  const std::string id = DeletedNamespace();
  EXPECT_EQ(Weir({"namespace", "purge", id, "--yes"}), Exit::kDone);
  EXPECT_EQ(Weir({"limits", "apply", Path("none.yaml"), "--yes"}), Exit::kDone);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ConfirmTest, WithoutATerminalAPurgeNeedsYes) {
  const std::string id = DeletedNamespace();
  process_.in_is_terminal = false;
  EXPECT_EQ(Weir({"namespace", "purge", id}, "y\n"), Exit::kUsage);
  EXPECT_THAT(err_.str(), HasSubstr(id + " ('team-a') for good, in sqlite:"));
  EXPECT_THAT(err_.str(), HasSubstr("confirm it with --yes"));
  EXPECT_THAT(Orphans(), HasSubstr(id));
}

// Fails if: the question comes before the id is looked up.
TEST_F(ConfirmTest, APurgeOfNothingAsksNothing) {
  EXPECT_EQ(Weir({"namespace", "purge", "nobody"}, "y\n"), Exit::kFailed);
  EXPECT_THAT(err_.str(), StartsWith("weir: no namespace has the id 'nobody'"));
  EXPECT_EQ(Weir({"namespace", "register", "team-a"}), Exit::kDone);
  const std::string text = out_.str();
  const std::string id = text.substr(text.find(' ') + 1, text.find('\n') - text.find(' ') - 1);
  EXPECT_EQ(Weir({"namespace", "purge", id}, "y\n"), Exit::kFailed);
  EXPECT_THAT(err_.str(), AllOf(StartsWith("weir: namespace " + id), HasSubstr("is active")));
}

TEST_F(ConfirmTest, DeletingOneNamedRecordAsksNothing) {
  EXPECT_EQ(Weir({"entity", "create", "acme"}), Exit::kDone);
  EXPECT_EQ(Weir({"entity", "delete", "acme"}), Exit::kDone);
  EXPECT_EQ(Weir({"resource", "delete-limits", "llm"}), Exit::kDone);
  EXPECT_EQ(err_.str(), "");
}

}  // namespace
}  // namespace weir::app
