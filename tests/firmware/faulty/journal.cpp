// A journal of a machine: entries are kept in a vector, and each shift remembers its last one.

#include <string>
#include <vector>

#include "board/chip.h"

namespace {

struct Entry {
    unsigned (*weight)(const Entry &entry);
    unsigned time, value;
};

unsigned plain(const Entry &entry) { return entry.value; }
unsigned urgent(const Entry &entry) { return entry.value * 3 + entry.time; }

struct Shift {
    const Entry *last = nullptr;
    unsigned sum = 0;
};

std::vector<Entry> entries;
std::vector<std::string> names;
Shift shifts[3];

NOINLINE void write(unsigned shift, unsigned time, unsigned value)
{
    entries.push_back(Entry{ value % 7 == 0 ? urgent : plain, time, value });
    shifts[shift].last = &entries.back();   /* CULPRIT */
}

NOINLINE void sign(unsigned number)
{
    names.push_back(std::string(60 + number % 30, char('A' + number % 26)));
}

NOINLINE unsigned close(Shift &shift)
{
    if (shift.last != nullptr)
        shift.sum += shift.last->weight(*shift.last);   /* FAULTS */
    return shift.sum;
}

}  // namespace

int main()
{
    unsigned sum = 0;

    entries.reserve(8);
    names.reserve(4);
    for (unsigned time = 0; time < 80; ++time) {
        write(time % 3, time, time * 37);
        if (time % 2 == 0)
            sign(time);
        sum += close(shifts[(time + 1) % 3]);
        if (time % 32 == 7) {
            entries.clear();
            for (Shift &shift : shifts)
                shift.last = nullptr;
        }
    }
    return int(sum);
}
