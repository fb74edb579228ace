#include "apps/weir/serve/serve_options.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "apps/weir/arguments.h"
#include "apps/weir/files.h"
#include "weir/model/yaml_checks.h"

namespace weir::app {
namespace {

using Set = std::function<Status(ServeOptions&, const std::string&)>;

// Standard input can be read once, and most files are read again.
Set File(std::string ServeOptions::* field) {
  return [field](ServeOptions& options, const std::string& text) -> Status {
    WEIR_RETURN_IF_ERROR(CheckServeFile(text));
    options.*field = text;
    return {};
  };
}

// Addresses that commas separate.
Set Addresses(std::vector<std::string> ServeOptions::* field) {
  return [field](ServeOptions& options, const std::string& text) -> Status {
    std::vector<std::string>& addresses = options.*field;
    addresses.clear();
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      addresses.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return {};
  };
}

// "off" is none.
Set AddressesOrOff(std::vector<std::string> ServeOptions::* field) {
  return [field](ServeOptions& options, const std::string& text) -> Status {
    if (text != "off") return Addresses(field)(options, text);
    (options.*field).clear();
    return {};
  };
}

Set Number(std::size_t ServeOptions::* field, std::uint64_t low, std::uint64_t high) {
  return [=](ServeOptions& options, const std::string& text) -> Status {
    WEIR_ASSIGN_OR_RETURN(options.*field, ParseIntegerInRange(text, low, high));
    return {};
  };
}

Set Duration(nanoseconds ServeOptions::* field, Result<nanoseconds> (*parse)(std::string_view)) {
  return [=](ServeOptions& options, const std::string& text) -> Status {
    WEIR_ASSIGN_OR_RETURN(options.*field, parse(text));
    return {};
  };
}

Set Flag(bool ServeOptions::* field) {
  return [field](ServeOptions& options, const std::string& text) -> Status {
    if (text != "true" && text != "false") {
      return Fail(Code::kInvalidArgument, fmt::format("'{}' is not true or false", text));
    }
    options.*field = text == "true";
    return {};
  };
}

using Options = ServeOptions;

// The store of the file is not an option here: --store is one of every command.
const auto& Settings() {
  static const std::array settings = {
      ServeSetting{"limits", "FILE", "apply this limits file to the store at the start", "",
                   File(&Options::limits)},
      ServeSetting{"limits-may-delete", "",
                   "also delete records that an earlier limits file set and this one lacks",
                   "false", Flag(&Options::limits_may_delete)},
      ServeSetting{"rules", "FILE", "the descriptor rules; the file is read again when it changes",
                   "", File(&Options::rules)},
      ServeSetting{"tokens", "FILE",
                   "the bearer tokens of callers, hashed; the file is read again when it changes",
                   "", File(&Options::tokens)},
      ServeSetting{"grpc", "ADDRESS,...",
                   "addresses of the gRPC service: HOST:PORT, unix:PATH or systemd:NAME",
                   "127.0.0.1:8081", Addresses(&Options::grpc)},
      ServeSetting{"admin", "ADDRESS,...", "addresses of /metrics, /healthz and /readyz, or off",
                   "127.0.0.1:8082", AddressesOrOff(&Options::admin)},
      ServeSetting{"admin-tls", "", "serve the admin pages over TLS, with the same certificate",
                   "false", Flag(&Options::admin_tls)},
      ServeSetting{"threads", "N", "event loops; 0: one for each CPU of the process", "0",
                   Number(&Options::threads, 0, 256)},
      ServeSetting{"allow-plaintext", "", "listen without TLS beyond this machine", "false",
                   Flag(&Options::allow_plaintext)},
      ServeSetting{"tls-certificate", "FILE", "PEM: the server's certificate and its chain", "",
                   File(&Options::tls_certificate)},
      ServeSetting{"tls-key", "FILE", "PEM: the key of the certificate", "",
                   File(&Options::tls_key)},
      ServeSetting{"tls-client-ca", "FILE", "PEM: require client certificates of these authorities",
                   "", File(&Options::tls_client_ca)},
      ServeSetting{
          "max-connections", "N",
          "maximum number of open connections, as far as descriptors suffice; 0: no other bound",
          "20000", Number(&Options::max_connections, 0, 10'000'000)},
      ServeSetting{"max-connections-per-peer", "N",
                   "maximum number of connections of an IPv4 address or an IPv6 /64; 0: no bound",
                   "0", Number(&Options::max_connections_per_peer, 0, 10'000'000)},
      ServeSetting{"max-streams", "N",
                   "maximum number of requests of a connection at the same time", "256",
                   Number(&Options::max_streams, 1, 100'000)},
      ServeSetting{"max-message", "BYTES",
                   "maximum size of a request; a connection buffers four of them, at least 1 MB",
                   "1048576", Number(&Options::max_message, 1'024, 16'777'216)},
      ServeSetting{"idle-timeout", "DURATION", "close connections without requests after this",
                   "1h", Duration(&Options::idle_timeout, ParsePositiveDuration)},
      ServeSetting{"request-timeout", "DURATION", "the time in which a request has to arrive",
                   "20s", Duration(&Options::request_timeout, ParsePositiveDuration)},
      ServeSetting{"connection-age", "DURATION",
                   "drain connections of this age, up to a tenth later; 0s: never", "0s",
                   Duration(&Options::connection_age, ParseDuration)},
      ServeSetting{"store-timeout", "DURATION", "the maximum time of the store for a request", "5s",
                   Duration(&Options::store_timeout, ParsePositiveDuration)},
      ServeSetting{"drain-timeout", "DURATION",
                   "time for requests to end after a signal; then connections are cut", "10s",
                   Duration(&Options::drain_timeout, ParsePositiveDuration)}};
  return settings;
}

Result<std::string> TextOf(const YamlChecks& checks, const YamlEntry& entry) {
  const std::string& name = entry.key->text;
  const YamlNode& value = *entry.value;
  if (value.kind != YamlNode::Kind::kSequence) {
    WEIR_RETURN_IF_ERROR(checks.Expect(YamlNode::Kind::kScalar, value, name, "one value"));
    return value.text;
  }
  std::string text;
  for (const YamlNode* element : value.elements) {
    WEIR_RETURN_IF_ERROR(
        checks.Expect(YamlNode::Kind::kScalar, *element, name, "a list of values"));
    if (!text.empty()) text += ',';
    text += element->text;
  }
  return text;
}

Status CheckTls(const ServeOptions& options) {
  if (options.admin_tls && options.tls_certificate.empty()) {
    return Fail(Code::kInvalidArgument, "admin-tls needs tls-certificate and tls-key");
  }
  if (options.tls_certificate.empty() == options.tls_key.empty() &&
      (options.tls_client_ca.empty() || !options.tls_key.empty())) {
    return {};
  }
  return Fail(Code::kInvalidArgument,
              "tls-certificate and tls-key belong together, and tls-client-ca needs both");
}

}  // namespace

Status CheckServeFile(const std::string& path) {
  if (path != kStandardStream) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("'{}' is standard input, which the service does not read: give the path of "
                  "a file",
                  kStandardStream));
}

std::span<const ServeSetting> ServeSettings() { return Settings(); }

Result<ServeTexts> ParseServeFile(std::string_view text, std::string_view file_name) {
  WEIR_ASSIGN_OR_RETURN(const YamlTree tree, ParseYaml(text, file_name));
  if (tree.root == nullptr) return ServeTexts();
  std::vector<std::string_view> names = {"store"};
  for (const ServeSetting& setting : Settings()) names.push_back(setting.name);
  const YamlChecks checks(file_name);
  WEIR_RETURN_IF_ERROR(checks.ExpectKeys(*tree.root, "the file", names));
  ServeTexts texts;
  for (const YamlEntry& entry : tree.root->entries) {
    WEIR_ASSIGN_OR_RETURN(std::string value, TextOf(checks, entry));
    // As on the command line: a variable that is not set must not turn a protection off.
    if (value.empty()) {
      return checks.Refuse(entry.key->line, fmt::format("{} is empty", entry.key->text),
                           "a value, or no such key");
    }
    // A wrong value is refused here, with its line.
    ServeOptions ignored;
    for (const ServeSetting& setting : Settings()) {
      if (setting.name != entry.key->text) continue;
      const Status is_set = setting.set(ignored, value);
      if (!is_set) return checks.At(*entry.value, is_set.error());
    }
    texts.insert_or_assign(entry.key->text, std::move(value));
  }
  return texts;
}

Result<ServeOptions> MakeServeOptions(const ServeTexts& texts) {
  ServeOptions options;
  for (const ServeSetting& setting : Settings()) {
    const auto given = texts.find(setting.name);
    if (given == texts.end() && setting.by_default.empty()) continue;
    const std::string text(given == texts.end() ? setting.by_default : given->second);
    const Status is_set = setting.set(options, text);
    if (!is_set) {
      return Fail(is_set.error().code,
                  fmt::format("--{}: {}", setting.name, is_set.error().message));
    }
  }
  if (const auto store = texts.find("store"); store != texts.end()) options.store = store->second;
  options.is_max_connections_given = texts.contains("max-connections");
  WEIR_RETURN_IF_ERROR(CheckTls(options));
  if (options.limits_may_delete && options.limits.empty()) {
    return Fail(Code::kInvalidArgument, "limits-may-delete needs limits");
  }
  return options;
}

}  // namespace weir::app
