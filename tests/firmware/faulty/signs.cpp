// Signs of a railway: their texts are strings, into which the minutes are written as they pass.

#include <memory>
#include <string>
#include <vector>

#include "board/chip.h"

namespace {

struct Sign {
    unsigned (*show)(const Sign &sign);
    const char *text;
    unsigned size;
};

unsigned sum_of(const Sign &sign)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < sign.size; ++i)
        sum = sum * 33 + static_cast<unsigned char>(sign.text[i]);
    return sum;
}

std::string lines[4];
std::vector<std::unique_ptr<Sign>> signs;
unsigned shown;

NOINLINE void place(unsigned number)
{
    lines[number].assign(20 + number, '-');
    signs.push_back(std::unique_ptr<Sign>(new Sign{ sum_of, lines[number].c_str(), unsigned(lines[number].size()) }));
}

NOINLINE void fill(std::string &line, unsigned from, unsigned count, char letter)
{
    for (unsigned i = 0; i < count; ++i)
        line[from + i] = letter;            /* CULPRIT */
}

NOINLINE unsigned show(unsigned number)
{
    const Sign &sign = *signs[number];

    return sign.show(sign);                 /* FAULTS */
}

}  // namespace

int main()
{
    signs.reserve(4);
    for (unsigned i = 0; i < 4; ++i)
        place(i);
    for (unsigned minute = 0; minute < 60; ++minute) {
        unsigned number = minute % 4;

        fill(lines[number], 2, 4 + minute % 14, char('0' + minute % 10));
        if (minute == 41)
            fill(lines[number], 10, 40, '\xD1');
        shown += show(number);
    }
    return 0;
}
