# Compares with addr2line and not perf, and does not need the program fathom: so it is separate from the
# others.
if(FATHOM_BENCH AND TARGET fathom_binary_symbolize)
  add_executable(symbolize_bench symbolize_bench.cpp)
  target_link_libraries(symbolize_bench PRIVATE fathom_binary_symbolize)
  pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw libelf)
  add_executable(line_program_bench line_program_bench.cpp)
  target_link_libraries(line_program_bench PRIVATE fathom_binary_symbolize PkgConfig::LIBDW)
endif()
