# The library as it is installed: one static archive for each component, and one shared library of
# all of them.
#
#   weir_component(limiter
#     REQUIRES bucket                    # components below it
#     MODULES limiter reservation        # with the modules below these that no required component has
#     PACKAGES prometheus-cpp absl       # what find_package(weir) looks for on the user's machine
#     PKG_CONFIG prometheus-cpp-core     # the same for pkg-config
#     LINK -lpthread)                    # and libraries that have no file for it
#
# The target is weir_component_NAME, for users weir::NAME.

include(GNUInstallDirs)
set(WEIR_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

# All modules that MODULES need, themselves included.
function(weir_module_closure result)
  set(todo ${ARGN})
  set(closure)
  while(todo)
    list(POP_FRONT todo module)
    if(NOT module IN_LIST closure)
      list(APPEND closure ${module})
      get_property(needed TARGET weir_${module} PROPERTY WEIR_MODULES)
      list(APPEND todo ${needed})
    endif()
  endwhile()
  set(${result} ${closure} PARENT_SCOPE)
endfunction()

function(weir_component name)
  cmake_parse_arguments(ARG "" "" "REQUIRES;MODULES;PACKAGES;PKG_CONFIG;LINK" ${ARGN})
  weir_module_closure(modules ${ARG_MODULES})
  foreach(required IN LISTS ARG_REQUIRES)
    get_property(theirs TARGET weir_component_${required} PROPERTY WEIR_CLOSURE)
    list(REMOVE_ITEM modules ${theirs})
    list(APPEND closure ${theirs})
  endforeach()
  list(APPEND closure ${modules})
  list(REMOVE_DUPLICATES closure)

  set(target weir_component_${name})
  set(objects)
  set(libraries)
  foreach(module IN LISTS modules)
    list(APPEND objects $<TARGET_OBJECTS:weir_${module}>)
    get_property(theirs TARGET weir_${module} PROPERTY WEIR_LIBRARIES)
    list(APPEND libraries ${theirs})
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  list(TRANSFORM ARG_REQUIRES PREPEND weir_component_ OUTPUT_VARIABLE required_targets)
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME weir-${name} EXPORT_NAME ${name}
                        LINKER_LANGUAGE CXX WEIR_CLOSURE "${closure}" WEIR_PACKAGES "${ARG_PACKAGES}"
                        WEIR_REQUIRES "${ARG_REQUIRES}" WEIR_PKG_CONFIG "${ARG_PKG_CONFIG}"
                        WEIR_LINK "${ARG_LINK}")
  target_compile_features(${target} INTERFACE cxx_std_23)
  target_include_directories(${target} INTERFACE
                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} INTERFACE ${required_targets} ${libraries})
  add_library(weir::${name} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY WEIR_COMPONENTS ${name})
endfunction()

# The headers that users may include, and the headers that these include.
function(weir_install_headers)
  set(public ${ARGN})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/public_headers.py ${PROJECT_SOURCE_DIR} ${public}
    OUTPUT_VARIABLE headers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" headers "${headers}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder}
            COMPONENT development)
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/generated/weir/version.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir COMPONENT development)
endfunction()

# A pkg-config file for each component.
function(weir_install_pkg_config name)
  get_property(WEIR_PC_REQUIRES TARGET weir_component_${name} PROPERTY WEIR_REQUIRES)
  list(TRANSFORM WEIR_PC_REQUIRES PREPEND weir-)
  get_property(third_party TARGET weir_component_${name} PROPERTY WEIR_PKG_CONFIG)
  list(JOIN WEIR_PC_REQUIRES " " WEIR_PC_REQUIRES)
  list(JOIN third_party " " third_party)
  string(APPEND WEIR_PC_REQUIRES " ${third_party}")
  get_property(WEIR_PC_LIBS TARGET weir_component_${name} PROPERTY WEIR_LINK)
  list(JOIN WEIR_PC_LIBS " " WEIR_PC_LIBS)
  set(WEIR_PC_NAME ${name})
  # Relative, so that the folder may be moved.
  set(WEIR_PC_PREFIX .)
  cmake_path(RELATIVE_PATH WEIR_PC_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weir.pc.in ${PROJECT_BINARY_DIR}/weir-${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/weir-${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

# The shared library: all components, with the symbols that cmake/exports.map lets out.
function(weir_install_shared)
  get_property(components GLOBAL PROPERTY WEIR_COMPONENTS)
  set(objects)
  set(libraries)
  foreach(name IN LISTS components)
    get_property(theirs TARGET weir_component_${name} PROPERTY SOURCES)
    list(APPEND objects ${theirs})
    get_property(modules TARGET weir_component_${name} PROPERTY WEIR_CLOSURE)
    foreach(module IN LISTS modules)
      get_property(theirs TARGET weir_${module} PROPERTY WEIR_LIBRARIES)
      list(APPEND libraries ${theirs})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  add_library(weir_shared SHARED ${objects})
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(weir_shared PROPERTIES OUTPUT_NAME weir EXPORT_NAME weir LINKER_LANGUAGE CXX
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${exports})
  target_link_options(weir_shared PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)
  target_compile_features(weir_shared INTERFACE cxx_std_23)
  target_include_directories(weir_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(weir_shared PRIVATE ${libraries}
                        PUBLIC tl::expected absl::inlined_vector absl::flat_hash_map absl::int128 Threads::Threads)
  install(TARGETS weir_shared EXPORT weir-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT runtime NAMELINK_COMPONENT development)
  install(EXPORT weir-shared NAMESPACE weir:: DESTINATION ${WEIR_CMAKE_DIR} FILE weir-shared.cmake
          COMPONENT development)
endfunction()

function(weir_install_components)
  get_property(components GLOBAL PROPERTY WEIR_COMPONENTS)
  set(WEIR_CONFIG_COMPONENTS "")
  foreach(name IN LISTS components)
    set(target weir_component_${name})
    install(TARGETS ${target} EXPORT weir-${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            COMPONENT development)
    install(EXPORT weir-${name} NAMESPACE weir:: DESTINATION ${WEIR_CMAKE_DIR}
            FILE weir-${name}.cmake COMPONENT development)
    get_property(required TARGET ${target} PROPERTY WEIR_REQUIRES)
    get_property(packages TARGET ${target} PROPERTY WEIR_PACKAGES)
    list(JOIN required " " required)
    list(JOIN packages " " packages)
    string(APPEND WEIR_CONFIG_COMPONENTS "set(_weir_requires_${name} ${required})\n"
                                         "set(_weir_packages_${name} ${packages})\n")
    weir_install_pkg_config(${name})
  endforeach()
  # AWS's C runtime, unless it is the system's.
  set(crt ${PROJECT_SOURCE_DIR}/build/deps/${WEIR_CRT})
  if(WEIR_WITH_AWS AND aws-c-auth_DIR MATCHES "^${crt}/")
    install(DIRECTORY ${crt}/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir/crt COMPONENT development
            PATTERN weir-stamp EXCLUDE)
  endif()
  # `shared` is the library of all of them, weir::weir.
  string(APPEND WEIR_CONFIG_COMPONENTS "set(_weir_requires_shared)\n"
                                       "set(_weir_packages_shared Threads tl-expected absl)\n")
  list(JOIN components " " WEIR_CONFIG_NAMES)
  string(APPEND WEIR_CONFIG_NAMES " shared")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake @ONLY)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
          DESTINATION ${WEIR_CMAKE_DIR} COMPONENT development)
endfunction()
