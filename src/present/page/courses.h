// How a recording went over its time: CPU, waiting and memory as lines of equal steps, to lay those of two recordings over each other.
// The numbers are those of the lanes of a page of one recording.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/profile.h"
#include "present/page/columns.h"

namespace fathom::page {

struct Course {
  std::string name;  // "CPU"
  std::string unit;  // "cores", "threads", "bytes"
  std::vector<double> values;
};
struct Courses {
  double step_s = 0;  // between two values; 0: the recording has no length
  std::vector<Course> lines;
};

// At most 300 steps. Without idle waits, as everywhere.
Courses courses_of(const model::Profile& profile);

// Columns "course.N.base" and ".new", for each line that both have; what the head says of them.
nlohmann::ordered_json add_courses(const Courses& base, const Courses& fresh, Columns& columns);

}  // namespace fathom::page
