// Routes through a warehouse: a planner makes views of paths, a robot follows them.

#include "board/lib.h"

namespace {

struct Point {
    int x, y;
};

class View {
public:
    View(const Point *const *points, unsigned count) : points_(points), count_(count) {}
    const Point &operator[](unsigned i) const { return *points_[i]; }       /* FAULTS */
    unsigned size() const { return count_; }

private:
    const Point *const *points_;
    unsigned count_;
};

const Point shelves[] = { { 0, 0 }, { 3, 1 }, { 5, 4 }, { 2, 8 }, { 9, 9 }, { 7, 2 } };
const Point *const rounds[][4] = {
    { &shelves[0], &shelves[1], &shelves[2], &shelves[3] }, { &shelves[3], &shelves[4], &shelves[5], &shelves[0] },
};

NOINLINE View known(unsigned number)
{
    return View(rounds[number % 2], 4);
}

__attribute__((noipa)) const Point *const *same(const Point *const *points)
{
    return points;
}

NOINLINE View shortcut(unsigned from, unsigned to)
{
    const Point *direct[12];

    for (unsigned i = 0; i < COUNT(direct); ++i)
        direct[i] = &shelves[i % 4 == 3 ? 0 : (from * (3 - i % 4) + to * (i % 4)) / 3];
    return View(same(direct), COUNT(direct));           /* CULPRIT */
}

NOINLINE unsigned distance(const Point &one, const Point &other)
{
    int dx = one.x - other.x, dy = one.y - other.y;             /* FAULTS */

    return static_cast<unsigned>((dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy));
}

NOINLINE unsigned shake(unsigned seed)
{
    volatile unsigned pool[24];

    for (unsigned i = 0; i < 24; ++i)
        pool[i] = seed = (seed * 1664525u + 1013904223u) | 0x90000001u;
    return pool[seed % 24];
}

NOINLINE unsigned follow(const View &view)
{
    Point at = { 0, 0 };
    unsigned way = 0;

    for (unsigned i = 0; i < view.size(); ++i) {
        way += distance(at, view[i]) + (shake(i + way) & 1);    /* FAULTS */
        at = view[i];                   /* FAULTS */
    }
    return way;
}

unsigned driven;

}  // namespace

int main()
{
    for (unsigned i = 0; i < 50; ++i) {
        View view = i % 16 == 15 ? shortcut(i % 5, 5) : known(i);
        driven += follow(view);
        put_number(driven);
    }
    return 0;
}
