#include "weir/aws/service_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weir {
namespace {

using ::testing::HasSubstr;

/// An environment and files that are independent of this machine's.
struct World {
  HostEnvironment Given() {
    return {.environment = [this](std::string_view name) -> std::optional<std::string> {
              const auto found = environment.find(name);
              if (found == environment.end()) return std::nullopt;
              return found->second;
            },
            .read_file = [this](const std::string& path) -> Result<std::string> {
              const auto found = files.find(path);
              if (found == files.end()) return Fail(Code::kNotFound, "no such file: " + path);
              return found->second;
            }};
  }
  Result<ServiceLocation> Locate(const ServiceOptions& options = {.service = "dynamodb"}) {
    return LocateService(options, Given());
  }
  std::string Url(const ServiceOptions& options = {.service = "dynamodb"}) {
    const auto found = Locate(options);
    if (!found) return found.error().message;
    return (found->endpoint.tls ? "https://" : "http://") + HostHeader(found->endpoint);
  }
  std::string Region(const ServiceOptions& options = {.service = "dynamodb"}) {
    const auto found = Locate(options);
    return found ? found->region : found.error().message;
  }

  std::map<std::string, std::string, std::less<>> environment = {{"HOME", "/home/a"}};
  std::map<std::string, std::string> files;
};

const std::string kConfig = "/home/a/.aws/config";
const std::string kCredentials = "/home/a/.aws/credentials";

TEST(LocateService, TheRegionsOwnEndpointIsTheDefault) {
  World world;
  const auto in = [&](const char* service, const char* region) {
    return world.Url({.service = service, .region = region});
  };
  EXPECT_EQ(in("dynamodb", "eu-west-1"), "https://dynamodb.eu-west-1.amazonaws.com");
  EXPECT_EQ(in("kinesis", "us-gov-west-1"), "https://kinesis.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(in("dynamodb", "cn-north-1"), "https://dynamodb.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(in("kinesis", "us-isob-east-1"), "https://kinesis.us-isob-east-1.sc2s.sgov.gov");
  EXPECT_EQ(in("dynamodb_streams", "eu-west-1"),
            "https://streams.dynamodb.eu-west-1.amazonaws.com");
  EXPECT_EQ(in("cloudwatch", "cn-north-1"), "https://monitoring.cn-north-1.amazonaws.com.cn");
}

TEST(LocateService, SomeServicesAreSignedForAnotherName) {
  EXPECT_EQ(SigningName("dynamodb"), "dynamodb");
  EXPECT_EQ(SigningName("dynamodb_streams"), "dynamodb");
  EXPECT_EQ(SigningName("cloudwatch"), "monitoring");
}

TEST(LocateService, TheRegionComesFromTheFirstPlaceThatNamesOne) {
  World world;
  world.files[kConfig] = "[default]\nregion = of-profile\n";
  EXPECT_EQ(world.Region(), "of-profile");
  world.environment["AWS_DEFAULT_REGION"] = "of-default";
  EXPECT_EQ(world.Region(), "of-default");
  world.environment["AWS_REGION"] = "of-environment";
  EXPECT_EQ(world.Region(), "of-environment");
  EXPECT_EQ(world.Region({.service = "dynamodb", .region = "of-options"}), "of-options");
  world.environment["AWS_REGION"] = "";
  EXPECT_EQ(world.Region(), "of-default") << "empty is not set";
}

TEST(LocateService, NoRegionSaysWhereToGiveOne) {
  World world;
  const auto found = world.Locate();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kInvalidArgument);
  EXPECT_EQ(found.error().message,
            "no AWS region: give one as an option (region=eu-west-1), in AWS_REGION, or as region "
            "of profile default in /home/a/.aws/config");
}

TEST(LocateService, ARegionThatIsNoPartOfAHostNameIsRefused) {
  World world;
  for (const char* region : {"eu west", "evil.example.com/", "EU-WEST-1", "a\nb"}) {
    EXPECT_THAT(world.Region({.service = "dynamodb", .region = region}),
                HasSubstr("not a name like eu-west-1"));
  }
}

/// One source that may name an endpoint, in decreasing order of precedence.
struct EndpointPlace {
  const char* url;
  void (*put)(World&, ServiceOptions&);
};
const std::vector<EndpointPlace> kEndpointPlaces = {
    {"http://of-options", [](World&, ServiceOptions& o) { o.endpoint_url = "http://of-options"; }},
    {"http://of-service",
     [](World& w, ServiceOptions&) {
       w.environment["AWS_ENDPOINT_URL_DYNAMODB"] = "http://of-service";
     }},
    {"http://of-all",
     [](World& w, ServiceOptions&) { w.environment["AWS_ENDPOINT_URL"] = "http://of-all"; }},
    {"http://of-section",
     [](World& w, ServiceOptions&) {
       w.files[kConfig] +=
           "[default]\nservices = s\n[services s]\ndynamodb =\n  endpoint_url = "
           "http://of-section\n";
     }},
    {"http://of-profile",
     [](World& w, ServiceOptions&) {
       w.files[kConfig] += "[default]\nendpoint_url = http://of-profile\n";
     }},
};

// Fails if: any two sources of the endpoint change their order, or the source of another service is
// used.
RC_GTEST_PROP(LocateServiceProperty, TheStrongestPlaceThatNamesAnEndpointCounts, ()) {
  World world;
  world.environment["AWS_ENDPOINT_URL_KINESIS"] = "http://of-kinesis";
  ServiceOptions options = {.service = "dynamodb", .region = "r"};
  std::string expected = "https://dynamodb.r.amazonaws.com";
  std::string explicit_only = expected;
  for (auto place = kEndpointPlaces.rbegin(); place != kEndpointPlaces.rend(); ++place) {
    if (!*rc::gen::arbitrary<bool>()) continue;
    place->put(world, options);
    expected = place->url;
  }
  if (options.endpoint_url) explicit_only = *options.endpoint_url;
  RC_ASSERT(world.Url(options) == expected);
  world.environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "True";
  RC_ASSERT(world.Url(options) == explicit_only);
}

TEST(LocateService, TheProfileMaySayToIgnoreEndpoints) {
  World world;
  world.environment["AWS_ENDPOINT_URL"] = "http://local";
  world.files[kConfig] = "[default]\nregion = r\nignore_configured_endpoint_urls = true\n";
  EXPECT_EQ(world.Url(), "https://dynamodb.r.amazonaws.com");
  world.environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false";
  EXPECT_EQ(world.Url(), "http://local") << "the environment counts first";
}

TEST(LocateService, TheProfileIsTheOneThatIsNamed) {
  World world;
  world.files[kConfig] =
      "[default]\nregion = d\n[profile a]\nregion = a\n[profile b]\nregion = b\n";
  EXPECT_EQ(world.Region(), "d");
  world.environment["AWS_PROFILE"] = "a";
  EXPECT_EQ(world.Region(), "a");
  EXPECT_EQ(world.Region({.service = "dynamodb", .profile = "b"}), "b");
  EXPECT_EQ(world.Region({.service = "dynamodb", .profile = "c"}),
            "profile c is neither in /home/a/.aws/config nor in /home/a/.aws/credentials");
}

TEST(LocateService, TheFilesAreWhereTheEnvironmentSays) {
  World world;
  world.environment["AWS_CONFIG_FILE"] = "~/elsewhere";
  world.environment["AWS_SHARED_CREDENTIALS_FILE"] = "/secrets";
  world.files["/home/a/elsewhere"] = "[profile a]\nregion = r\nservices = s\n";
  world.files["/secrets"] = "[a]\naws_secret_access_key = x\nregion = stronger\n";
  world.environment["AWS_PROFILE"] = "a";
  EXPECT_EQ(world.Region(),
            "profile a names the section [services s], which is not in "
            "/home/a/elsewhere");
  world.files["/home/a/elsewhere"] += "[services s]\n";
  EXPECT_EQ(world.Region(), "stronger");
}

TEST(LocateService, ABadUrlSaysWhereItStands) {
  World world;
  world.environment["AWS_REGION"] = "r";
  world.environment["AWS_ENDPOINT_URL"] = "localhost:8000";
  EXPECT_THAT(world.Url(), HasSubstr("AWS_ENDPOINT_URL: endpoint \"localhost:8000\": it begins"));
  world.environment.erase("AWS_ENDPOINT_URL");
  world.files[kConfig] = "[default]\nendpoint_url = h\n";
  EXPECT_THAT(world.Url(), HasSubstr("endpoint_url of profile default: endpoint"));
}

TEST(LocateService, AFileThatCannotBeReadIsSaid) {
  World world;
  world.files[kCredentials] = "nonsense\n";
  EXPECT_THAT(world.Region(), HasSubstr("/home/a/.aws/credentials line 1"));
  HostEnvironment forbidden = world.Given();
  forbidden.read_file = [](const std::string& path) -> Result<std::string> {
    return Fail(Code::kPermissionDenied, path + ": not readable");
  };
  const auto found = LocateService({.service = "dynamodb"}, forbidden);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kPermissionDenied);
}

TEST(LocateService, HostsOfAwsAreKnown) {
  for (const char* host : {"s3.eu-west-1.amazonaws.com", "dynamodb.cn-north-1.amazonaws.com.cn",
                           "sts.us-iso-east-1.c2s.ic.gov"}) {
    EXPECT_TRUE(IsHostOfAws(host)) << host;
  }
  for (const char* host :
       {"localhost", "notamazonaws.com", "amazonaws.com", "amazonaws.com.evil.example"}) {
    EXPECT_FALSE(IsHostOfAws(host)) << host;
  }
}

}  // namespace
}  // namespace weir
