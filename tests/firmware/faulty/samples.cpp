// Recordings that own their samples; the best of each round goes to the archive.

#include "board/chip.h"
#include "board/new.h"

namespace {

class Recording {
public:
    explicit Recording(unsigned length) : length_(length), samples_(new short[length]) {}
    ~Recording() { delete[] samples_; } /* CULPRIT */

    NOINLINE void record(unsigned seed)
    {
        for (unsigned i = 0; i < length_; ++i) {
            seed = seed * 69069 + 1;
            samples_[i] = static_cast<short>(static_cast<int>(seed >> 20) - 2048);
        }
    }

    NOINLINE unsigned energy() const
    {
        unsigned sum = 0;
        for (unsigned i = 0; i < length_; ++i)
            sum += static_cast<unsigned>(samples_[i] * samples_[i]) >> 8;
        return sum;
    }

private:
    unsigned length_;
    short *samples_;
};

struct Archive {
    unsigned energies[16];
    unsigned count;

    NOINLINE void keep(Recording recording) { energies[count++ % 16] = recording.energy(); }        /* CULPRIT */
    NOINLINE void note(const Recording &recording) { energies[count++ % 16] = recording.energy(); }
};

Archive archive;

NOINLINE void round(unsigned number)
{
    Recording first(12 + number % 3), second(20);

    first.record(number);
    second.record(number + 77);
    Recording &best = first.energy() > second.energy() ? first : second;
    if (&best == &first && number > 12)
        archive.keep(best);             /* CULPRIT */
    else
        archive.note(best);
}                                       /* CULPRIT */

}  // namespace

int main()
{
    for (unsigned number = 0; number < 60; ++number)
        round(number);
    return 0;
}
