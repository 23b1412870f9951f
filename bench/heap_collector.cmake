# Needs neither a target nor another profiler.
if(FATHOM_BENCH AND TARGET fathom_record_heap)
  add_executable(heap_collector_bench heap_collector_bench.cpp)
  target_link_libraries(heap_collector_bench PRIVATE fathom_record_heap)
endif()
