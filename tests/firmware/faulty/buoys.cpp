// Buoys in a harbour: each has its memory from a pool, which links what is free through its first word.

#include "board/chip.h"
#include "board/new.h"

namespace {

class Buoy {
public:
    explicit Buoy(unsigned period) : period_(period) {}
    virtual unsigned depth(unsigned time) { return time * period_ & 0xFF; }
    virtual unsigned light(unsigned time) { return time % period_ == 0; }

protected:
    unsigned period_;
};

class Bell : public Buoy {
public:
    using Buoy::Buoy;
    unsigned light(unsigned time) override { return rung_++ + time; }

private:
    unsigned rung_ = 0;
};

class Harbour {
public:
    template <class Kind>
    NOINLINE Kind *place(unsigned period)
    {
        Kind *buoy = new (take()) Kind(period);
        shown_[count_++] = buoy;
        return buoy;
    }

    NOINLINE void fetch(Buoy *buoy, bool lit)
    {
        unsigned left = 0;
        for (unsigned i = 0; i < count_; ++i)
            if (shown_[i] != buoy || lit)
                shown_[left++] = shown_[i];
        count_ = left;
        Link *link = reinterpret_cast<Link *>(buoy);
        link->next = free_;             /* CULPRIT */
        free_ = link;
    }

    NOINLINE unsigned step(unsigned time)
    {
        unsigned sum = 0;
        for (unsigned i = 0; i < count_; ++i)
            sum += shown_[i]->light(time);  /* FAULTS */
        return sum;
    }

private:
    struct Link {
        Link *next;
    };

    NOINLINE void *take()
    {
        if (free_ == nullptr || used_ == 0)
            free_ = reinterpret_cast<Link *>(memory_[0]);
        if (used_ < 8)
            reinterpret_cast<Link *>(memory_[used_])->next = reinterpret_cast<Link *>(memory_[used_ + 1]);
        ++used_;
        Link *link = free_;
        free_ = link->next;
        return link;
    }

    alignas(8) unsigned char memory_[9][16];
    Link *free_;
    Buoy *shown_[8];
    unsigned count_, used_;
};

Harbour harbour;
unsigned seen;

}  // namespace

int main()
{
    harbour.place<Buoy>(3);
    Buoy *bell = harbour.place<Bell>(4);
    harbour.place<Buoy>(5);
    for (unsigned time = 0; time < 40; ++time) {
        seen += harbour.step(time);
        if (time == 30)
            harbour.fetch(bell, true);
    }
    return 0;
}
