// Calls of known functions, counted by the program itself: returned, left by an exception, by longjmp and
// with their thread, tail calls, recursion, sizes. Usage: known_calls ROUNDS [FILE]. With FILE it begins when
// that file exists, and waits for it inside a call of known_long. Prints its answer as JSON.
#include <pthread.h>
#include <setjmp.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace {
std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}
jmp_buf g_place;
std::int64_t g_slept_inside_ns = 0, g_slept_outside_ns = 0;
volatile int g_sink = 0;

struct Value {
  const char* data;
  std::size_t size;
};
}  // namespace

#define KNOWN extern "C" __attribute__((noipa))
#define STAY asm volatile("" ::: "memory")

KNOWN void known_sleep(int ms) {
  const std::int64_t from = now_ns();
  const timespec time{0, ms * 1'000'000};
  nanosleep(&time, nullptr);
  g_slept_inside_ns += now_ns() - from;
}
KNOWN void caller_of_many() {
  known_sleep(3);
  STAY;
}
KNOWN void caller_of_few() {
  known_sleep(5);
  STAY;
}
KNOWN int known_recursion(int depth) {
  if (depth <= 1) return 1;
  const int first = known_recursion(depth - 1);
  STAY;  // otherwise the compiler turns one into a loop and only calls the other
  const int second = known_recursion(depth - 2);
  STAY;
  return first + second * 2;
}
KNOWN int known_throw(int i) {
  if (i % 3 == 0) throw std::runtime_error("third");
  return i;
}
KNOWN int known_jump(int i) {
  if (i % 2 == 0) longjmp(g_place, 1);
  return i + 1;
}
KNOWN int known_target(int i) {
  return i * 3 + 1;
}
KNOWN int known_tail(int i) {
  g_sink = i;
  return known_target(i + 1);
}
// One in three leaves for the other function, by a conditional jump or by a jump after one.
KNOWN int known_branch(int i) {
  if (i % 3 == 0) return known_target(i);
  return i - 1;
}
KNOWN int known_switch(int which) {
  switch (which % 8) {
    case 0:
      return known_target(5) + 1;
    case 1:
      return known_target(7) * 3;
    case 2:
      return known_target(9) - 4;
    case 3:
      return known_target(11) / 5;
    case 4:
      return known_target(13) + 13;
    case 5:
      return known_target(17) ^ 21;
    default:
      return which;
  }
}
KNOWN void known_open(long handle) {
  g_sink = static_cast<int>(handle);
}
KNOWN void known_close(int flags, long handle) {
  g_sink = flags + static_cast<int>(handle);
}
KNOWN long known_write(const char* data, std::size_t size) {
  g_sink = data[0];
  return size % 2 == 0 ? static_cast<long>(size) : -1;
}
KNOWN int known_fail(int i) {
  return i % 2 == 0 ? 100 : -1;
}
KNOWN int known_value(const Value* value) {
  return value->data[0];
}
KNOWN int known_often(int i) {
  return i ^ 5;
}
KNOWN void known_thread_end(int last) {
  if (last != 0) pthread_exit(nullptr);
  STAY;
}
KNOWN int known_long(const char* file) {
  while (access(file, F_OK) != 0) usleep(1000);
  return 0;
}

namespace {
void* run_thread(void*) {
  known_thread_end(0);
  known_thread_end(1);
  return nullptr;
}

int calls_of_recursion(int depth) {
  return depth <= 1 ? 1 : 1 + calls_of_recursion(depth - 1) + calls_of_recursion(depth - 2);
}
}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::atoi(words[1]) : 10;
  if (count > 2) known_long(words[2]);
  const char data[64] = "data";
  int caught = 0, jumped = 0;
  std::uint64_t argument_bytes = 0, result_bytes = 0, value_bytes = 0;
  for (int i = 0; i < rounds; ++i) {
    known_open(i);
    const std::int64_t from = now_ns();
    caller_of_many();
    caller_of_many();
    caller_of_few();
    g_slept_outside_ns += now_ns() - from;
    g_sink = known_recursion(9);
    try {
      g_sink = known_throw(i);
    } catch (const std::runtime_error&) {
      ++caught;
    }
    if (setjmp(g_place) == 0)
      g_sink = known_jump(i);
    else
      ++jumped;
    g_sink = known_tail(i) + known_branch(i) + known_switch(i);
    const std::size_t size = 100 + static_cast<std::size_t>(i);
    known_write(data, size);
    argument_bytes += size;
    if (size % 2 == 0) result_bytes += size;
    g_sink = known_fail(i);
    const Value value{data, size * 3};
    g_sink = known_value(&value);
    value_bytes += value.size;
    if (i > 0) known_close(0, i - 1);  // so each handle is open for two rounds, but the last one
    pthread_t thread{};
    pthread_create(&thread, nullptr, run_thread, nullptr);
    pthread_join(thread, nullptr);
  }
  known_close(0, rounds - 1);
  for (int i = 0; i < rounds * 1000; ++i) g_sink = known_often(i);
  std::printf(
      "{\"rounds\": %d, \"recursion\": %d, \"caught\": %d, \"jumped\": %d, \"argument_bytes\": %llu, "
      "\"result_bytes\": %llu, "
      "\"value_bytes\": %llu, \"slept_inside_ns\": %lld, \"slept_outside_ns\": %lld}\n",
      rounds, rounds * calls_of_recursion(9), caught, jumped, static_cast<unsigned long long>(argument_bytes),
      static_cast<unsigned long long>(result_bytes), static_cast<unsigned long long>(value_bytes),
      static_cast<long long>(g_slept_inside_ns), static_cast<long long>(g_slept_outside_ns));
}
