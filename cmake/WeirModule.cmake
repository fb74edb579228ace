# One static library for each module, and what each may depend on.
#
#   weir_module(bucket
#     PURPOSE "the arithmetic"          # one line, shown in the README's table
#     MODULES base                      # modules it may include; each must be defined already
#     LIBRARIES fmt::fmt                # third-party targets
#     HEADERS bucket.h                  # what other modules are meant to include
#     SOURCES bucket.cc
#     TESTING testing/reference.cc      # sources of test support: the target weir_bucket_testing
#     TESTS bucket_test.cc              # one test program a module: bucket_test
#     TEST_MODULES sim                  # modules only the tests may include
#     BENCHES bucket_bench.cc)          # linked into bench/weir_bench
#
# Module `x` is the target weir_x. A module that is for tests only says TESTONLY.

set(WEIR_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
                  -Wnon-virtual-dtor -Werror)

function(weir_warnings target)
  if(WEIR_DEVELOPER)
    target_compile_options(${target} PRIVATE ${WEIR_WARNINGS})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${target} PRIVATE -Wthread-safety
                             -Wno-missing-designated-field-initializers)
    else()
      # g++ 12 reports designated initialisers that leave defaulted members out, and takes the
      # storage of an empty optional or inlined vector for something that is read.
      target_compile_options(${target} PRIVATE -Wno-missing-field-initializers
                                               -Wno-maybe-uninitialized)
      if(CMAKE_UNITY_BUILD)
        # g++ takes the sources that a batch includes for headers.
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
      endif()
    endif()
  endif()
endfunction()

