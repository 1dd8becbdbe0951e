/* Segments: what a process's address space holds when it starts. Loaded one page at a time. */
#include "abi.h"
#include "pagemap.h"
#include "process.h"
#include "process_parts.h"

/* Constant after start-up. */
struct segment {
    uint64_t vaddr;
    uint64_t pages;
    uint64_t image_words; /* words filled from the image, the rest is zero */
    uint32_t first_frame; /* of the image */
    uint32_t prot;
    uint32_t copy; /* 1: into frames of the process; 0: the image's own frames are mapped */
    uint32_t spare;
};

/* first and count are constant after start-up; segment and page (the next to load) are used by the CPU that
 * builds p, and while there is none by who holds LOCK_PROCESS_BASE + p. */
struct loading {
    uint32_t first;
    uint32_t count;
    uint32_t segment;
    uint32_t spare;
    uint64_t page;
};

/* Written by start-up only. */
struct load_space {
    uint32_t used;
};

static struct segment segment[NUM_SEGMENT];
static struct loading loading[NUM_PROCESS];
static struct load_space load_space[1];

void process_load_init(void)
{
    for (uint32_t p = 0u; p < NUM_PROCESS; p = p + 1u) {
        loading[p].first = 0u;
        loading[p].count = 0u;
        loading[p].segment = 0u;
        loading[p].page = 0u;
    }
    load_space[0].used = 0u;
}

uint32_t process_define_segment(uint32_t p, uint64_t vaddr, uint64_t pages, uint32_t first_frame, uint64_t image_words,
                                uint32_t prot, uint32_t copy)
{
    uint32_t s = load_space[0].used;
    uint32_t page_valid = process_page_valid(vaddr);
    uint32_t prot_valid = process_prot_valid((uint64_t)prot);
    if (s >= NUM_SEGMENT) {
        return ERR_NO_MEMORY;
    }
    if (page_valid == 0u || pages == 0u || pages > (USER_END - vaddr) / 4096ul) {
        return ERR_BAD_ADDRESS;
    }
    if (prot_valid == 0u || (copy == 0u && (prot & PROT_WRITE) != 0u)) {
        return ERR_BAD_ARGUMENT;
    }
    if (loading[p].count == 0u) {
        loading[p].first = s;
    }
    segment[s].vaddr = vaddr;
    segment[s].pages = pages;
    segment[s].image_words = image_words;
    segment[s].first_frame = first_frame;
    segment[s].prot = prot;
    segment[s].copy = copy;
    loading[p].count = loading[p].count + 1u;
    load_space[0].used = s + 1u;
    return STATUS_OK;
}

void process_load_reset(uint32_t p)
{
    loading[p].segment = 0u;
    loading[p].page = 0u;
}

uint32_t process_load_done(uint32_t p)
{
    if (loading[p].segment < loading[p].count) {
        return 0u;
    }
    return 1u;
}

/* The words of page `page` of segment s that come from the image. */
static uint32_t process_image_words(uint32_t s, uint64_t page)
{
    uint64_t first_word = page * FRAME_WORDS;
    uint64_t words = 0u;
    if (segment[s].image_words > first_word) {
        words = segment[s].image_words - first_word;
        if (words > FRAME_WORDS) {
            words = FRAME_WORDS;
        }
    }
    return (uint32_t)words;
}

/* The next page is the one after page `page` of p's segment number `index`, which has so many pages. */
static void process_load_next(uint32_t p, uint32_t index, uint64_t page, uint64_t pages)
{
    if (page + 1u < pages) {
        loading[p].page = page + 1u;
    } else {
        loading[p].page = 0u;
        loading[p].segment = index + 1u;
    }
}

uint32_t process_load_step(uint32_t p)
{
    uint32_t index = loading[p].segment;
    uint32_t s = loading[p].first + index;
    uint64_t page = loading[p].page;
    uint64_t vaddr = segment[s].vaddr + page * 4096ul;
    uint64_t source = (uint64_t)segment[s].first_frame + page;
    uint32_t words = process_image_words(s, page);
    uint32_t status = STATUS_OK;
    if (segment[s].copy == 0u) {
        status = process_show_page(p, vaddr, (uint32_t)source, segment[s].prot, PAGEMAP_IMAGE);
    } else if (words == 0u) {
        status = process_give_copy(p, vaddr, segment[s].prot, NONE, 0u);
    } else {
        status = process_give_copy(p, vaddr, segment[s].prot, (uint32_t)source, words);
    }
    if (status == STATUS_OK) {
        process_load_next(p, index, page, segment[s].pages);
    }
    return status;
}
