/* The driver's thread and its mailboxes: what user/runtime does in a process, with a kernel thread and Linux's lists.
 *
 * What is sent to the driver waits in a list, in order of arrival, until an AWAIT names its mailbox. What the driver sends is
 * acted on at once, in its own thread. The run-time monitor follows both, unless the module is loaded with monitor=0. */
#include "module.h"

#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include "ashlar/monitor.h"

static bool monitor = true;
module_param(monitor, bool, 0444);
MODULE_PARM_DESC(monitor, "check each message against its protocol (default: yes)");

/* Open requests of `ethernet`, and of each protocol what it has under way beside them. */
#define NUM_NODE (ETHERNET_MAX_TRANSMIT_SLOT + ETHERNET_MAX_RECEIVE_SLOT + 16u)

struct node {
    struct list_head place;
    struct mail mail;
};

static struct node node[NUM_NODE];
static LIST_HEAD(pending);
static LIST_HEAD(unused);
static DEFINE_SPINLOCK(lock); /* guards both lists, with interrupts off: the interrupt's handler posts */

static struct task_struct *thread;
static bool is_broken;

static struct mail taken; /* of the driver's last AWAIT */
static struct mail sent;  /* between domain_emit_begin and domain_emit_end */
const struct mail *domain_current = &taken;

static uint64_t pci_open[PCI_MONITOR_WORDS];
static uint64_t ethernet_open[ETHERNET_MONITOR_WORDS];
static struct monitor pci_monitor;
static struct monitor ethernet_monitor;

static struct monitor *monitor_of(uint32_t mailbox)
{
    return mailbox >> 8 == PCI_NUMBER ? &pci_monitor : &ethernet_monitor;
}

static const char *message_name(uint32_t mailbox)
{
    const struct protocol *protocol = monitor_of(mailbox)->protocol;

    return (mailbox & 0xffu) < protocol->num_message ? protocol->messages[mailbox & 0xffu].name : "?";
}

static void complain(uint32_t mailbox, char direction, enum monitor_verdict verdict)
{
    const struct monitor *of = monitor_of(mailbox);

    pr_err("%s: MONITOR %s: %c%s in state %s: %s\n", MODULE_NAME, of->protocol->name, direction, message_name(mailbox),
           monitor_state(of), monitor_explain(verdict));
}

/* ---- the thread's end ---- */

static void __noreturn leave(void)
{
    __set_current_state(TASK_RUNNING);
    kthread_complete_and_exit(NULL, 0);
}

/* Nothing that the driver does after it has broken its protocol reaches Linux or the device. */
static void __noreturn park(void)
{
    WRITE_ONCE(is_broken, true);
    bus_broken();
    net_broken();
    for (;;) {
        set_current_state(TASK_IDLE);
        if (kthread_should_stop()) {
            leave();
        }
        schedule();
    }
}

bool domain_is_broken(void)
{
    return READ_ONCE(is_broken);
}

/* ---- EMIT ---- */

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    return sent.payload;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    if (monitor) {
        enum monitor_verdict verdict = monitor_emit(monitor_of(mailbox), mailbox, cookie, sent.payload);
        if (verdict != MONITOR_OK) {
            complain(mailbox, '!', verdict);
            park();
        }
    }
    if (mailbox >> 8 == ETHERNET_NUMBER) {
        net_received(mailbox, cookie, sent.payload);
    } else if (mailbox != PCI_ACCESS) {
        bus_received(mailbox, sent.payload);
    }
}

/* ---- AWAIT ---- */

/* Takes the oldest message of the set. Requires: the lock. */
static bool take(const struct mail_set *set)
{
    struct node *at;

    list_for_each_entry(at, &pending, place)
    {
        uint32_t mailbox = at->mail.mailbox;
        if ((set->mask[mailbox >> 8] >> (mailbox & 63u) & 1u) != 0) {
            taken = at->mail;
            list_move(&at->place, &unused);
            return true;
        }
    }
    return false;
}

/* Takes a message of the set, or sleeps until one is posted, and returns false. */
static bool take_or_sleep(const struct mail_set *set)
{
    bool has_taken;

    spin_lock_irq(&lock);
    has_taken = take(set);
    if (!has_taken) {
        set_current_state(TASK_IDLE);
    }
    spin_unlock_irq(&lock);
    if (!has_taken) {
        if (kthread_should_stop()) {
            leave();
        }
        schedule();
    }
    return has_taken;
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    for (;;) {
        net_flush();
        if (take_or_sleep(set)) {
            enum monitor_verdict verdict = MONITOR_OK;
            if (monitor) {
                verdict = monitor_receive(monitor_of(taken.mailbox), taken.mailbox, taken.cookie, taken.payload);
            }
            if (verdict == MONITOR_OK) {
                return taken.mailbox;
            }
            complain(taken.mailbox, '?', verdict); /* the module's own fault: the driver never sees the message */
        }
    }
}

void domain_post(uint32_t mailbox, uint64_t cookie, const void *payload, size_t size)
{
    unsigned long flags;
    struct node *free;

    spin_lock_irqsave(&lock, flags);
    free = list_first_entry_or_null(&unused, struct node, place);
    if (free) {
        free->mail.mailbox = mailbox;
        free->mail.cookie = cookie;
        memcpy(free->mail.payload, payload, size);
        list_move_tail(&free->place, &pending);
        wake_up_process(thread);
    }
    spin_unlock_irqrestore(&lock, flags);
    if (!free) {
        pr_err_ratelimited("%s: no room for ?%s\n", MODULE_NAME, message_name(mailbox));
    }
}

void domain_retract(uint32_t mailbox)
{
    unsigned long flags;
    struct node *at;
    struct node *next;

    spin_lock_irqsave(&lock, flags);
    list_for_each_entry_safe(at, next, &pending, place)
    {
        if (at->mail.mailbox == mailbox) {
            list_move(&at->place, &unused);
        }
    }
    spin_unlock_irqrestore(&lock, flags);
}

/* ---- questions ---- */

uint32_t question_ask(struct question *question, uint32_t mailbox, const void *payload, size_t size)
{
    reinit_completion(&question->answered);
    question->answer = 0;
    if (domain_is_broken()) {
        return 0;
    }
    domain_post(mailbox, 0, payload, size);
    wait_for_completion(&question->answered);
    return question->answer;
}

void question_answer(struct question *question, uint32_t answer)
{
    question->answer = answer;
    complete(&question->answered);
}

/* ---- begin and end ---- */

static int run(void *unused_argument)
{
    driver();
    if (monitor) {
        const struct monitor *const all[] = {&pci_monitor, &ethernet_monitor};
        enum monitor_verdict verdict = monitor_return(all, ARRAY_SIZE(all));
        pr_err("%s: MONITOR: the driver has returned: %s\n", MODULE_NAME, monitor_explain(verdict));
    }
    park();
}

int domain_begin(void)
{
    monitor_start(&pci_monitor, &pci_protocol, pci_open);
    monitor_start(&ethernet_monitor, &ethernet_protocol, ethernet_open);
    for (uint32_t i = 0; i < NUM_NODE; i++) {
        list_add(&node[i].place, &unused);
    }
    thread = kthread_create(run, NULL, MODULE_NAME);
    if (IS_ERR(thread)) {
        return PTR_ERR(thread);
    }
    get_task_struct(thread); /* it may be posted to while it ends */
    wake_up_process(thread);
    return 0;
}

void domain_end(void)
{
    kthread_stop(thread);
    put_task_struct(thread);
}
