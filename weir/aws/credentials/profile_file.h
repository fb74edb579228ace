// AWS's shared config and credentials files, from which regions and endpoints are read.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Names are in lower case. A nested setting is named like "dynamodb.endpoint_url".
using ProfileSettings = std::map<std::string, std::string, std::less<>>;
using ProfileSections = std::map<std::string, ProfileSettings, std::less<>>;

struct ProfileFile {
  ProfileSections profiles;
  ProfileSections services;  ///< [services NAME]

  friend bool operator==(const ProfileFile&, const ProfileFile&) = default;
};

enum class ProfileFileKind {
  kConfig,       ///< [default], [profile NAME], [services NAME]; other sections are skipped
  kCredentials,  ///< [NAME]
};

/// Parses the text of such a file, as described by "Format of the config and credentials files" in
/// AWS's "SDKs and Tools Reference Guide": `name = value` below a [section]. A line that begins
/// with blanks continues the value above it, or is a nested setting if that value is empty. '#' and
/// ';' begin a comment at the start of a line and after a blank. Sections of the same name are
/// merged; if a setting is repeated, the later one counts.
///
/// Settings whose name begins with aws_ are discarded, because they may be secrets. Errors are
/// kInvalidArgument, with `file` and the line number, but without the text of the line.
Result<ProfileFile> ParseProfileFile(std::string_view text, ProfileFileKind kind,
                                     std::string_view file);

}  // namespace weir
