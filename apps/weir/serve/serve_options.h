// The options of `weir serve`, of its command line and of its file.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::app {

struct ServeOptions {
  std::string store;               ///< empty: that of the command line or the environment
  std::string limits;              ///< a limits file that is applied; empty: none
  bool limits_may_delete = false;  ///< otherwise a file that deletes records is refused
  std::string rules;               ///< empty: no rules
  std::string tokens;              ///< the tokens of callers; empty: none is needed
  std::vector<std::string> grpc;
  std::vector<std::string> admin;
  std::size_t threads = 0;  ///< 0: the CPUs that the process may use
  bool allow_plaintext = false;
  bool admin_tls = false;
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  std::size_t max_connections = 0;
  bool is_max_connections_given = false;  ///< otherwise it is the default
  std::size_t max_connections_per_peer = 0;
  std::size_t max_streams = 0;
  std::size_t max_message = 0;
  nanoseconds idle_timeout{};
  nanoseconds request_timeout{};
  nanoseconds connection_age{};
  nanoseconds store_timeout{};
  nanoseconds drain_timeout{};
};

/// An option: how it is written, explained and set.
struct ServeSetting {
  std::string_view name;   ///< without dashes; also the key in the file
  std::string_view value;  ///< a placeholder for help texts; empty: it is a flag
  std::string_view help;
  std::string_view by_default;  ///< empty: nothing is set
  std::function<Status(ServeOptions&, const std::string& text)> set;
};
std::span<const ServeSetting> ServeSettings();

/// The texts of options, as given, by name. A flag has the text "true" or "false".
using ServeTexts = std::map<std::string, std::string, std::less<>>;

/// Refuses `-`, with which other verbs read standard input.
[[nodiscard]] Status CheckServeFile(const std::string& path);

/// Parses a mapping of names to values in YAML. Unknown names are refused.
[[nodiscard]] Result<ServeTexts> ParseServeFile(std::string_view text, std::string_view file_name);
/// Returns the options of the texts and, for those without one, the defaults. Returns
/// kInvalidArgument, with the name of the option, if a text or a combination is wrong.
[[nodiscard]] Result<ServeOptions> MakeServeOptions(const ServeTexts& texts);

}  // namespace weir::app
