#include "apps/weir/store/store_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "apps/weir/context.h"
#include "apps/weir/testing/process_context_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"

namespace weir::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StoreChoiceTest : public WorldTest {
 protected:
  StoreChoiceTest() : WorldTest({{"HOME", "/home/sam"}}) {}

  std::string Chosen(const std::optional<std::string>& option = std::nullopt) {
    const Result<StoreChoice> choice = ChooseStore(process_, option);
    return choice ? choice->url : choice.error().message;
  }
  std::string ChosenForReservations(const std::optional<std::string>& option = std::nullopt) {
    const Result<StoreChoice> choice = ChooseReservationStore(process_, option);
    return choice ? choice->url : choice.error().message;
  }
  static std::string ToOpen(const std::string& url, Access access) {
    const Result<std::string> opened = UrlToOpen({StoreSource::kOption, url}, access);
    return opened ? *opened : opened.error().message;
  }

  TempFolder folder_;
};

// U13. Fails if: a variable has priority over the option, or ZAEL_STACK is used for some commands
// only.
TEST_F(StoreChoiceTest, U13OneRuleNamesTheStoreOfEveryCommand) {
  EXPECT_EQ(Chosen(), "sqlite:/home/sam/.local/state/weir/weir.db");
  environment_["ZAEL_STACK"] = "limits";
  EXPECT_EQ(Chosen(), "dynamodb:");
  environment_["WEIR_STORE"] = "sqlite:mine.db";
  EXPECT_EQ(Chosen(), "sqlite:mine.db");
  EXPECT_EQ(Chosen("memory:"), "memory:");
  environment_["WEIR_STORE"] = "";
  environment_["ZAEL_STACK"] = "";
  EXPECT_EQ(Chosen(), "sqlite:/home/sam/.local/state/weir/weir.db");
}

// rate-limiter-py's processes are configured by this variable only. Fails if: it names no tables,
// has priority over a named store, or is used by commands without reservations.
TEST_F(StoreChoiceTest, TheBaseNameNamesTheTablesOfReservations) {
  EXPECT_EQ(ChosenForReservations(), "sqlite:/home/sam/.local/state/weir/weir.db");
  environment_["LIMITER_TABLES_BASE_NAME"] = "jobs";
  EXPECT_EQ(ChosenForReservations(), "rate-limiter-py:");
  EXPECT_EQ(Chosen(), "sqlite:/home/sam/.local/state/weir/weir.db");
  EXPECT_EQ(ChosenForReservations("sqlite:mine.db"), "sqlite:mine.db");
  EXPECT_THAT(ChosenForReservations(""), HasSubstr("the URL of the store is empty"));
  environment_.erase("HOME");
  EXPECT_EQ(ChosenForReservations(), "rate-limiter-py:");
  environment_["WEIR_STORE"] = "sqlite:mine.db";
  EXPECT_EQ(ChosenForReservations(), "sqlite:mine.db");
}

// R10. Fails if: with a variable of one table only, a local file is chosen.
TEST_F(StoreChoiceTest, R10AVariableOfOneTableNamesTheTablesOfReservations) {
  environment_["FUNGIBLE_TABLE"] = "tokens";
  environment_["LIMIT_TABLE"] = "limits";
  EXPECT_EQ(ChosenForReservations(), "rate-limiter-py:");
  EXPECT_EQ(ChosenForReservations("sqlite:mine.db"), "sqlite:mine.db");
  environment_ = {{"HOME", "/home/sam"}, {"FUNGIBLE_TABLE", ""}};
  EXPECT_EQ(ChosenForReservations(), "sqlite:/home/sam/.local/state/weir/weir.db");
}

TEST_F(StoreChoiceTest, U5AnEmptyUrlIsRefused) {
  EXPECT_THAT(Chosen(""), HasSubstr("the URL of the store is empty"));
}

