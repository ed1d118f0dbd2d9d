/* A notebook of measurements with newlib: floats printed and read, sorting, trees by malloc, ends by longjmp. */

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../recovery/inputs.h"
#include "system.h"

#define DURATION        160000
#define LINES           12

struct node {
    struct node *left, *right;
    double value;
    unsigned count;
    char *label;
};

struct line {
    char text[40];
    double value;
};

static jmp_buf mistake;
static unsigned nodes, mistakes;

static void print_line(struct line *line, unsigned channel, unsigned number)
{
    double level = (double)(SAMPLE(channel) & 0xFFF) / 16.0 - 100.0;

    snprintf(line->text, sizeof line->text, "%u,%-5s,%.*f,%#06x", number, channel & 1 ? "press" : "temp",
             (int)(1 + channel), level, (unsigned)(SAMPLE(channel) & 0xFFFF));
    if (number % 9 == 4)
        line->text[4 + number % 5] = '?';
}

static void read_line(struct line *line)
{
    char copy[sizeof line->text], *rest, *word;
    unsigned words = 0;

    memcpy(copy, line->text, sizeof copy);
    for (word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest), ++words) {
        char *after = word;
        if (words == 2)
            line->value = strtod(word, &after);
        else if (words != 1)
            strtoul(word, &after, 0);
        if (words != 1 && *after != 0)
            longjmp(mistake, (int)words + 1);
    }
    if (words != 4)
        longjmp(mistake, 8);
}

static int by_value(const void *one, const void *other)
{
    double left = ((const struct line *)one)->value, right = ((const struct line *)other)->value;

    return (left > right) - (left < right);
}

static struct node *insert(struct node *tree, const struct line *line)
{
    if (tree == NULL) {
        tree = calloc(1, sizeof *tree);
        if (tree == NULL || (tree->label = strdup(line->text)) == NULL)
            longjmp(mistake, 9);
        tree->value = line->value;
        ++nodes;
    }
    if (line->value < tree->value)
        tree->left = insert(tree->left, line);
    else if (line->value > tree->value)
        tree->right = insert(tree->right, line);
    else
        ++tree->count;
    return tree;
}

__attribute__((noipa)) static double sum_of(const struct node *tree)
{
    return tree == NULL ? 0 : sum_of(tree->left) + tree->value * tree->count + sum_of(tree->right);
}

static void release(struct node *tree)
{
    if (tree == NULL)
        return;
    release(tree->left);
    release(tree->right);
    free(tree->label);
    free(tree);
    --nodes;
}

static void take_line(struct line *line, unsigned channel, unsigned number)
{
    if (setjmp(mistake) != 0) {
        ++mistakes;
        line->value = -1000.0;
        return;
    }
    print_line(line, channel, number);
    read_line(line);
}

unsigned program(void)
{
    static struct line lines[LINES];
    double whole = 0, largest = 0;

    for (unsigned round = 0; system_time() < DURATION; ++round) {
        struct node *tree = NULL;
        for (unsigned at = 0; at < LINES; ++at)
            take_line(&lines[at], at & 3, round * LINES + at);
        qsort(lines, LINES, sizeof lines[0], by_value);
        for (unsigned at = 0; at < LINES; ++at)
            tree = insert(tree, &lines[at]);
        whole += sqrt(fabs(sum_of(tree)));
        if (lines[LINES - 1].value > largest)
            largest = lines[LINES - 1].value;
        release(tree);
        if (round % 2 == 1)
            printf("%u lines, %g, %8.3e\n", (round + 1) * LINES, whole, largest);
    }
    return mistakes != 0 && nodes == 0 && whole > 0 ? 0 : 2;
}
