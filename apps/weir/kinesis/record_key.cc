#include "apps/weir/kinesis/record_key.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace weir::app {
namespace {

using UnorderedJson = nlohmann::json;

tl::unexpected<Error> NoKeyError(const std::string& why) {
  return Fail(Code::kInvalidArgument, why);
}

Result<std::string> MemberOf(std::string_view line, const std::string& name) {
  const UnorderedJson json = UnorderedJson::parse(line, nullptr, false);
  if (!json.is_object()) return NoKeyError("the line is not a JSON object");
  const auto member = json.find(name);
  if (member == json.end()) {
    return NoKeyError(fmt::format("the JSON object has no member '{}'", name));
  }
  if (member->is_string()) return member->get<std::string>();
  if (member->is_number() || member->is_boolean()) return member->dump();
  return NoKeyError(fmt::format("the member '{}' is not a string, number or boolean", name));
}

Result<std::string> MatchIn(std::string_view line, const regex_t& expression) {
  std::array<regmatch_t, 2> places{};
  places[0].rm_eo = static_cast<regoff_t>(line.size());
  // REG_STARTEND takes the bounds from places[0], so the line may contain NUL bytes and need not
  // end with one.
  const char* const begin_of_line = line.empty() ? "" : &line.front();
  if (regexec(&expression, begin_of_line, places.size(), places.data(), REG_STARTEND) != 0) {
    return NoKeyError("the key expression does not match the line");
  }
  const regmatch_t place = places[expression.re_nsub > 0 ? 1 : 0];
  if (place.rm_so < 0) {
    return NoKeyError("the group of the key expression takes no part in the match");
  }
  const auto begin = static_cast<std::size_t>(place.rm_so);
  return std::string(line.substr(begin, static_cast<std::size_t>(place.rm_eo) - begin));
}

}  // namespace

void RecordKeys::Regex::Free::operator()(regex_t* regex) const {
  regfree(regex);
  delete regex;
}

RecordKeys RecordKeys::Random(std::uint64_t seed) { return RecordKeys(Rng(seed)); }
RecordKeys RecordKeys::Field(std::string name) { return RecordKeys(std::move(name)); }

Result<RecordKeys> RecordKeys::Matching(const std::string& expression) {
  auto compiled = std::make_unique<regex_t>();
  const int problem = regcomp(compiled.get(), expression.c_str(), REG_EXTENDED);
  if (problem != 0) {
    std::array<char, 200> text{};
    regerror(problem, compiled.get(), text.data(), text.size());
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}' is not a valid POSIX extended regular expression: {}", expression,
                            text.data()));
  }
  return RecordKeys(Regex{std::unique_ptr<regex_t, Regex::Free>(compiled.release())});
}

Result<std::string> RecordKeys::KeyOf(std::string_view line) {
  if (auto* rng = std::get_if<Rng>(&source_)) return fmt::format("{:08x}", rng->Next() >> 32);
  if (const auto* name = std::get_if<std::string>(&source_)) return MemberOf(line, *name);
  return MatchIn(line, *std::get<Regex>(source_).compiled);
}

}  // namespace weir::app