# weir_compile_options(TARGET [TESTS]). TESTS: its sources include gtest.
function(weir_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  weir_warnings(${target})
  if(WEIR_PRECOMPILED)
    set(precompiled weir_precompiled)
    if("TESTS" IN_LIST ARGN)
      set(precompiled weir_precompiled_tests)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

# What most sources include, compiled once: a third less time for who compiles everything again. A
# source that forgets an #include is found where this is off.
function(weir_precompile)
  weir_precompiled(weir_precompiled)
  target_precompile_headers(weir_precompiled PRIVATE ${WEIR_PRECOMPILED_HEADERS})
  if(WEIR_DEVELOPER)
    weir_precompiled(weir_precompiled_tests)
    target_link_libraries(weir_precompiled_tests PRIVATE GTest::gmock rapidcheck
                          nlohmann_json::nlohmann_json)
    target_precompile_headers(weir_precompiled_tests PRIVATE ${WEIR_PRECOMPILED_HEADERS} <atomic>
                              <thread> <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>
                              <rapidcheck/gtest.h>)
  endif()
endfunction()

set(WEIR_PRECOMPILED_HEADERS
    <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional> <set> <span>
    <string> <string_view> <utility> <variant> <vector> <absl/container/flat_hash_map.h>
    <fmt/format.h> <tl/expected.hpp>)

function(weir_precompiled target)
  add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_compile_features(${target} PUBLIC cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # g++ takes only what was compiled with the same options, warnings included.
  weir_warnings(${target})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # ccache keeps what uses them only if they are the same each time.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  else()
    target_compile_options(${target} PUBLIC -fpch-preprocess)
  endif()
  target_link_libraries(${target} PRIVATE absl::flat_hash_map fmt::fmt tl::expected)
endfunction()

function(weir_require_modules module)
  foreach(needed IN LISTS ARGN)
    if(NOT TARGET weir_${needed})
      message(FATAL_ERROR "module ${module} needs module ${needed}, which is not defined above it: "
                          "modules depend on each other without cycles (see CMakeLists.txt)")
    endif()
  endforeach()
endfunction()

function(weir_module module)
  cmake_parse_arguments(ARG "TESTONLY" "PURPOSE"
    "MODULES;LIBRARIES;HEADERS;SOURCES;TESTING;TESTS;TEST_MODULES;TEST_LIBRARIES;BENCHES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_PURPOSE)
    message(FATAL_ERROR "module ${module}: PURPOSE missing or words not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(ARG_TESTONLY AND NOT WEIR_DEVELOPER)
    return()
  endif()
  weir_require_modules(${module} ${ARG_MODULES})

  # Files that `./dev mutants` changes: each change compiles one of them, not a batch.
  set_source_files_properties(${WEIR_COMPILED_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(weir_${module} STATIC ${ARG_SOURCES})
  weir_compile_options(weir_${module})
  target_sources(weir_${module} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                                     FILES ${ARG_HEADERS})
  set_target_properties(weir_${module} PROPERTIES LINKER_LANGUAGE CXX WEIR_MODULES "${ARG_MODULES}"
                        WEIR_LIBRARIES "${ARG_LIBRARIES}")
  list(TRANSFORM ARG_MODULES PREPEND weir_ OUTPUT_VARIABLE module_targets)
  target_link_libraries(weir_${module} PUBLIC ${module_targets} ${ARG_LIBRARIES})

  list(JOIN ARG_MODULES " " modules)
  list(JOIN ARG_TEST_MODULES " " test_modules)
  set_property(GLOBAL APPEND PROPERTY WEIR_DEPENDENCIES
               "${module} -> ${modules} | ${test_modules} | ${ARG_PURPOSE}")
  if(WEIR_DEVELOPER)
    list(TRANSFORM ARG_TEST_MODULES PREPEND weir_ OUTPUT_VARIABLE test_targets)
    foreach(needed IN LISTS ARG_MODULES)
      if(TARGET weir_${needed}_testing)
        list(APPEND test_targets weir_${needed}_testing)
      endif()
    endforeach()
    if(ARG_TESTING)
      weir_testing(${module} SOURCES ${ARG_TESTING} LIBRARIES ${test_targets})
      list(PREPEND test_targets weir_${module}_testing)
    endif()
    if(ARG_TESTS)
      weir_test(${module}_test SOURCES ${ARG_TESTS}
                LIBRARIES weir_${module} ${test_targets} ${ARG_TEST_LIBRARIES})
    endif()
  endif()
  if(ARG_BENCHES)
    list(TRANSFORM ARG_BENCHES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set_property(GLOBAL APPEND PROPERTY WEIR_BENCH_SOURCES ${ARG_BENCHES})
    set_property(GLOBAL APPEND PROPERTY WEIR_BENCH_MODULES weir_${module})
  endif()
endfunction()

# What `./dev check` builds and runs for a sanitizer: programs that end by themselves and need
# nothing else.
if(WEIR_DEVELOPER)
  add_custom_target(unit_tests)
  add_custom_target(run_unit_tests)
endif()

# Sources of tests that read files of the source tree: they get WEIR_SOURCE_DIR. Others do without, so
# that a compiler cache serves several checkouts.
function(weir_reads_source_tree)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS
                              WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

# The test support of a module; that of the modules below it is linked too.
function(weir_testing module)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(weir_${module}_testing STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  weir_compile_options(weir_${module}_testing TESTS)
  target_link_libraries(weir_${module}_testing PUBLIC weir_${module} ${ARG_LIBRARIES} GTest::gtest
                                                      GTest::gmock rapidcheck)
endfunction()

# A test program; ctest lists each of its tests by name. The target run_NAME runs them all in one
# process: under a sanitizer a start takes longer than most of them.
function(weir_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  weir_compile_options(${name} TESTS)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock
                                        GTest::gtest_main rapidcheck)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 300 PROCESSORS 2)
  add_dependencies(unit_tests ${name})
  # A test that hangs fails before the time of a whole check is over.
  add_custom_target(run_${name} COMMAND timeout 900 $<TARGET_FILE:${name}> VERBATIM)
  add_dependencies(run_unit_tests run_${name})
endfunction()

# Writes what the modules declared to dependencies.txt; tools/check_layers.py holds every #include
# against it.
function(weir_write_dependencies)
  get_property(dependencies GLOBAL PROPERTY WEIR_DEPENDENCIES)
  list(JOIN dependencies "\n" text)
  file(WRITE ${PROJECT_BINARY_DIR}/dependencies.txt "${text}\n")
endfunction()
