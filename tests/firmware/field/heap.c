/* A heap on an array: first fit, blocks in the order of addresses, neighbours joined when they are freed. */

#include "heap.h"

#define TAKEN           0x80000000u
#define ROUNDING        7u

struct heap_block {
    struct heap_block *next;    /* of those that are free */
    size_t size;                /* with this header; the highest bit is set while the block is taken */
};

void heap_begin(struct heap *heap, void *area, size_t size)
{
    struct heap_block *block = (struct heap_block *)(((uintptr_t)area + ROUNDING) & ~(uintptr_t)ROUNDING);

    memset(heap, 0, sizeof *heap);
    block->next = NULL;
    block->size = ((uintptr_t)area + size - (uintptr_t)block) & ~(size_t)ROUNDING;
    heap->free = block;
    heap->left = heap->least = block->size;
}

static void split(struct heap_block *block, size_t size)
{
    struct heap_block *rest = (struct heap_block *)((char *)block + size);

    rest->size = block->size - size;
    rest->next = block->next;
    block->size = size;
    block->next = rest;
}

void *heap_allocate(struct heap *heap, size_t size)
{
    struct heap_block **place = &heap->free, *block;

    if (size == 0)
        return NULL;
    size = (size + sizeof *block + ROUNDING) & ~(size_t)ROUNDING;
    while ((block = *place) != NULL && block->size < size)
        place = &block->next;
    if (block == NULL) {
        ++heap->failures;
        return NULL;
    }
    if (block->size - size > 2 * sizeof *block)
        split(block, size);
    *place = block->next;
    heap->left -= block->size;
    if (heap->left < heap->least)
        heap->least = heap->left;
    ++heap->allocations;
    block->size |= TAKEN;
    block->next = NULL;
    return block + 1;
}

static void insert(struct heap *heap, struct heap_block *block)
{
    struct heap_block *before = NULL, *after = heap->free;

    while (after != NULL && after < block) {
        before = after;
        after = after->next;
    }
    block->next = after;
    if (after != NULL && (char *)block + block->size == (char *)after) {
        block->size += after->size;
        block->next = after->next;
    }
    if (before == NULL) {
        heap->free = block;
    } else if ((char *)before + before->size == (char *)block) {
        before->size += block->size;
        before->next = block->next;
    } else {
        before->next = block;
    }
}

void heap_free(struct heap *heap, void *pointer)
{
    struct heap_block *block = (struct heap_block *)pointer - 1;

    if (pointer == NULL)
        return;
    if (!(block->size & TAKEN))
        failed(200);
    block->size &= ~TAKEN;
    heap->left += block->size;
    insert(heap, block);
}

void *heap_resize(struct heap *heap, void *pointer, size_t size)
{
    struct heap_block *block = (struct heap_block *)pointer - 1;
    void *moved;
    size_t held;

    if (pointer == NULL)
        return heap_allocate(heap, size);
    held = (block->size & ~TAKEN) - sizeof *block;
    if (held >= size)
        return pointer;
    moved = heap_allocate(heap, size);
    if (moved != NULL) {
        memcpy(moved, pointer, held);
        heap_free(heap, pointer);
    }
    return moved;
}
