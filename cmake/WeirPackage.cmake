# Debian packages, by CPack (./dev package): weir, the program; libweir0, the shared library;
# libweir-dev, headers, archives and the files for CMake and pkg-config.

# The project has no address: who publishes packages gives one.
set(WEIR_MAINTAINER "The authors of Weir <weir@localhost>" CACHE STRING "Maintainer of the packages")

set(doc ${CMAKE_INSTALL_DATAROOTDIR}/doc)
set(generated ${PROJECT_BINARY_DIR}/generated)

# The program writes its manual page and completions itself. `filter` is a command for the text.
function(weir_install_written_by_program argument file destination filter)
  add_custom_command(OUTPUT ${generated}/${file}
                     COMMAND sh -c "$<TARGET_FILE:weir> ${argument} | ${filter} > ${generated}/${file}"
                     DEPENDS weir VERBATIM)
  install(FILES ${generated}/${file} DESTINATION ${destination} COMPONENT program)
  set_property(GLOBAL APPEND PROPERTY WEIR_WRITTEN ${generated}/${file})
endfunction()

file(MAKE_DIRECTORY ${generated}/bash ${generated}/zsh ${generated}/fish)
weir_install_written_by_program(man weir.1.gz ${CMAKE_INSTALL_MANDIR}/man1 "gzip -9n")
weir_install_written_by_program("completion bash" bash/weir
                                ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions cat)
weir_install_written_by_program("completion zsh" zsh/_weir
                                ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions cat)
weir_install_written_by_program("completion fish" fish/weir.fish
                                ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d cat)
get_property(written GLOBAL PROPERTY WEIR_WRITTEN)
add_custom_target(weir_written ALL DEPENDS ${written})

foreach(part weir:program libweir0:runtime libweir-dev:development)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 package)
  list(GET part 1 component)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright DESTINATION ${doc}/${package} COMPONENT ${component})
  install(FILES ${generated}/changelog.gz DESTINATION ${doc}/${package} COMPONENT ${component})
endforeach()
file(WRITE ${generated}/changelog
"weir (${PROJECT_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md in the sources.

 -- ${WEIR_MAINTAINER}  Thu, 01 Jan 2026 00:00:00 +0000
")
execute_process(COMMAND gzip -9 -n -f -k ${generated}/changelog COMMAND_ERROR_IS_FATAL ANY)

# What a program that uses the headers compiles and links against.
set(development_packages libabsl-dev libexpected-dev libfmt-dev libyaml-cpp-dev prometheus-cpp-dev
    libsqlite3-dev libsimdjson-dev libssl-dev zlib1g-dev libboost1.81-dev libpugixml-dev libcurl4-openssl-dev)
list(JOIN development_packages ", " development_packages)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program runtime development)
set(CPACK_PACKAGE_CONTACT "${WEIR_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME weir)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Rate limiting for fleets: the program
 Limits for each tenant and resource in SQLite or DynamoDB, slots that are
 given back, and a Kinesis producer that does not throttle itself.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libweir0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Rate limiting for fleets: the shared library
 The library behind weir, with all of its components.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libweir-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libweir0 (= ${PROJECT_VERSION}), ${development_packages}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Rate limiting for fleets: headers and archives
 Headers, an archive for each component, and the files for CMake and pkg-config.")
include(CPack)
