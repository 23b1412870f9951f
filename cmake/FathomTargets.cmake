# One folder = one target = one idea.
#
#   fathom_library(binary/elf SOURCES elf_file.cpp DEPENDS base TESTS elf_file_test.cpp LIBRARIES PkgConfig::X)
#
# A target exports only its own headers: they are reached as "binary/elf/elf_file.h" through a folder of links made for
# this target alone, so an include of a folder that is not in DEPENDS does not compile. A folder inside of a floor is a
# target too: fathom_library(analysis/core ...) is the target fathom_analysis_core, its headers are "analysis/core/...".

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(fmt REQUIRED)
include(GoogleTest)

# g++ 12 sees an overlap in `"text" + string` where there is none (GCC bug 105651). What its optimizer guesses about the
# standard library's own code (writes past the end, unset members) is shown, and wrong too often to stop a build. Where
# sources are compiled together, a local name may be that of another source, so -Wshadow is for the other presets.
add_library(fathom_flags INTERFACE)
target_compile_options(fathom_flags INTERFACE
  -Wall -Wextra $<$<NOT:$<BOOL:${FATHOM_UNITY}>>:-Wshadow> -Wimplicit-fallthrough $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<BOOL:${FATHOM_WERROR}>:-Werror>
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-error=stringop-overflow;-Wno-error=stringop-overread>"
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=array-bounds;-Wno-error=maybe-uninitialized>")
# fathom runs as root and reads what others wrote. A fuzzer's and a sanitizer's own checks would collide with fortify.
# What users run names no folder of the machine that built it; what is debugged does, so that a debugger finds the source.
target_compile_options(fathom_flags INTERFACE -fstack-protector-strong)
# g++ looks for garbage again and again, each time in the whole precompiled header: up to a sixth of the time. KiB.
target_compile_options(fathom_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
set(FATHOM_PATH_MAP -ffile-prefix-map=${CMAKE_BINARY_DIR}/=build/ -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(NOT FATHOM_SANITIZE)
  target_compile_options(fathom_flags INTERFACE
    "$<$<CONFIG:Release>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2;${FATHOM_PATH_MAP}>")
endif()
if(FATHOM_SANITIZE)
  target_compile_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=undefined)
  target_link_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE})
