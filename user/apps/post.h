/* What the sender of one-way messages and their receiver agree on: which words a message carries. */
#ifndef POST_H
#define POST_H

#include "ashlar/message.h"

static inline uint64_t pattern(uint64_t round, uint64_t index)
{
    return (round * 1000003u + index) * 0x9e3779b97f4a7c15ul;
}

static inline uint64_t *word_of(struct message *message, uint64_t index)
{
    return index < MESSAGE_REGISTER_WORDS ? &message->word[index] : &message_page(0)[index];
}

#endif
