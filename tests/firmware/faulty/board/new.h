/* new and delete for programs in C++, on newlib's heap. */

#ifndef NEW_H
#define NEW_H

#include <stdlib.h>

inline void *operator new(size_t size) { return malloc(size); }
inline void *operator new[](size_t size) { return malloc(size); }
inline void operator delete(void *memory) noexcept { free(memory); }
inline void operator delete(void *memory, size_t) noexcept { free(memory); }
inline void operator delete[](void *memory) noexcept { free(memory); }
inline void operator delete[](void *memory, size_t) noexcept { free(memory); }
inline void *operator new(size_t, void *place) noexcept { return place; }

#endif
