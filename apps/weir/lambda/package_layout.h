// The names of the files in the package of a Lambda function, for the program that writes it and
// the one that starts in it.
#pragma once

namespace weir::app {

inline constexpr char kAuthoritiesFile[] = "ca-certificates.crt";
inline constexpr char kLibraryFolder[] = "lib";
inline constexpr char kLoaderFile[] = "lib/ld.so";
inline constexpr char kProgramFile[] = "weir";

}  // namespace weir::app
