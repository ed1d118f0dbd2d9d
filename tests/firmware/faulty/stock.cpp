// A vector of its own for small objects, and a stock that uses it.

#include "board/chip.h"
#include "board/new.h"

namespace {

template <typename T> class Vector {
public:
    NOINLINE void append(const T &item)
    {
        if (size_ > capacity_)
            grow();
        items_[size_++] = item;         /* CULPRIT FAULTS */
    }

    void clear() { size_ = 0; }
    unsigned size() const { return size_; }
    T &operator[](unsigned i) { return items_[i]; }

private:
    void grow()
    {
        unsigned capacity = capacity_ ? capacity_ * 2 : 3;
        T *items = new T[capacity];
        for (unsigned i = 0; i < size_; ++i)
            items[i] = items_[i];
        delete[] items_;
        items_ = items;
        capacity_ = capacity;
    }

    T *items_ = new T[3];
    unsigned size_ = 0, capacity_ = 3;
};

struct Item {
    unsigned number, count, price;
};

class Shelf {
public:
    virtual unsigned worth() { return sum(items); }
    Vector<Item> items;

protected:
    static NOINLINE unsigned sum(Vector<Item> &of)
    {
        unsigned found = 0;
        for (unsigned i = 0; i < of.size(); ++i)
            found += of[i].count * of[i].price;
        return found;
    }
};

class Cooled : public Shelf {
public:
    unsigned worth() override { return sum(items) + 5; }
};

Shelf *shelves[6];
unsigned day_sum;

NOINLINE void deliver(unsigned day)
{
    for (unsigned i = 0; i < 2 + day / 6; ++i)
        shelves[(day + i) % 6]->items.append(Item{ day * 10 + i, 3 + i, 0xA0000000u + day });
}

NOINLINE void sell(unsigned day)
{
    if (day % 2)
        shelves[day % 6]->items.clear();
}

NOINLINE void count_all()
{
    for (Shelf *shelf : shelves)
        day_sum += shelf->worth();      /* FAULTS */
}

}  // namespace

int main()
{
    for (unsigned i = 0; i < 6; ++i)
        shelves[i] = i % 2 ? new Cooled : new Shelf;
    for (unsigned day = 0; day < 60; ++day) {
        deliver(day);
        sell(day);
        if (day % 2)
            count_all();
    }
    return 0;
}
