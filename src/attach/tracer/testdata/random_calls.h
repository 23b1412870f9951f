// Call trees of functions with frames of many shapes, compiled with and without frame pointers. Which
// function calls which is drawn at random; at every node the leaf may be called, from whatever frames there
// are then.
#pragma once

#include <cstdint>

struct CallWalk {
  void (*leaf)(CallWalk&);
  std::uint64_t random;
  int calls_left;  // of the leaf
  void* context;

  std::uint64_t draw() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  }
};

// Calls the leaf about as often as it has calls left, at depths up to `depth`.
extern void (*const kCallsWithFramePointer)(CallWalk&, int depth);
extern void (*const kCallsWithoutFramePointer)(CallWalk&, int depth);
