// The source of the programs whose debug information comes in every form that compilers and distributions give it (forms.sh).
// Small, so that a dozen of them are soon built: inlined calls two deep, a cold part, classes, a template, a lambda.
extern "C" unsigned long plain_c(unsigned long value, unsigned rounds);
unsigned long other_unit(unsigned long value);

namespace engine {

struct Shape {
  unsigned long size;
  unsigned long area() const { return size * size + 7; }
};

template <class Number>
static inline __attribute__((always_inline)) Number twisted(Number value) {
  return (value << 7 | value >> 57) ^ 0x9e3779b9;
}

static inline __attribute__((always_inline)) unsigned long stirred(unsigned long value) {
  return twisted(value) * 31 + twisted(value + 1);
}

__attribute__((noinline, cold)) void complain(volatile unsigned long* where) {
  for (int i = 0; i < 3; ++i) *where += stirred(*where);
}

__attribute__((noinline)) unsigned long turn(const Shape& shape, unsigned rounds) {
  volatile unsigned long total = shape.area();
  for (unsigned i = 0; i < rounds; ++i) {
    total = total + stirred(total);
    if (__builtin_expect(total == 12345, 0)) {
      complain(&total);
      total = total * 3;
    }
  }
  return total;
}

namespace {
__attribute__((noinline)) unsigned long hidden(unsigned long value) {
  const auto step = [value](unsigned long by) { return stirred(value ^ by); };
  volatile unsigned long sum = 0;
  for (unsigned long i = 0; i < 5; ++i) sum = sum + step(i);
  return sum;
}
}  // namespace

}  // namespace engine

int main(int count, char**) {
  const engine::Shape shape{static_cast<unsigned long>(count)};
  return static_cast<int>(engine::turn(shape, 3) + engine::hidden(shape.size) + other_unit(shape.size) +
                          plain_c(shape.size, 4)) &
         1;
}
