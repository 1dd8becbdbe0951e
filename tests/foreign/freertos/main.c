/*
 * Three tasks on FreeRTOS for a Cortex-M3: one samples, one works, one waits for a device's interrupt. Built by freertos-cm3.sh
 * for `ashlar campaign timing-rtos`, never run.
 */
#include <FreeRTOS.h>
#include <queue.h>
#include <task.h>

static QueueHandle_t samples;
static TaskHandle_t waiting;
volatile unsigned device;

void *memset(void *to, int byte, size_t count)
{
    unsigned char *at = to;
    while (count--) {
        *at++ = (unsigned char)byte;
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t count)
{
    unsigned char *at = to;
    for (const unsigned char *next = from; count--; next++) {
        *at++ = *next;
    }
    return to;
}

static void sample(void *unused)
{
    (void)unused;
    TickType_t last = xTaskGetTickCount();
    for (;;) {
        unsigned value = device;
        xQueueSend(samples, &value, 0);
        vTaskDelayUntil(&last, 10);
    }
}

static void work(void *unused)
{
    (void)unused;
    for (;;) {
        unsigned value;
        if (xQueueReceive(samples, &value, portMAX_DELAY)) {
            device = value + 1;
        }
    }
}

static void serve(void *unused)
{
    (void)unused;
    for (;;) {
        ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        device = 0;
    }
}

void device_handler(void)
{
    BaseType_t wakes = pdFALSE;
    vTaskNotifyGiveFromISR(waiting, &wakes);
    portYIELD_FROM_ISR(wakes);
}

static void unused_handler(void)
{
    for (;;) {
    }
}

void reset(void)
{
    samples = xQueueCreate(8, sizeof(unsigned));
    xTaskCreate(sample, "sample", 128, 0, 3, 0);
    xTaskCreate(work, "work", 128, 0, 2, 0);
    xTaskCreate(serve, "serve", 128, 0, 4, &waiting);
    vTaskStartScheduler();
    for (;;) {
    }
}

extern char stack_top[];
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);

/* What the processor reads at address 0: the stack pointer, the handlers of exceptions, and of the first interrupt. */
__attribute__((section(".vectors"), used)) static void *const vectors[17] = {
    stack_top,
    reset,
    unused_handler,
    unused_handler,
    unused_handler,
    unused_handler,
    unused_handler,
    0,
    0,
    0,
    0,
    vPortSVCHandler,
    unused_handler,
    0,
    xPortPendSVHandler,
    xPortSysTickHandler,
    device_handler,
};
