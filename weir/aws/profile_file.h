// AWS's shared config and credentials files, as far as places and endpoints are read from them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Names in lower case. A setting below another is "dynamodb.endpoint_url".
using ProfileSettings = std::map<std::string, std::string, std::less<>>;
using ProfileSections = std::map<std::string, ProfileSettings, std::less<>>;

struct ProfileFile {
  ProfileSections profiles;
  ProfileSections services;  ///< [services NAME]

  friend bool operator==(const ProfileFile&, const ProfileFile&) = default;
};

enum class ProfileFileKind {
  kConfig,       ///< [default], [profile NAME], [services NAME]; other sections are passed over
  kCredentials,  ///< [NAME]
};

/// Reads the text of such a file, as "Format of the config and credentials files" in AWS's "SDKs
/// and Tools Reference Guide" says: `name = value` below a [section]; a line that begins with
/// blanks goes on with the value, or is a setting below it where that is empty; '#' and ';' begin a
/// comment at the start of a line and after a blank. Sections and settings that come twice: the
/// later one counts.
///
/// What begins with aws_ is not kept: it may be a secret. kInvalidArgument, with `file` and the
/// number of the line, and without its text.
Result<ProfileFile> ParseProfileFile(std::string_view text, ProfileFileKind kind,
                                     std::string_view file);

}  // namespace weir
