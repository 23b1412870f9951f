# Compares with libdw and not perf, and does not need the program fathom: so it is separate from the others.
if(FATHOM_BENCH)
  find_package(benchmark REQUIRED)
  pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw libelf)
  add_executable(unwind_table_bench unwind_table_bench.cpp)
  target_link_libraries(unwind_table_bench PRIVATE fathom_binary_unwind benchmark::benchmark PkgConfig::LIBDW)
endif()
