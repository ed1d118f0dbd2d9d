/* A tree of measurements, balanced by chance, whose height is found by recursion; the stack has a limit. */

#include "board/lib.h"

struct node {
    struct node *left, *right;
    uint32_t key, count;
};

static struct node nodes[160];
static unsigned used;
static struct node *root;
static uint32_t heights;

static NOINLINE struct node *insert(struct node *tree, uint32_t key)
{
    struct node **link = &root;

    for (; tree != NULL; tree = *link) {
        if (tree->key == key) {
            ++tree->count;
            return tree;
        }
        link = key < tree->key ? &tree->left : &tree->right;
    }
    if (used == COUNT(nodes))
        return NULL;
    *link = &nodes[used++];
    (*link)->key = key;
    (*link)->count = 1;
    return *link;
}

static NOINLINE unsigned height(const struct node *tree)
{                                       /* CULPRIT FAULTS */
    unsigned left, right;

    if (tree == NULL)
        return 0;
    left = height(tree->left);          /* CULPRIT */
    right = height(tree->right);        /* CULPRIT */
    return 1 + (left > right ? left : right);
}

static NOINLINE uint32_t measure(unsigned hour)
{
    return hour < 40 ? (hour * 2654435761u) >> 24 : 256 + hour;
}

static void limit_stack(void)
{
    /* MSR MSPLIM, r0 */
    __asm volatile("mov r0, %0\n\t.inst.w 0xF380880A" :: "r"(0x20080000u - 1024u) : "r0");
}

int main(void)
{
    limit_stack();
    for (unsigned hour = 0; hour < 200; ++hour) {
        insert(root, measure(hour));
        if (hour % 10 == 9)
            put_number(heights += height(root));
    }
    return 0;
}
