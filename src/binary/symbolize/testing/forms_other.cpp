// A second unit of the program, so that a package has more than one.
namespace engine {
struct Shape {
  unsigned long size;
  unsigned long area() const { return size * size + 7; }
};
}  // namespace engine

static inline __attribute__((always_inline)) unsigned long folded(unsigned long value) {
  return value * 6364136223846793005u + 1442695040888963407u;
}

__attribute__((noinline)) unsigned long other_unit(unsigned long value) {
  volatile unsigned long total = engine::Shape{value}.area();
  for (int i = 0; i < 4; ++i) total = folded(total) ^ folded(value);
  return total;
}
