#include "weir/aws/service_location.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/aws/credentials/profile_file.h"

namespace weir {
namespace {

using Text = std::optional<std::string>;

constexpr std::string_view kUsualSuffix = "amazonaws.com";
/// Suffixes of host names by the beginning of the region (botocore's partitions.json).
constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
    {"cn-", "amazonaws.com.cn"},   {"eusc-", "amazonaws.eu"},      {"us-iso-", "c2s.ic.gov"},
    {"us-isob-", "sc2s.sgov.gov"}, {"eu-isoe-", "cloud.adc-e.uk"}, {"us-isof-", "csp.hci.ic.gov"},
};

std::string ToUpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

bool IsTrue(std::string_view text) { return ToUpperCase(text) == "TRUE"; }

/// A URL and its source.
struct Found {
  std::string where;
  std::string url;
};

Text NotEmpty(Text text) { return text && text->empty() ? std::nullopt : std::move(text); }

tl::unexpected<Error> InvalidLocation(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message));
}

/// Returns a setting; nothing if it is missing or empty.
Text FindSetting(const ProfileSettings& settings, std::string_view name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::nullopt : NotEmpty(found->second);
}

/// The search of one call of LocateService.
class Search {
 public:
  Search(const ServiceOptions& options, const HostEnvironment& environment)
      : options_(options), environment_(environment) {}

  Result<ServiceLocation> Run() {
    WEIR_RETURN_IF_ERROR(ReadProfile());
    WEIR_ASSIGN_OR_RETURN(std::string region, FindRegion());
    WEIR_ASSIGN_OR_RETURN(const Found found, FindUrl(region));
    Result<Endpoint> endpoint = ParseEndpoint(found.url);
    if (!endpoint)
      return InvalidLocation(fmt::format("{}: {}", found.where, endpoint.error().message));
    return ServiceLocation{std::move(region), *std::move(endpoint)};
  }

 private:
  Text ReadVariable(std::string_view name) const {
    return NotEmpty(environment_.environment(name));
  }

  /// Returns the path in the variable, or `usual` below the home directory.
  std::string PathOf(std::string_view variable, std::string_view usual) const {
    std::string path = ReadVariable(variable).value_or("~/" + std::string(usual));
    if (!path.starts_with("~/")) return path;
    return ReadVariable("HOME").value_or("") + path.substr(1);
  }

  Result<ProfileFile> ReadFile(const std::string& path, ProfileFileKind kind) const {
    const Result<std::string> text = environment_.read_file(path);
    if (text) return ParseProfileFile(*text, kind, path);
    if (text.error().code == Code::kNotFound) return ProfileFile();
    return Fail(text.error());
  }

  Status ReadProfile() {
    config_path_ = PathOf("AWS_CONFIG_FILE", ".aws/config");
    const std::string credentials_path = PathOf("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    WEIR_ASSIGN_OR_RETURN(ProfileFile config, ReadFile(config_path_, ProfileFileKind::kConfig));
    WEIR_ASSIGN_OR_RETURN(ProfileFile credentials,
                          ReadFile(credentials_path, ProfileFileKind::kCredentials));
    const Text named = options_.profile ? options_.profile : ReadVariable("AWS_PROFILE");
    name_ = named.value_or("default");
    const bool found = config.profiles.contains(name_) || credentials.profiles.contains(name_);
    if (named && !found) {
      return InvalidLocation(fmt::format("profile {} is neither in {} nor in {}", name_,
                                         config_path_, credentials_path));
    }
    profile_ = std::move(credentials.profiles[name_]);
    profile_.merge(config.profiles[name_]);
    services_ = std::move(config.services);
    return {};
  }

  Result<std::string> FindRegion() const {
    Text region = NotEmpty(options_.region);
    if (!region) region = ReadVariable("AWS_REGION");
    if (!region) region = ReadVariable("AWS_DEFAULT_REGION");
    if (!region) region = FindSetting(profile_, "region");
    if (!region) {
      return InvalidLocation(
          fmt::format("no AWS region: give one as an option (region=eu-west-1), in "
                      "AWS_REGION, or as region of profile {} in {}",
                      name_, config_path_));
    }
    // The region becomes a part of a host name.
    const bool sound =
        region->size() <= 63 &&
        region->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (!sound)
      return InvalidLocation(
          "the AWS region is not a name like eu-west-1: lower-case letters, digits and '-'");
    return *std::move(region);
  }

  Result<Found> FindUrl(const std::string& region) const {
    if (const Text url = NotEmpty(options_.endpoint_url)) return Found{"options", *url};
    WEIR_ASSIGN_OR_RETURN(std::optional<Found> configured, ConfiguredEndpoint());
    if (configured) return *std::move(configured);
    return Found{"region " + region, "https://" + UsualHost(region)};
  }

  /// Returns the endpoint of the environment or the profile, if there is one.
  Result<std::optional<Found>> ConfiguredEndpoint() const {
    Text ignore = ReadVariable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    if (!ignore) ignore = FindSetting(profile_, "ignore_configured_endpoint_urls");
    if (ignore && IsTrue(*ignore)) return std::optional<Found>();
    for (const std::string& name :
         {"AWS_ENDPOINT_URL_" + ToUpperCase(options_.service), std::string("AWS_ENDPOINT_URL")}) {
      if (Text url = ReadVariable(name)) return Found{name, *std::move(url)};
    }
    WEIR_ASSIGN_OR_RETURN(std::optional<Found> found, OfServicesSection());
    if (found) return found;
    Text url = FindSetting(profile_, "endpoint_url");
    if (url) found = Found{fmt::format("endpoint_url of profile {}", name_), *std::move(url)};
    return found;
  }

  Result<std::optional<Found>> OfServicesSection() const {
    const Text section = FindSetting(profile_, "services");
    if (!section) return std::optional<Found>();
    const auto services = services_.find(*section);
    if (services == services_.end()) {
      return InvalidLocation(
          fmt::format("profile {} names the section [services {}], which is not in {}", name_,
                      *section, config_path_));
    }
    const Text url = FindSetting(services->second, options_.service + ".endpoint_url");
    if (!url) return std::optional<Found>();
    return Found{fmt::format("[services {}] in {}", *section, config_path_), *url};
  }

  std::string UsualHost(const std::string& region) const {
    std::string_view suffix = kUsualSuffix;
    for (const auto& [prefix, other] : kSuffixes) {
      if (region.starts_with(prefix)) suffix = other;
    }
    const bool streams = options_.service == "dynamodb_streams";
    return fmt::format("{}.{}.{}", streams ? "streams.dynamodb" : SigningName(options_.service),
                       region, suffix);
  }

  const ServiceOptions& options_;
  const HostEnvironment& environment_;
  std::string config_path_;
  std::string name_;  ///< the name of the profile
  ProfileSettings profile_;
  ProfileSections services_;
};

}  // namespace

std::string_view SigningName(std::string_view service) {
  if (service == "dynamodb_streams") return "dynamodb";
  return service == "cloudwatch" ? "monitoring" : service;
}

bool IsHostOfAws(std::string_view host) {
  const auto ends_in = [host](std::string_view domain) {
    return host.ends_with(domain) && host.substr(0, host.size() - domain.size()).ends_with('.');
  };
  return ends_in(kUsualSuffix) ||
         std::ranges::any_of(kSuffixes, [&](const auto& pair) { return ends_in(pair.second); });
}

Result<ServiceLocation> LocateService(const ServiceOptions& options,
                                      const HostEnvironment& environment) {
  return Search(options, environment).Run();
}

}  // namespace weir
