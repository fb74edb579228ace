// The source of the partition keys of lines.
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
  /// Draws random keys, which spread evenly over all shards. Equal seeds give equal keys.
  static RecordKeys Random(std::uint64_t seed);
  /// The key is the member of this name of the line, a JSON object: text unchanged, numbers and
  /// booleans as JSON.
  static RecordKeys Field(std::string name);
  /// The key is the text that the first group matches or, if there is no group, that the whole
  /// expression matches. Returns kInvalidArgument if `expression` is not a valid POSIX extended
  /// regular expression.
  [[nodiscard]] static Result<RecordKeys> Matching(const std::string& expression);

  /// Returns the key of a line, or kInvalidArgument with the reason if the line has no key.
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
