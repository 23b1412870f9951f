# Heap dumps: needs neither jemalloc nor a target.
if(FATHOM_BENCH AND TARGET fathom_formats_dumps)
  find_package(benchmark REQUIRED)
  add_executable(dumps_bench dumps_bench.cpp)
  target_link_libraries(dumps_bench PRIVATE fathom_formats_dumps benchmark::benchmark)
endif()
