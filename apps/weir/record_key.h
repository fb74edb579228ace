// Where the partition keys of lines come from.
#pragma once

#include <regex.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "weir/base/result.h"
#include "weir/base/rng.h"

namespace weir::app {

class RecordKeys {
 public:
  /// Keys that spread evenly over all shards; equal seeds, equal keys.
  static RecordKeys Random(std::uint64_t seed);
  /// The member of that name of lines that are JSON objects: text as it is, numbers and truth
  /// values as JSON writes them.
  static RecordKeys Field(std::string name);
  /// What the first group matches, or all of the expression where it has no group. POSIX extended
  /// regular expressions. kInvalidArgument where it is none.
  [[nodiscard]] static Result<RecordKeys> Matching(const std::string& expression);

  /// kInvalidArgument: the line has no key, and why.
  [[nodiscard]] Result<std::string> KeyOf(std::string_view line);

 private:
  struct Regex {
    struct Free {
      void operator()(regex_t* regex) const;
    };
    std::unique_ptr<regex_t, Free> compiled;
  };
  using Source = std::variant<Rng, std::string, Regex>;
  explicit RecordKeys(Source source) : source_(std::move(source)) {}

  Source source_;
};

}  // namespace weir::app
