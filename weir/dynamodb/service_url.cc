#include "weir/dynamodb/service_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/model/quoted.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLowerCase = "abcdefghijklmnopqrstuvwxyz";

// The message does not contain the query, which may hold secrets.
tl::unexpected<Error> BadUrl(std::string_view url, const UrlForm& form, std::string_view why) {
  return Fail(Code::kInvalidArgument,
              fmt::format("{} {}: {}; {}", form.what, Quoted(url.substr(0, url.find('?'))), why,
                          form.advice));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns nothing if a % is not followed by two hexadecimal digits.
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

std::optional<std::string>* FieldNamed(ServiceUrl& fields, const UrlForm& form,
                                       std::string_view key) {
  if (key == "region") return &fields.region;
  if (key == "endpoint") return &fields.endpoint;
  if (key == "namespace" && form.has_namespace) return &fields.namespace_name;
  return nullptr;
}

Status ReadPair(std::string_view url, const UrlForm& form, std::string_view pair,
                ServiceUrl& fields) {
  const std::size_t equals = pair.find('=');
  const std::string_view key = pair.substr(0, equals);
  if (key.empty()) return BadUrl(url, form, "it has a parameter without a name");
  std::optional<std::string>* field = FieldNamed(fields, form, key);
  if (field == nullptr) {
    return BadUrl(url, form, fmt::format("{} is not one of its parameters", Quoted(key)));
  }
  if (*field) return BadUrl(url, form, fmt::format("{} is given twice", key));
  if (equals == pair.npos) return BadUrl(url, form, fmt::format("{} has no value", key));
  *field = Decode(pair.substr(equals + 1));
  if (!*field)
    return BadUrl(url, form, fmt::format("{} has a % without two hexadecimal digits", key));
  if ((*field)->empty()) return BadUrl(url, form, fmt::format("{} is empty", key));
  return {};
}

Status ReadQuery(std::string_view url, const UrlForm& form, std::string_view query,
                 ServiceUrl& fields) {
  while (true) {
    const std::size_t end = query.find('&');
    WEIR_RETURN_IF_ERROR(ReadPair(url, form, query.substr(0, end), fields));
    if (end == query.npos) return {};
    query.remove_prefix(end + 1);
  }
}

Result<ServiceUrl> Split(std::string_view url, const UrlForm& form) {
  if (!url.starts_with(form.scheme)) {
    return BadUrl(url, form, fmt::format("its scheme is not {}", form.scheme));
  }
  if (url.find('#') != url.npos) return BadUrl(url, form, "'#' must be written as %23");
  std::string_view rest = url.substr(form.scheme.size());
  if (rest.starts_with("//")) rest.remove_prefix(2);
  const std::size_t question = rest.find('?');
  ServiceUrl fields;
  if (const std::string_view name = rest.substr(0, question); !name.empty()) {
    fields.name = Decode(name);
    if (!fields.name) return BadUrl(url, form, "its name has a % without two hexadecimal digits");
  }
  if (question != rest.npos) {
    WEIR_RETURN_IF_ERROR(ReadQuery(url, form, rest.substr(question + 1), fields));
  }
  return fields;
}

Status CheckRegion(std::string_view region) {
  const auto is_part = [](char c) {
    return c == '-' || kDigits.find(c) != kDigits.npos || kLowerCase.find(c) != kLowerCase.npos;
  };
  if (region.size() <= 64 && std::ranges::all_of(region, is_part)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("region {}: expected a name like eu-west-1", Quoted(region)));
}

// Accepts no path, which would not be signed as it is sent, and no password, which would end up in
// logs.
Status CheckEndpoint(std::string_view endpoint) {
  if (endpoint.empty()) return {};
  std::string_view host = endpoint;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (host.starts_with(scheme)) host.remove_prefix(scheme.size());
  }
  const auto is_part = [](char c) {
    return IsNameCharacter(c) || c == ':' || c == '[' || c == ']';
  };
  if (host != endpoint && !host.empty() && std::ranges::all_of(host, is_part)) return {};
  return Fail(Code::kInvalidArgument,
              "endpoint: expected http:// or https://, a host, and perhaps :PORT");
}

}  // namespace

Status CheckTableName(std::string_view table) {
  const bool fits =
      table.size() >= 3 && table.size() <= 255 && std::ranges::all_of(table, IsNameCharacter);
  if (fits) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("table {}: expected 3 to 255 letters, digits and _.-", Quoted(table)));
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

std::string EncodeForUrl(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (IsNameCharacter(c) || c == ':' || c == '/') {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

Result<ServiceUrl> ReadServiceUrl(std::string_view url, const UrlForm& form) {
  WEIR_ASSIGN_OR_RETURN(ServiceUrl fields, Split(url, form));
  WEIR_RETURN_IF_ERROR(CheckRegion(fields.region.value_or("")));
  WEIR_RETURN_IF_ERROR(CheckEndpoint(fields.endpoint.value_or("")));
  return fields;
}

}  // namespace weir::dynamo