TEST_F(StoreChoiceTest, U15ARelativeStateFolderIsIgnored) {
  environment_["XDG_STATE_HOME"] = "state";
  EXPECT_EQ(Chosen(), "sqlite:/home/sam/.local/state/weir/weir.db");
  environment_["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(Chosen(), "sqlite:/state/weir/weir.db");
}

TEST_F(StoreChoiceTest, AMissingFileReadsAsEmptyAndIsOpenedForWriting) {
  const std::string url = "sqlite:" + (folder_ / "a.db");
  EXPECT_EQ(ToOpen(url, Access::kRead), "memory:");
  EXPECT_EQ(ToOpen(url, Access::kWrite), url);
  EXPECT_EQ(ToOpen("sqlite:a.db", Access::kRead), "memory:");
}

TEST_F(StoreChoiceTest, U15AMistypedFolderIsNotAnEmptyStore) {
  const std::string url = "sqlite:" + (folder_ / "no/a.db");
  EXPECT_THAT(ToOpen(url, Access::kRead), HasSubstr("there is no folder"));
  EXPECT_THAT(ToOpen(url, Access::kWrite), HasSubstr("there is no folder"));
}

TEST_F(StoreChoiceTest, ATildeIsNotAHomeFolder) {
  EXPECT_THAT(ToOpen("sqlite:~/a.db", Access::kWrite), HasSubstr("~ is not expanded in a URL"));
}

TEST_F(StoreChoiceTest, APathBelowAFileIsNotAnEmptyStore) {
  std::ofstream(folder_ / "file") << "text";
  const std::string url = "sqlite:" + (folder_ / "file/a.db");
  EXPECT_THAT(ToOpen(url, Access::kRead), HasSubstr("file is a file, not a folder"));
  EXPECT_THAT(ToOpen(url, Access::kWrite), HasSubstr("file is a file, not a folder"));
}

TEST_F(StoreChoiceTest, ALinkWhoseFileIsMissingIsNoEmptyStore) {
  const std::string link = folder_ / "weir.db";
  std::filesystem::create_symlink(folder_ / "unmounted/weir.db", link);
  EXPECT_EQ(ToOpen("sqlite:" + link, Access::kRead), "sqlite:" + link);
}

// C8. Fails if: a path that cannot be examined counts as missing, or ends the process.
TEST_F(StoreChoiceTest, C8APathThatCannotBeLookedAtIsOpened) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  for (const std::string& path : {folder_ / "loop", std::string(5000, 'x')}) {
    EXPECT_EQ(ToOpen("sqlite:" + path, Access::kRead), "sqlite:" + path);
  }
}

TEST_F(StoreChoiceTest, U5NothingIsWrittenWithModeRo) {
  const std::string url = "sqlite:" + (folder_ / "a.db?mode=ro");
  EXPECT_THAT(ToOpen(url, Access::kWrite), AllOf(HasSubstr("a.db"), HasSubstr("mode=ro")));
  EXPECT_EQ(ToOpen(url, Access::kRead), "memory:");
}

TEST_F(StoreChoiceTest, U3AnswersNameTheStoreAndItsNamespace) {
  const auto named = [&](const std::string& url) {
    const Result<StoreName> name = NameOfStore(url, process_);
    return name ? name->store + " " + name->namespace_name : name.error().message;
  };
  EXPECT_EQ(named("memory:"), "memory: ");
  EXPECT_EQ(named("sqlite:///a.db"), "sqlite:/a.db default");
  EXPECT_EQ(named("sqlite:a.db?mode=ro&namespace=team-a"), "sqlite:a.db team-a");
  environment_["ZAEL_NAMESPACE"] = "team-b";
  EXPECT_EQ(named("dynamodb://limits"), "dynamodb://limits?namespace=team-b team-b");
  EXPECT_THAT(named("sqlite:a.db?namspace=x"), HasSubstr("namspace"));
}

}  // namespace
}  // namespace weir::app
