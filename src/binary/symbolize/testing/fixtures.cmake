# Programs for the tests of names, in the forms in which real ones are found: with DWARF 5 and 4, stripped, stripped with a
# debug link, with and without build id.
set(fixtures ${CMAKE_CURRENT_BINARY_DIR}/fixtures)
file(MAKE_DIRECTORY ${fixtures})
set(SYMBOLIZE_FIXTURES ${fixtures})

function(symbolize_fixture name)
  cmake_parse_arguments(arg "" "" "COMPILE;LINK" ${ARGN})
  add_executable(symbolize_${name} testing/inlines.cpp testing/plain.c)
  target_compile_options(symbolize_${name} PRIVATE -O2 -g -fno-omit-frame-pointer ${arg_COMPILE})
  target_link_options(symbolize_${name} PRIVATE ${arg_LINK})
  set_target_properties(symbolize_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${fixtures})
endfunction()

symbolize_fixture(dwarf5 COMPILE -gdwarf-5 LINK -Wl,--build-id=sha1 -Wl,-z,lazy)
symbolize_fixture(dwarf4 COMPILE -gdwarf-4 LINK -Wl,--build-id=sha1 -Wl,-z,now)
symbolize_fixture(no_build_id COMPILE -gdwarf-5 LINK -Wl,--build-id=none)
symbolize_fixture(branch_tracking COMPILE -gdwarf-5 -fcf-protection=full LINK -Wl,-z,lazy -Wl,-z,ibtplt)
symbolize_fixture(compressed COMPILE -gdwarf-5 LINK -Wl,--build-id=sha1 -Wl,--compress-debug-sections=zlib)
# Its DWARF lies in files of its own, and the program says where: libdw opens them when it is asked.
symbolize_fixture(split COMPILE -gdwarf-5 -gsplit-dwarf LINK -Wl,--build-id=sha1)

# dwarf5.debug has the names; dwarf5.linked finds it by its name and checksum, dwarf5.stripped by nothing but its build id.
add_custom_command(
  OUTPUT ${fixtures}/dwarf5.debug ${fixtures}/dwarf5.linked ${fixtures}/dwarf5.stripped ${fixtures}/no_build_id.stripped
         ${fixtures}/no_build_id.linked ${fixtures}/no_build_id.debug
  COMMAND objcopy --only-keep-debug dwarf5 dwarf5.debug
  COMMAND objcopy --strip-all --add-gnu-debuglink=dwarf5.debug dwarf5 dwarf5.linked
  COMMAND objcopy --strip-all dwarf5 dwarf5.stripped
  COMMAND objcopy --only-keep-debug no_build_id no_build_id.debug
  COMMAND objcopy --strip-all --add-gnu-debuglink=no_build_id.debug no_build_id no_build_id.linked
  COMMAND objcopy --strip-all no_build_id no_build_id.stripped
  WORKING_DIRECTORY ${fixtures}
  DEPENDS symbolize_dwarf5 symbolize_no_build_id
  VERBATIM)
# Another compiler names no siblings, and every entry of a function has to be passed by.
find_program(CLANGXX_PROGRAM NAMES clang++ clang++-14 clang++-19 REQUIRED)
find_program(GXX_PROGRAM NAMES g++ REQUIRED)
set(sources ${CMAKE_CURRENT_SOURCE_DIR}/testing)
add_custom_command(OUTPUT ${fixtures}/clang
  COMMAND ${CLANGXX_PROGRAM} -O2 -g -std=c++20 -c ${sources}/inlines.cpp -o ${fixtures}/clang.o
  COMMAND ${CLANGXX_PROGRAM} -O2 -g -x c ${sources}/plain.c -x none ${fixtures}/clang.o -o ${fixtures}/clang
  DEPENDS ${sources}/inlines.cpp ${sources}/plain.c
  VERBATIM)
# The same program with its debug information in every form that compilers and distributions give it.
add_custom_command(OUTPUT ${fixtures}/forms/missing.txt
  COMMAND ${sources}/forms.sh ${sources} ${fixtures}/forms ${GXX_PROGRAM} ${CLANGXX_PROGRAM}
  DEPENDS ${sources}/forms.sh ${sources}/forms.cpp ${sources}/forms_other.cpp ${sources}/forms_plain.c
  VERBATIM)
add_custom_target(symbolize_fixtures DEPENDS ${fixtures}/clang ${fixtures}/forms/missing.txt
  ${fixtures}/dwarf5.debug symbolize_dwarf4 symbolize_branch_tracking symbolize_compressed
  symbolize_split)
