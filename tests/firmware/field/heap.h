/* A heap on an array: first fit, blocks in the order of addresses, neighbours joined when they are freed. */

#ifndef HEAP_H
#define HEAP_H

#include "lib.h"

struct heap_block;

struct heap {
    struct heap_block *free;
    size_t left, least;
    unsigned allocations, failures;
};

void heap_begin(struct heap *heap, void *area, size_t size);
void *heap_allocate(struct heap *heap, size_t size);
void *heap_resize(struct heap *heap, void *pointer, size_t size);
void heap_free(struct heap *heap, void *pointer);

#endif
