#include "apps/weir/lambda/function_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "apps/weir/files.h"
#include "weir/base/testing/temp_folder_fixture.h"

namespace weir::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kElf[] =
    "\x7f"
    "ELF";

class FunctionPackageTest : public testing::Test {
 protected:
  std::string Authorities(const std::string& text) {
    EXPECT_TRUE(WriteFile(path_, text));
    return path_;
  }
  const TempFolder folder_;
  const std::string path_ = folder_ / "ca.crt";
};

TEST_F(FunctionPackageTest, HasAllThatTheProgramLoads) {
  const std::string certificates = "-----BEGIN CERTIFICATE-----\n";
  const auto files = FilesOfFunction(Authorities(certificates));
  ASSERT_TRUE(files) << files.error().message;
  std::map<std::string, PackageFile> by_name;
  for (const PackageFile& file : *files) by_name[file.name] = file;
  ASSERT_EQ(by_name.size(), files->size()) << "each name once";
  for (const char* name : {"bootstrap", "weir", "lib/ld.so"}) {
    EXPECT_TRUE(by_name[name].is_executable) << name;
    EXPECT_THAT(by_name[name].content, StartsWith(kElf)) << name;
  }
  for (const char* name : {"lib/libc.so.6", "lib/libstdc++.so.6", "lib/libssl.so.3"}) {
    EXPECT_THAT(by_name[name].content, StartsWith(kElf)) << name;
  }
  EXPECT_EQ(by_name["ca-certificates.crt"].content, certificates);
  EXPECT_FALSE(by_name.contains("linux-vdso.so.1"));
}

TEST_F(FunctionPackageTest, NamesTheAuthoritiesThatAreMissing) {
  const auto missing = FilesOfFunction(folder_ / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("authorities to trust: "));
  EXPECT_THAT(missing.error().message, HasSubstr("--ca-file FILE names others"));
  const auto empty = FilesOfFunction(Authorities("no certificate"));
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("ca.crt: has no certificate in PEM form"));
}

}  // namespace
}  // namespace weir::app