endif()
if(FATHOM_FUZZ)
  target_compile_options(fathom_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Reading the same headers again took most of the time of a build. Tests share one precompiled set, and the library another;
# without the latter (presets dev and stub) an include that a source forgot is found.
# Test code is neither measured nor shipped: it is compiled with less optimisation than the library. (Without any, tests of
# thousands of random profiles take longer than what it saves.)
set(FATHOM_COMMON_HEADERS
  <algorithm> <array> <chrono> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <optional> <set> <span>
  <sstream> <string> <string_view> <unordered_map> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
if(FATHOM_SANITIZE)
  set(FATHOM_TEST_OPTIONS -O0)
else()
  set(FATHOM_TEST_OPTIONS -O1)
endif()
function(fathom_precompiled_headers name)
  cmake_parse_arguments(arg "PROGRAM" "" "OPTIONS;HEADERS;LIBRARIES" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "int main() {}\n")
  if(arg_PROGRAM)
    add_executable(${name} ${CMAKE_BINARY_DIR}/${name}.cpp)  # compiled as programs are, -fPIE
  else()
    add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  endif()
  target_link_libraries(${name} PRIVATE fathom_flags fmt::fmt Threads::Threads ${arg_LIBRARIES})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${FATHOM_COMMON_HEADERS} ${arg_HEADERS})
endfunction()
fathom_precompiled_headers(fathom_test_headers PROGRAM OPTIONS ${FATHOM_TEST_OPTIONS} HEADERS <gmock/gmock.h> <gtest/gtest.h>
                           LIBRARIES GTest::gtest GTest::gmock GTest::gtest_main)
if(FATHOM_PRECOMPILE)
  fathom_precompiled_headers(fathom_library_headers)
endif()

# Folders that a recording or a report spends its time in are compiled for speed. All others are compiled for size, which makes
# their code 40 % smaller: they run once, or wait for the kernel or a person.
set(FATHOM_FAST_FOLDERS
  base base/abi base/arch base/arch/common base/arch/code attach/tracer binary/elf binary/dwarf model
  binary/unwind binary/symbolize record/bpf record/heap linux/memory linux/perf record/proc model/store
  analysis/core analysis/heap analysis/waits)
set(FATHOM_SMALL $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Os>)
if(FATHOM_PRECOMPILE AND CMAKE_BUILD_TYPE STREQUAL "Release")
  fathom_precompiled_headers(fathom_small_headers OPTIONS ${FATHOM_SMALL})
endif()
# Compiles the target of a folder for size unless it has to be fast. Precompiled headers only fit one of the two.
function(fathom_compile_for_size_or_speed target name)
  set(headers fathom_library_headers)
  # So that the linker drops unused functions.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-ffunction-sections$<SEMICOLON>-fdata-sections>)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT name IN_LIST FATHOM_FAST_FOLDERS)
    target_compile_options(${target} PRIVATE ${FATHOM_SMALL})
    set(headers fathom_small_headers)
  endif()
  if(FATHOM_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# Templates that two folders instantiate alike are linked once, from where the linker meets them first: that has to be a folder
# that is compiled for speed. Options stand before the program's own objects.
function(fathom_link_fast_folders_first target)  # and folders to leave out
  set(archives)
  foreach(folder ${FATHOM_FAST_FOLDERS})
    string(REPLACE "/" "_" flat ${folder})
    if(TARGET fathom_${flat} AND NOT folder IN_LIST ARGN)
      get_target_property(type fathom_${flat} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND archives $<TARGET_FILE:fathom_${flat}>)
      endif()
    endif()
  endforeach()
  target_link_options(${target} PRIVATE LINKER:--whole-archive ${archives} LINKER:--no-whole-archive)
endfunction()

# Several sources of a target in one translation unit: what they instantiate alike is compiled once. Two sources of a folder
# therefore give their own helpers different names, or share them in a header. The presets dev, stub and asan compile each
# source by itself, so that an include that a source forgot is found.
function(fathom_unity target)
  if(FATHOM_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    # g++ takes members of an unnamed namespace's type for an error of a header, whatever the included file is.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# The folder that makes "NAME/..." reachable, for one target.
function(fathom_headers target scope name)
  string(REPLACE "/" "_" flat ${name})
  set(links ${CMAKE_BINARY_DIR}/headers/${flat})
  get_filename_component(parent ${links}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${links}/${name} SYMBOLIC)
  target_include_directories(${target} ${scope} ${links})
endfunction()

function(fathom_library name)
  cmake_parse_arguments(arg "THREADS" "" "SOURCES;DEPENDS;LIBRARIES;PRIVATE_LIBRARIES;TESTS;TEST_LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" flat ${name})
  set(target fathom_${flat})
  list(TRANSFORM arg_DEPENDS REPLACE "/" "_")
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    fathom_headers(${target} PUBLIC ${name})
    target_link_libraries(${target} PUBLIC fathom_flags fmt::fmt Threads::Threads ${arg_LIBRARIES}
                                    PRIVATE ${arg_PRIVATE_LIBRARIES})
    fathom_compile_for_size_or_speed(${target} ${name})
    fathom_unity(${target})
    foreach(dependency ${arg_DEPENDS})
      target_link_libraries(${target} PUBLIC fathom_${dependency})
    endforeach()
  else()
    add_library(${target} INTERFACE)
    fathom_headers(${target} INTERFACE ${name})
    target_link_libraries(${target} INTERFACE fathom_flags ${arg_LIBRARIES})
    foreach(dependency ${arg_DEPENDS})
      target_link_libraries(${target} INTERFACE fathom_${dependency})
    endforeach()
  endif()
  if(arg_TESTS)
    set(threads)
    if(arg_THREADS)
      set(threads THREADS)
    endif()
    fathom_test(${flat}_test ${threads} SOURCES ${arg_TESTS} LIBRARIES ${target} ${arg_TEST_LIBRARIES})
  endif()
endfunction()

# A test program. Its tests run as one ctest entry per TEST, with the folder of the source tree as working folder.
# SERIAL: they want the machine for themselves (they measure time, look at all processes, or kill fathom), so they run one at a time,
# after all others. LATE: they run after those without a word here, next to tests of other programs.
# THREADS: what it tests has threads of its own, so `make tsan` runs it too.
add_custom_target(unit_tests)      # all programs with the label unit: what sanitizers are built for
add_custom_target(threaded_tests)  # those whose label ends in _with_threads
function(fathom_test name)
  cmake_parse_arguments(arg "SERIAL;LATE;THREADS" "LABEL;TIMEOUT" "SOURCES;LIBRARIES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} fmt::fmt GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${FATHOM_TEST_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM fathom_test_headers)
  fathom_unity(${name})
  list(TRANSFORM arg_DEPENDS REPLACE "/" "_")
  foreach(dependency ${arg_DEPENDS})
    target_link_libraries(${name} PRIVATE fathom_${dependency})
  endforeach()
  set(label unit)
  if(arg_LABEL)
    set(label ${arg_LABEL})
  endif()
  if(label STREQUAL "unit")
    add_dependencies(unit_tests ${name})
  endif()
  if(arg_THREADS)
    string(APPEND label "_with_threads")  # one label: gtest_discover_tests takes no list
    add_dependencies(threaded_tests ${name})
  endif()
  set(properties LABELS ${label})
  # For what never ends. A sanitizer makes a program some three times as slow, and that is no failure.
  set(timeout 120)
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  if(FATHOM_SANITIZE)
    math(EXPR timeout "3 * ${timeout}")
  endif()
  list(APPEND properties TIMEOUT ${timeout})
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE COST -2)
  elseif(arg_LATE)
    list(APPEND properties RESOURCE_LOCK ${name} COST -1)
  endif()
  gtest_discover_tests(${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                       DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

if(FATHOM_FUZZ)
  add_custom_target(fuzzers)
endif()

# A fuzz target NAME from NAME_fuzz.cpp, with seeds in seeds/NAME. Only in the preset fuzz.
function(fathom_fuzz name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  if(NOT FATHOM_FUZZ)
    return()
  endif()
  add_executable(${name}_fuzz ${name}_fuzz.cpp)
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name}_fuzz)
  list(TRANSFORM arg_DEPENDS REPLACE "/" "_")
  foreach(dependency ${arg_DEPENDS})
    target_link_libraries(${name}_fuzz PRIVATE fathom_${dependency})
  endforeach()
endfunction()
