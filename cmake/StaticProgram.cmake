# The target fathom_static: the program as one static-pie file that needs nothing of the system it runs on, stripped, with its
# debug file next to it. It has the objects of `fathom`, and static archives where `fathom` has shared libraries. Included last,
# because it reads from the targets which archives and libraries `fathom` is made of.
if(NOT TARGET fathom OR FATHOM_SANITIZE OR FATHOM_FUZZ)
  return()
endif()

# Adds the archives that `target` is linked from to the property FATHOM_STATIC_OURS, and libraries of others to FATHOM_STATIC_OTHERS.
function(fathom_static_parts target)
  get_property(seen GLOBAL PROPERTY FATHOM_STATIC_SEEN)
  if(target IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY FATHOM_STATIC_SEEN ${target})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    set_property(GLOBAL APPEND PROPERTY FATHOM_STATIC_OURS ${target})
  elseif(type STREQUAL "OBJECT_LIBRARY")
    message(FATAL_ERROR "cmake/StaticProgram.cmake links archives; ${target} has objects alone")
  endif()
  set(parts)
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(some ${target} ${property})
    if(some)
      list(APPEND parts ${some})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES parts)
  foreach(part ${parts})
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" part "${part}")
    if(part MATCHES "^fathom_" AND TARGET ${part})
      fathom_static_parts(${part})
    elseif(NOT part MATCHES "^::@")  # CMake's note of the folder that linked it
      set_property(GLOBAL APPEND PROPERTY FATHOM_STATIC_OTHERS ${part})
    endif()
  endforeach()
endfunction()
fathom_static_parts(fathom)
get_property(ours GLOBAL PROPERTY FATHOM_STATIC_OURS)
get_property(others GLOBAL PROPERTY FATHOM_STATIC_OTHERS)
list(REMOVE_DUPLICATES others)

set(missing)

# What those libraries are as archives.
set(of_packages PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::LZMA PkgConfig::XXHASH PkgConfig::LIBDW PkgConfig::LIBBPF)
set(of_headers CLI11::CLI11 Threads::Threads nlohmann_json::nlohmann_json Boost::headers)
pkg_check_modules(FATHOM_STATIC REQUIRED zlib libzstd liblzma libxxhash libdw libelf libbpf)
set(archives)
foreach(name ${FATHOM_STATIC_STATIC_LIBRARIES} iberty)
  if(name STREQUAL "pthread")
    continue()
  endif()
  find_library(FATHOM_ARCHIVE_${name} NAMES lib${name}.a)
  if(FATHOM_ARCHIVE_${name})
    list(APPEND archives ${FATHOM_ARCHIVE_${name}})
  else()
    list(APPEND missing lib${name}.a)
  endif()
endforeach()
list(REMOVE_DUPLICATES archives)

# Debian ships these as shared libraries alone. scripts/setup-debian.sh unpacks their sources, which must be those of the headers
# that the rest was compiled with.
function(fathom_static_source name header version_line)
  file(GLOB folders ${CMAKE_SOURCE_DIR}/build/sources/${name}-*)
  find_path(installed NAMES ${header} NO_CACHE)
  foreach(folder ${folders})
    set(same)
    foreach(file ${folder}/include/${header} ${installed}/${header})
      set(lines)
      if(EXISTS ${file})
        file(STRINGS ${file} lines REGEX "${version_line}")
      endif()
      list(APPEND same "${lines}")
    endforeach()
    list(REMOVE_DUPLICATES same)
    list(LENGTH same versions)
    if(versions EQUAL 1 AND NOT same STREQUAL "")
      set(${name}_source ${folder} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(missing ${missing} "the source of ${name}" PARENT_SCOPE)
endfunction()
fathom_static_source(fmtlib fmt/core.h "#define FMT_VERSION ")
if(NOT fmtlib_source)
  fathom_static_source(fmtlib fmt/base.h "#define FMT_VERSION ")
endif()
fathom_static_source(zydis Zydis/Zydis.h "#define ZYDIS_VERSION ")

foreach(other ${others})
  if(NOT other IN_LIST of_packages AND NOT other IN_LIST of_headers AND NOT other MATCHES "^(iberty|fmt::fmt|Zydis::Zydis)$")
    message(FATAL_ERROR "cmake/StaticProgram.cmake does not know the static form of ${other}")
  endif()
endforeach()

if(missing)
  list(JOIN missing ", " missing)
  add_custom_target(fathom_static
    COMMAND ${CMAKE_COMMAND} -E echo "make static needs ${missing}: scripts/setup-debian.sh static, then configure again"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  return()
endif()

file(GLOB zydis_files ${zydis_source}/src/*.c)
list(FILTER zydis_files EXCLUDE REGEX "/Encoder[A-Za-z]*\\.c$")
add_library(fathom_static_zydis STATIC ${zydis_files})
target_include_directories(fathom_static_zydis SYSTEM PRIVATE ${zydis_source}/include ${zydis_source}/src)
target_compile_definitions(fathom_static_zydis PRIVATE ZYDIS_DISABLE_KNC)  # a processor card that no Linux runs on any more
add_library(fathom_static_fmt STATIC ${fmtlib_source}/src/format.cc)
foreach(target fathom_static_zydis fathom_static_fmt)
  target_compile_options(${target} PRIVATE -w -ffunction-sections -fdata-sections -fstack-protector-strong ${FATHOM_PATH_MAP})
endforeach()

set(links)
foreach(target ${ours})
  list(APPEND links $<TARGET_FILE:${target}>)
endforeach()
set(folder ${CMAKE_BINARY_DIR}/static)
add_executable(fathom_static $<TARGET_OBJECTS:fathom> src/binary/symbolize/loaded_library_static.cpp)
target_include_directories(fathom_static PRIVATE ${CMAKE_BINARY_DIR}/headers/binary_symbolize)
add_dependencies(fathom_static ${ours} fathom_static_zydis fathom_static_fmt)
set_target_properties(fathom_static PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME fathom RUNTIME_OUTPUT_DIRECTORY ${folder}
                      LINK_DEPENDS "${links};${CMAKE_SOURCE_DIR}/cmake/kept_names.txt;${CMAKE_SOURCE_DIR}/cmake/packed_names.txt")
target_link_libraries(fathom_static PRIVATE -Wl,--start-group ${links} fathom_static_zydis fathom_static_fmt ${archives} -Wl,--end-group)
target_link_options(fathom_static PRIVATE -static-pie -Wl,-Map=${folder}/fathom.map,--gc-sections,--build-id=sha1,--fatal-warnings
                    -Wl,-z,relro,-z,now,-z,noexecstack,-z,pack-relative-relocs)
fathom_link_fast_folders_first(fathom_static binary/symbolize)  # of which one object is replaced
# .gnu_debugdata as Fedora's packages have it: an ELF file with a symbol table alone, packed by xz.
add_custom_command(TARGET fathom_static POST_BUILD
  COMMAND ${FATHOM_OBJCOPY} --only-keep-debug fathom fathom.debug
  COMMAND ${FATHOM_OBJCOPY} --wildcard --strip-all --keep-symbols=${CMAKE_SOURCE_DIR}/cmake/packed_names.txt
          --remove-section=.comment --remove-section=.note.* fathom.debug fathom.names
  COMMAND xz --force -9 fathom.names
  COMMAND ${FATHOM_OBJCOPY} --wildcard --strip-all --keep-symbols=${CMAKE_SOURCE_DIR}/cmake/kept_names.txt
          --add-section=.gnu_debugdata=fathom.names.xz --add-gnu-debuglink=fathom.debug fathom
  WORKING_DIRECTORY ${folder} VERBATIM)
