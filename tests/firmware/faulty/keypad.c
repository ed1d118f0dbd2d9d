/* A keypad's screens: keys go to the screen that has the focus. */

#include "board/lib.h"

enum key { UP, DOWN, ENTER, BACK };

struct screen {
    const char *title;
    void (*on_key)(struct screen *screen, enum key key);
    void (*draw)(const struct screen *screen);
    struct screen *below;
    int selected, entries;
    bool open;
};

static struct screen *focus;
static struct screen home, settings, details, question;
static uint32_t drawn;

/* Typed by whoever tests the device. */
static const uint8_t typed[] = {
    DOWN, DOWN, UP, ENTER, DOWN, DOWN, DOWN, ENTER, UP, BACK, DOWN, BACK, UP, ENTER, DOWN, DOWN, ENTER, DOWN, ENTER,
    UP, DOWN, DOWN,
};

static NOINLINE void draw_list(const struct screen *screen)
{
    put_text(screen->title);
    for (int i = 0; i < screen->entries; ++i) {
        put_text(i == screen->selected ? "> " : "  ");
        put_number((uint32_t)i + 1);
    }
    ++drawn;
}

static NOINLINE void show(struct screen *screen)
{
    screen->below = focus;
    screen->open = true;
    screen->selected = 0;
    focus = screen;
}

static NOINLINE void hide(struct screen *screen)
{
    screen->open = false;
    if (focus == screen)
        focus = screen->below;
}

/* Frees what a screen holds; it is not shown again. */
static NOINLINE void dispose(struct screen *screen)
{
    screen->entries = 0;
    screen->on_key = NULL;              /* CULPRIT */
}

static NOINLINE void move(struct screen *screen, int by)
{
    int to = screen->selected + by;

    if (to >= 0 && to < screen->entries)
        screen->selected = to;
}

static void home_key(struct screen *screen, enum key key)
{
    if (key == ENTER)
        show(screen->selected == 0 ? &details : &settings);
    else if (key != BACK)
        move(screen, key == UP ? -1 : 1);
}

static void settings_key(struct screen *screen, enum key key)
{
    if (key == BACK)
        hide(screen);
    else if (key == ENTER && screen->selected == 2)
        show(&question);
    else
        move(screen, key == UP ? -1 : 1);
}

static void question_key(struct screen *screen, enum key key)
{
    if (key == ENTER) {
        dispose(&settings);
        hide(screen);
    } else if (key == BACK) {
        hide(screen);
    } else {
        move(screen, key == UP ? -1 : 1);
    }
}

static NOINLINE void on_key(enum key key)
{
    struct screen *screen = focus;

    screen->on_key(screen, key);        /* FAULTS */
    focus->draw(focus);
}

int main(void)
{
    home = (struct screen){ "HOME", home_key, draw_list, NULL, 0, 3, false };
    settings = (struct screen){ "SETTINGS", settings_key, draw_list, NULL, 0, 5, false };
    details = (struct screen){ "DETAILS", settings_key, draw_list, NULL, 0, 2, false };
    question = (struct screen){ "REALLY", question_key, draw_list, NULL, 0, 2, false };
    show(&home);
    for (unsigned i = 0; i < COUNT(typed); ++i)
        on_key((enum key)typed[i]);
    return 0;
}
