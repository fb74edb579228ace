// ParseProfileFile: the result contains no secret. If it is written out as a file and parsed again,
// the result is the same. An error names the file and the line, and is too short to repeat a long
// line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "fuzz/require.h"
#include "weir/aws/credentials/profile_file.h"

namespace weir {
namespace {

constexpr std::string_view kName = "config";

std::string Rewritten(const ProfileSections& sections, std::string_view keyword) {
  std::string text;
  for (const auto& [name, settings] : sections) {
    text +=
        keyword.empty() ? fmt::format("[{}]\n", name) : fmt::format("[{} \"{}\"]\n", keyword, name);
    for (const auto& [setting, value] : settings) {
      text += setting + "=";
      for (const char c : value) text += c == '\n' ? std::string("\n ") : std::string(1, c);
      text += "\n";
    }
  }
  return text;
}

void CheckNoSecret(const ProfileSections& sections) {
  for (const auto& [name, settings] : sections) {
    for (const auto& [setting, value] : settings) {
      Require(!setting.starts_with("aws_"), "what may be a secret is not kept");
    }
  }
}

void CheckRefusal(std::string_view text, const Error& error) {
  RequireRefusal(error);
  std::string_view message = error.message;
  const std::string prefix = fmt::format("{} line ", kName);
  Require(message.starts_with(prefix), "a refusal names the file");
  message.remove_prefix(prefix.size());
  std::int64_t line = 0;
  const auto [end, fault] = std::from_chars(message.data(), message.data() + message.size(), line);
  Require(fault == std::errc() && *end == ':', "a refusal names the line");
  Require(line >= 1 && line <= 1 + std::count(text.begin(), text.end(), '\n'),
          "the file has a line of this number");
  Require(error.message.size() < 100, "a refusal is too short to repeat a long line");
}

void Check(std::string_view text, ProfileFileKind kind) {
  const auto file = ParseProfileFile(text, kind, kName);
  if (!file) return CheckRefusal(text, file.error());
  CheckNoSecret(file->profiles);
  CheckNoSecret(file->services);
  const bool is_config = kind == ProfileFileKind::kConfig;
  const std::string again =
      Rewritten(file->profiles, is_config ? "profile" : "") + Rewritten(file->services, "services");
  const auto read_back = ParseProfileFile(again, kind, kName);
  Require(read_back.has_value(), "what was read is written and read again");
  Require(*read_back == *file, "what was read reads back the same");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  weir::Check(text, weir::ProfileFileKind::kConfig);
  weir::Check(text, weir::ProfileFileKind::kCredentials);
  return 0;
}
