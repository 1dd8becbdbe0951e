/* Edges in a picture: gradients in both directions, their sum against a threshold, and a count of each row.
 * Inputs: the picture. The loops run equally often for all. */
#include "program.h"

enum { WIDTH = 8, HEIGHT = 7 };
uint8_t picture[HEIGHT][WIDTH], edges[HEIGHT][WIDTH], counts[HEIGHT];

const uint32_t cases = 3;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        picture[i / WIDTH][i % WIDTH] = (uint8_t)(i * i * number);
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    static const int8_t kernel[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    for (uint32_t y = 1; y < HEIGHT - 1; y++) {
        for (uint32_t x = 1; x < WIDTH - 1; x++) {
            int32_t across = 0, down = 0;
            for (uint32_t i = 0; i < 3; i++) {
                for (uint32_t j = 0; j < 3; j++) {
                    across += kernel[i][j] * picture[y + i - 1][x + j - 1];
                    down += kernel[j][i] * picture[y + i - 1][x + j - 1];
                }
            }
            across = across < 0 ? -across : across;
            down = down < 0 ? -down : down;
            edges[y][x] = across + down > 200;
        }
    }
    for (uint32_t y = 0; y < HEIGHT; y++) {
        uint8_t count = 0;
        for (uint32_t x = 0; x < WIDTH; x++)
            count = (uint8_t)(count + edges[y][x]);
        counts[y] = count;
    }
    return counts[1];
}
