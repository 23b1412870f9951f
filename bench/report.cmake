# The report: needs neither perf nor a target.
if(FATHOM_BENCH AND TARGET fathom_present_svg)
  find_package(benchmark REQUIRED)
  add_executable(report_bench report_bench.cpp)
  target_link_libraries(report_bench PRIVATE fathom_present_svg fathom_present_json benchmark::benchmark)
  target_include_directories(report_bench PRIVATE ${CMAKE_SOURCE_DIR})
endif()
