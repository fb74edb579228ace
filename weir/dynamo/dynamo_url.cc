#include "weir/dynamo/dynamo_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/model/namespace_name.h"
#include "weir/model/quoted.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kScheme = "dynamodb:";
constexpr std::string_view kForm =
    "write dynamodb://TABLE?region=REGION&endpoint=URL&namespace=NAME";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLowerCase = "abcdefghijklmnopqrstuvwxyz";

struct Fields {
  std::optional<std::string> table;
  std::optional<std::string> region;
  std::optional<std::string> endpoint;
  std::optional<std::string> namespace_name;
};

// Without its query, which may hold what is no reader's business.
tl::unexpected<Error> BadUrl(std::string_view url, std::string_view why) {
  return Fail(Code::kInvalidArgument,
              fmt::format("backend {}: {}; {}", Quoted(url.substr(0, url.find('?'))), why, kForm));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Nothing where a % is not followed by two hexadecimal digits.
std::optional<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

std::string Encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (IsPlain(c) || c == ':' || c == '/') {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::optional<std::string>* FieldNamed(Fields& fields, std::string_view key) {
  if (key == "region") return &fields.region;
  if (key == "endpoint") return &fields.endpoint;
  if (key == "namespace") return &fields.namespace_name;
  return nullptr;
}

Status ReadPair(std::string_view url, std::string_view pair, Fields& fields) {
  const std::size_t equals = pair.find('=');
  const std::string_view key = pair.substr(0, equals);
  std::optional<std::string>* field = FieldNamed(fields, key);
  if (field == nullptr) {
    return BadUrl(url, fmt::format("{} is no key of its query", Quoted(key)));
  }
  if (*field) return BadUrl(url, fmt::format("{} is given twice", key));
  if (equals == pair.npos) return BadUrl(url, fmt::format("{} has no value", key));
  *field = Decode(pair.substr(equals + 1));
  if (!*field) return BadUrl(url, fmt::format("{} has a % without two hexadecimal digits", key));
  if ((*field)->empty()) return BadUrl(url, fmt::format("{} is empty", key));
  return {};
}

Status ReadQuery(std::string_view url, std::string_view query, Fields& fields) {
  while (true) {
    const std::size_t end = query.find('&');
    WEIR_RETURN_IF_ERROR(ReadPair(url, query.substr(0, end), fields));
    if (end == query.npos) return {};
    query.remove_prefix(end + 1);
  }
}

Result<Fields> Split(std::string_view url) {
  if (!url.starts_with(kScheme)) return BadUrl(url, "its scheme is not dynamodb");
  if (url.find('#') != url.npos) return BadUrl(url, "a '#' in it must be written as %23");
  std::string_view rest = url.substr(kScheme.size());
  if (rest.starts_with("//")) rest.remove_prefix(2);
  const std::size_t question = rest.find('?');
  Fields fields;
  if (const std::string_view table = rest.substr(0, question); !table.empty()) {
    fields.table = Decode(table);
    if (!fields.table) return BadUrl(url, "the table has a % without two hexadecimal digits");
  }
  if (question != rest.npos) {
    WEIR_RETURN_IF_ERROR(ReadQuery(url, rest.substr(question + 1), fields));
  }
  return fields;
}

Status CheckRegion(std::string_view region) {
  const auto is_part = [](char c) {
    return c == '-' || kDigits.find(c) != kDigits.npos || kLowerCase.find(c) != kLowerCase.npos;
  };
  if (region.size() <= 64 && std::ranges::all_of(region, is_part)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("region {}: right would be a name like eu-west-1", Quoted(region)));
}

// A path would not be signed as it is sent, and a password would end up in logs.
Status CheckEndpoint(std::string_view endpoint) {
  if (endpoint.empty()) return {};
  std::string_view host = endpoint;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (host.starts_with(scheme)) host.remove_prefix(scheme.size());
  }
  const auto is_part = [](char c) { return IsPlain(c) || c == ':' || c == '[' || c == ']'; };
  if (host != endpoint && !host.empty() && std::ranges::all_of(host, is_part)) return {};
  return Fail(Code::kInvalidArgument,
              "endpoint: right would be http:// or https://, a host, and perhaps :PORT");
}

std::string Default(const Environment& environment, const std::string& variable,
                    std::string_view otherwise) {
  std::optional<std::string> value = environment(variable);
  return value && !value->empty() ? *value : std::string(otherwise);
}

// Says where a name came from that the URL does not hold.
Status From(Status status, bool is_given, std::string_view variable) {
  if (status || is_given) return status;
  return Fail(status.error().code, fmt::format("{}: {}", variable, status.error().message));
}

}  // namespace

Status CheckTableName(std::string_view table) {
  const bool fits = table.size() >= 3 && table.size() <= 255 && std::ranges::all_of(table, IsPlain);
  if (fits) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("table {}: right would be 3 to 255 letters, digits and _.-", Quoted(table)));
}

Result<DynamoUrl> ParseDynamoUrl(std::string_view url, const Environment& environment) {
  WEIR_ASSIGN_OR_RETURN(const Fields fields, Split(url));
  DynamoUrl read{
      .table = fields.table ? *fields.table : Default(environment, "ZAEL_STACK", "zae-limiter"),
      .region = fields.region.value_or(""),
      .endpoint = fields.endpoint.value_or(""),
      .namespace_name = fields.namespace_name ? *fields.namespace_name
                                              : Default(environment, "ZAEL_NAMESPACE", "default")};
  WEIR_RETURN_IF_ERROR(From(CheckTableName(read.table), fields.table.has_value(), "ZAEL_STACK"));
  WEIR_RETURN_IF_ERROR(CheckRegion(read.region));
  WEIR_RETURN_IF_ERROR(CheckEndpoint(read.endpoint));
  WEIR_RETURN_IF_ERROR(From(CheckNameOrId(read.namespace_name), fields.namespace_name.has_value(),
                            "ZAEL_NAMESPACE"));
  return read;
}

std::string ToText(const DynamoUrl& url) {
  std::string text = fmt::format("dynamodb://{}?", url.table);
  if (!url.region.empty()) text += fmt::format("region={}&", Encode(url.region));
  if (!url.endpoint.empty()) text += fmt::format("endpoint={}&", Encode(url.endpoint));
  return text + fmt::format("namespace={}", Encode(url.namespace_name));
}

}  // namespace weir::dynamo
