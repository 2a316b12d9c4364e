/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frnic, PCI Express function: the glue between QEMU and a backend (see
 * backend.h). Here live BARs, DMA, MSI-X, the netdev and the threads; queues,
 * contexts and the protocol live in the backend.
 *
 * Threads and locks
 *
 * A backend is single-threaded; the device lock (s->lock) guards it. Whoever
 * brings an event enters the backend on its own thread, so that a doorbell or
 * a frame is handled without a thread hop:
 *
 *   vCPU        BAR access            BQL held by QEMU's dispatch, takes the
 *                                     device lock, waiting for it if need be
 *   main loop   frame, link, reset    BQL held; a frame never waits for the
 *                                     device lock: it is queued (s->rx)
 *   worker      timers, work left     BQL not held
 *
 * The first two do a bounded amount of work (INLINE_BUDGET) and leave the rest
 * to the worker, which works in slices and sleeps until the backend's next
 * event. Nobody spins. All that contend for the device lock, except the
 * worker, hold the BQL; so the device lock is contended by at most two threads.
 *
 * Lock order: BQL, then device lock. Backend callbacks run under the device
 * lock and may not take the BQL. So they only queue their output (frames in
 * s->tx, vectors in s->msix_pending), and frnic_flush(), called after the
 * device lock is dropped, takes the BQL unless its thread has it and sends.
 * Rings have one producer and one consumer by virtue of the two locks:
 *
 *   s->tx   produced under the device lock, consumed under the BQL
 *   s->rx   produced under the BQL, consumed under the device lock
 *
 * Frames thus keep their order whichever threads handle them. DMA happens
 * under the device lock, hence reaches RAM only: an access to another device's
 * MMIO would need the BQL, and is answered with an error. Behind an IOMMU the
 * worker takes the BQL first, because the IOMMU reports faults with it.
 */

#include "qemu/osdep.h"
#include <dlfcn.h>
#include "qemu/atomic.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "qemu/event_notifier.h"
#include "qemu/guest-random.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/rcu.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "exec/address-spaces.h"
#include "hw/boards.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "hw/pci/pci_bus.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_aer.h"
#include "hw/qdev-properties.h"
#include "hw/core/cpu.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "sysemu/runstate.h"
#include "sysemu/tcg.h"
#include "backend.h"
#include "frnic_hw.h"
#include "trace.h"

#define TYPE_FRNIC "frnic"
OBJECT_DECLARE_SIMPLE_TYPE(FrnicState, FRNIC)

#define MAX_VECTORS 64
#define MAX_UARS 0x10000

/* Config space; the extended capabilities only on PCI Express. */
#define PM_OFFSET 0x40
#define EXP_OFFSET 0x60
#define AER_OFFSET 0x100
#define DSN_OFFSET 0x150

/*
 * Units of work (see backend.h) at a time: little while a vCPU or the main
 * loop waits, more in the worker, but never so much that a vCPU notices that
 * it waits for the device lock.
 */
#define INLINE_BUDGET 8
#define WORKER_BUDGET 16

/*
 * Bytes in a ring. Above TX_HIGH, while the netdev takes no more, the backend
 * is not asked to work; what it had begun has room. A peer that does not read
 * for TX_STALL_NS must not stop the device: then frames that find the ring
 * full are lost, as on a wire.
 */
#define RING_SIZE (512 * KiB)
#define TX_HIGH (128 * KiB)
#define TX_STALL_NS (250 * SCALE_MS)
/* Frames sent in one go with the BQL held. */
#define TX_BATCH 64

/*
 * Ring of frames of any length, one producer, one consumer. A record is its
 * length and the frame, contiguous, 8-byte aligned; RING_SKIP says that the
 * next record is at the buffer's start.
 */
typedef struct FrnicRing {
    uint8_t *buf;
    uint32_t head; /* written by the producer, counts bytes */
    uint32_t tail; /* written by the consumer */
} FrnicRing;

#define RING_SKIP UINT32_MAX
#define RING_HEADER 8

struct FrnicState {
    PCIDevice parent_obj;

    /* Properties */
    NICConf conf;
    char *backend_path;
    char *backend_opts;
    uint64_t seed;
    uint32_t vectors;

    /* Constant while realized */
    void *dl;
    const struct frnic_backend_ops *ops;
    NICState *nic;
    MemoryRegion regs;
    MemoryRegion db;
    int64_t epoch;
    bool cpu_atomic;
    VMChangeStateEntry *vmstate;
    QEMUBH *bh;

    /* Guarded by the device lock */
    QemuMutex lock;
    struct frnic_backend *be;
    uint64_t sleep_until; /* the worker sleeps until then; 0: it is awake */
    uint64_t tx_stalled;  /* since when the backend has to wait; 0: it has not */

    /* Written under both locks; the machine runs */
    bool running;

    /* Guarded by the BQL; iommu and tx_blocked are looked at without */
    bool iommu;      /* an IOMMU translates our DMA */
    bool tx_blocked; /* the netdev took a frame that it could not pass on */
    bool rx_stalled; /* the netdev has a frame that found no room */
    bool flushing;

    /* See the top of the file */
    FrnicRing tx;
    FrnicRing rx;
    unsigned long msix_pending[BITS_TO_LONGS(MAX_VECTORS)];

    QemuThread worker;
    EventNotifier wake;
    unsigned waiters; /* threads that wait for the device lock */
    bool quit;
};

/* Rings */

static void ring_init(FrnicRing *r)
{
    r->buf = g_malloc(RING_SIZE);
    r->head = r->tail = 0;
}

static uint32_t ring_used(const FrnicRing *r)
{
    return qatomic_load_acquire(&r->head) - qatomic_load_acquire(&r->tail);
}

static uint32_t ring_record(size_t len)
{
    return RING_HEADER + ROUND_UP(len, 8);
}

/* Space that a frame may take: itself and what is skipped before it. */
static bool ring_has_room(const FrnicRing *r, size_t len)
{
    return RING_SIZE - ring_used(r) >= 2 * ring_record(len);
}

static bool ring_push(FrnicRing *r, const void *frame, size_t len)
{
    uint32_t need = ring_record(len);
    uint32_t pos = r->head % RING_SIZE;
    uint32_t skip = need > RING_SIZE - pos ? RING_SIZE - pos : 0;

    if (len >= RING_SIZE / 4 || RING_SIZE - ring_used(r) < need + skip) {
        return false;
    }
    if (skip) {
        stl_he_p(r->buf + pos, RING_SKIP);
        pos = 0;
    }
    stl_he_p(r->buf + pos, len);
    memcpy(r->buf + pos + RING_HEADER, frame, len);
    qatomic_store_release(&r->head, r->head + skip + need);
    return true;
}

/* The oldest frame, NULL if there is none. It stays until ring_pop(). */
static const uint8_t *ring_peek(FrnicRing *r, size_t *len)
{
    uint32_t pos = r->tail % RING_SIZE;

    if (!ring_used(r)) {
        return NULL;
    }
    if ((uint32_t)ldl_he_p(r->buf + pos) == RING_SKIP) {
        qatomic_store_release(&r->tail, r->tail + RING_SIZE - pos);
        pos = 0;
    }
    *len = (uint32_t)ldl_he_p(r->buf + pos);
    return r->buf + pos + RING_HEADER;
}

static void ring_pop(FrnicRing *r, size_t len)
{
    qatomic_store_release(&r->tail, r->tail + ring_record(len));
}

/* With both locks held. */
static void ring_clear(FrnicRing *r)
{
    qatomic_store_release(&r->tail, r->head);
}

/* Time */

/*
 * The backend's time. It follows wall-clock, because the wire and the peer do.
 * The one place to change for a run in step with virtual time (-icount).
 */
static uint64_t frnic_now(FrnicState *s)
{
    return get_clock() - s->epoch;
}

/* Output: MSI-X and frames to the netdev, with the BQL */

static void frnic_sent(NetClientState *nc, ssize_t len)
{
    FrnicState *s = qemu_get_nic_opaque(nc);

    trace_frnic_eth_tx_blocked(s, false);
    qatomic_set(&s->tx_blocked, false);
    /* Not from here: the netdev's queue is being flushed. */
    qemu_bh_schedule(s->bh);
}

static void frnic_flush_msix(FrnicState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(s->msix_pending); i++) {
        unsigned long pending = qatomic_read(&s->msix_pending[i]);

        if (!pending) {
            continue;
        }
        pending = qatomic_xchg(&s->msix_pending[i], 0);
        while (pending) {
            unsigned int vector = i * BITS_PER_LONG + ctzl(pending);

            pending &= pending - 1;
            if (msix_enabled(pci)) {
                msix_notify(pci, vector);
            }
        }
    }
}

static void frnic_flush_frames(FrnicState *s)
{
    NetClientState *nc = qemu_get_queue(s->nic);
    unsigned int batch = TX_BATCH;
    const uint8_t *frame;
    size_t len;

    while (!s->tx_blocked && (frame = ring_peek(&s->tx, &len))) {
        if (!batch--) {
            /* Other work of the BQL's owner comes first. */
            qemu_bh_schedule(s->bh);
            return;
        }
        if (qemu_send_packet_async(nc, frame, len, frnic_sent) == 0) {
            /* The netdev has copied it and will call frnic_sent(). */
            trace_frnic_eth_tx_blocked(s, true);
            qatomic_set(&s->tx_blocked, true);
        }
        ring_pop(&s->tx, len);
    }
}

static bool frnic_has_output(FrnicState *s)
{
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(s->msix_pending); i++) {
        if (qatomic_read(&s->msix_pending[i])) {
            return true;
        }
    }
    return (!qatomic_read(&s->tx_blocked) && ring_used(&s->tx)) ||
           (qatomic_read(&s->rx_stalled) &&
            ring_has_room(&s->rx, NET_BUFSIZE));
}

/* Send what the backend has put out. Device lock not held. */
static void frnic_flush(FrnicState *s)
{
    bool locked = qemu_mutex_iothread_locked();

    if (!frnic_has_output(s)) {
        return;
    }
    if (!locked) {
        qemu_mutex_lock_iothread();
    }
    /*
     * A frame may come back to us while it is sent (a hub); the outer call
     * sends what that leads to. A stopped machine sends nothing.
     */
    if (s->running && !s->flushing) {
        s->flushing = true;
        frnic_flush_msix(s);
        frnic_flush_frames(s);
        if (s->rx_stalled && ring_has_room(&s->rx, NET_BUFSIZE)) {
            s->rx_stalled = false;
            qemu_flush_queued_packets(qemu_get_queue(s->nic));
        }
        frnic_flush_msix(s);
        s->flushing = false;
    }
    if (!locked) {
        qemu_mutex_unlock_iothread();
    }
}

/* Work: everything below up to the worker is called with the device lock */

/* Must the backend wait until the netdev takes frames again? */
static bool frnic_tx_full(FrnicState *s, uint64_t now)
{
    if (!qatomic_read(&s->tx_blocked) || ring_used(&s->tx) <= TX_HIGH) {
        s->tx_stalled = 0;
        return false;
    }
    if (!s->tx_stalled) {
        s->tx_stalled = now;
    }
    return now - s->tx_stalled < TX_STALL_NS;
}

/* When is there work for us? */
static uint64_t frnic_due(FrnicState *s, uint64_t now)
{
    if (!s->running) {
        return FRNIC_NEVER;
    }
    if (ring_used(&s->rx)) {
        return now;
    }
    if (frnic_tx_full(s, now)) {
        return s->tx_stalled + TX_STALL_NS;
    }
    return s->ops->next_event(s->be);
}

static void frnic_run(FrnicState *s, uint64_t now, unsigned int budget)
{
    unsigned int frames = budget;
    const uint8_t *frame;
    size_t len;

    if (!s->running) {
        return;
    }
    /* Frames are taken even if none can be sent, or two peers might wait for each other. */
    while (frames-- && (frame = ring_peek(&s->rx, &len))) {
        s->ops->eth_rx(s->be, frame, len);
        ring_pop(&s->rx, len);
    }
    if (!frnic_tx_full(s, now)) {
        s->ops->advance(s->be, now, budget);
    }
}

static void frnic_enter(FrnicState *s)
{
    if (qemu_mutex_trylock(&s->lock)) {
        /* The worker sees this at the end of its slice and makes way. */
        qatomic_inc(&s->waiters);
        qemu_mutex_lock(&s->lock);
        qatomic_dec(&s->waiters);
    }
}

/* Drop the device lock, wake the worker if it sleeps too long, send output. */
static void frnic_leave(FrnicState *s)
{
    bool kick = frnic_due(s, frnic_now(s)) < s->sleep_until;

    if (kick) {
        s->sleep_until = 0;
    }
    qemu_mutex_unlock(&s->lock);
    if (kick) {
        event_notifier_set(&s->wake);
    }
    frnic_flush(s);
}

static void *frnic_worker(void *opaque)
{
    FrnicState *s = opaque;
    GPollFD pfd = {
        .fd = event_notifier_get_fd(&s->wake),
        .events = G_IO_IN,
    };

    rcu_register_thread();
    while (!qatomic_read(&s->quit)) {
        uint64_t now, due;
        bool yield, bql;

        /* To report a fault, the IOMMU takes the BQL: it must come first. */
        bql = qatomic_read(&s->iommu);
        if (bql) {
            qemu_mutex_lock_iothread();
        }
        qemu_mutex_lock(&s->lock);
        s->sleep_until = 0;
        now = frnic_now(s);
        due = frnic_due(s, now);
        trace_frnic_wake(s, now, due);
        if (due <= now) {
            frnic_run(s, now, WORKER_BUDGET);
            due = frnic_due(s, now);
        }
        /* Whoever waits for the lock will wake us if there is work left. */
        yield = qatomic_read(&s->waiters);
        s->sleep_until = yield ? FRNIC_NEVER : due;
        qemu_mutex_unlock(&s->lock);

        frnic_flush(s);
        if (bql) {
            qemu_mutex_unlock_iothread();
        }

        /* A frame queued while we had the lock. Pairs with frnic_receive(). */
        smp_mb();
        if (yield) {
            due = FRNIC_NEVER;
        } else if (due <= now ||
                   (ring_used(&s->rx) && qatomic_read(&s->running))) {
            continue;
        }
        now = frnic_now(s);
        qemu_poll_ns(&pfd, 1, due == FRNIC_NEVER ? -1 :
                              due > now ? due - now : 0);
        event_notifier_test_and_clear(&s->wake);
    }
    rcu_unregister_thread();
    return NULL;
}

/* Main loop: the netdev takes frames again, the machine runs again, or a frame found no room. */
static void frnic_bh(void *opaque)
{
    FrnicState *s = opaque;
    NetClientState *peer = qemu_get_queue(s->nic)->peer;

    /*
     * A netdev whose other end went away while it had our frame forgets to
     * say that it takes frames again.
     */
    if (s->tx_blocked && peer && peer->link_down) {
        qemu_flush_queued_packets(peer);
    }
    frnic_flush(s);
    frnic_enter(s);
    frnic_leave(s);
}

/* What the backend calls, see struct frnic_host_ops */

/*
 * RAM behind a bus address, NULL if there is none: hole, MMIO, ROM, IOMMU
 * fault, bus mastering off. Within an RCU critical section.
 */
static void *frnic_dma_ram(FrnicState *s, uint64_t addr, hwaddr *len,
                           bool write, MemoryRegion **mr)
{
    hwaddr xlat;

    *mr = address_space_translate(pci_get_address_space(PCI_DEVICE(s)), addr,
                                  &xlat, len, write, MEMTXATTRS_UNSPECIFIED);
    if (!memory_access_is_direct(*mr, write)) {
        trace_frnic_dma_error(s, addr, write);
        return NULL;
    }
    return (uint8_t *)memory_region_get_ram_ptr(*mr) + xlat;
}

/* Tell QEMU that we wrote (dirty log, translated code in the page). */
static void frnic_dma_wrote(FrnicState *s, MemoryRegion *mr, void *ram,
                            hwaddr len)
{
    /* address_space_unmap() drops the reference that a map would have taken. */
    memory_region_ref(mr);
    address_space_unmap(pci_get_address_space(PCI_DEVICE(s)), ram, len, true,
                        len);
}

static int frnic_dma_read(void *host, uint64_t addr, void *buf, size_t len)
{
    FrnicState *s = host;
    uint8_t *p = buf;

    trace_frnic_dma_read(s, addr, len);
    RCU_READ_LOCK_GUARD();
    while (len) {
        hwaddr l = len;
        MemoryRegion *mr;
        void *ram = frnic_dma_ram(s, addr, &l, false, &mr);

        if (!ram) {
            return -1;
        }
        memcpy(p, ram, l);
        p += l;
        addr += l;
        len -= l;
    }
    return 0;
}

static int frnic_dma_write(void *host, uint64_t addr, const void *buf,
                           size_t len)
{
    FrnicState *s = host;
    const uint8_t *p = buf;

    trace_frnic_dma_write(s, addr, len);
    RCU_READ_LOCK_GUARD();
    while (len) {
        hwaddr l = len;
        MemoryRegion *mr;
        void *ram = frnic_dma_ram(s, addr, &l, true, &mr);

        if (!ram) {
            return -1;
        }
        memcpy(ram, p, l);
        frnic_dma_wrote(s, mr, ram, l);
        p += l;
        addr += l;
        len -= l;
    }
    return 0;
}

typedef struct FrnicAtomic {
    bool add;
    uint64_t compare;
    uint64_t operand;
} FrnicAtomic;

static int frnic_dma_atomic(FrnicState *s, uint64_t addr, FrnicAtomic op,
                            uint64_t *old)
{
    hwaddr l = sizeof(uint64_t);
    MemoryRegion *mr;
    uint64_t *ram;

    RCU_READ_LOCK_GUARD();
    ram = frnic_dma_ram(s, addr, &l, true, &mr);
    if (!ram || l < sizeof(uint64_t) || !QEMU_PTR_IS_ALIGNED(ram, 8)) {
        return -1;
    }
    for (;;) {
        uint64_t raw = qatomic_read__nocheck(ram);
        uint64_t val = le64_to_cpu(raw);
        uint64_t new = op.add ? val + op.operand :
                       val == op.compare ? op.operand : val;

        /* Also if nothing changes: it must have been the value at one time. */
        if (qatomic_cmpxchg__nocheck(ram, raw, cpu_to_le64(new)) == raw) {
            *old = val;
            break;
        }
    }
    frnic_dma_wrote(s, mr, ram, l);
    trace_frnic_dma_atomic(s, op.add ? "fetch_add" : "cmp_swap", addr, *old);
    return s->cpu_atomic;
}

static int frnic_dma_cmp_swap(void *host, uint64_t addr, uint64_t compare,
                              uint64_t swap, uint64_t *old)
{
    FrnicAtomic op = { .compare = compare, .operand = swap };

    return frnic_dma_atomic(host, addr, op, old);
}

static int frnic_dma_fetch_add(void *host, uint64_t addr, uint64_t add,
                               uint64_t *old)
{
    FrnicAtomic op = { .add = true, .operand = add };

    return frnic_dma_atomic(host, addr, op, old);
}

static void frnic_msix(void *host, unsigned int vector)
{
    FrnicState *s = host;

    trace_frnic_msix(s, vector);
    if (vector < s->vectors) {
        set_bit_atomic(vector, s->msix_pending);
    }
}

static void frnic_eth_tx(void *host, const void *frame, size_t len)
{
    FrnicState *s = host;

    trace_frnic_eth_tx(s, len);
    if (len > NET_BUFSIZE) {
        trace_frnic_eth_tx_drop(s, len, "too long");
    } else if (!ring_push(&s->tx, frame, len)) {
        trace_frnic_eth_tx_drop(s, len, "ring full");
        qemu_bh_schedule(s->bh);
    }
}

static void frnic_log(void *host, bool guest_error, const char *text)
{
    FrnicState *s = host;

    trace_frnic_log(s, text);
    if (guest_error) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: %s\n", PCI_DEVICE(s)->name, text);
    }
}

static const struct frnic_host_ops frnic_host_ops = {
    .dma_read = frnic_dma_read,
    .dma_write = frnic_dma_write,
    .dma_cmp_swap = frnic_dma_cmp_swap,
    .dma_fetch_add = frnic_dma_fetch_add,
    .msix = frnic_msix,
    .eth_tx = frnic_eth_tx,
    .log = frnic_log,
};

/* BARs */

static uint64_t frnic_bar_read(FrnicState *s, unsigned int bar, hwaddr off,
                               unsigned int len)
{
    uint64_t val;

    frnic_enter(s);
    /* What is read (time, counters) is as of now. */
    frnic_run(s, frnic_now(s), INLINE_BUDGET);
    val = s->ops->bar_read(s->be, bar, off, len);
    trace_frnic_bar_read(s, bar, off, len, val);
    frnic_leave(s);
    return val;
}

static void frnic_bar_write(FrnicState *s, unsigned int bar, hwaddr off,
                            uint64_t val, unsigned int len)
{
    uint8_t data[8];
    uint64_t now;

    stq_le_p(data, val);
    frnic_enter(s);
    trace_frnic_bar_write(s, bar, off, len, val);
    s->ops->bar_write(s->be, bar, off, data, len);
    now = frnic_now(s);
    if (frnic_due(s, now) <= now) {
        frnic_run(s, now, INLINE_BUDGET);
    }
    frnic_leave(s);
}

static uint64_t frnic_regs_read(void *opaque, hwaddr off, unsigned int len)
{
    return frnic_bar_read(opaque, FRNIC_BAR_REGS, off, len);
}

static void frnic_regs_write(void *opaque, hwaddr off, uint64_t val,
                             unsigned int len)
{
    frnic_bar_write(opaque, FRNIC_BAR_REGS, off, val, len);
}

static uint64_t frnic_db_read(void *opaque, hwaddr off, unsigned int len)
{
    return frnic_bar_read(opaque, FRNIC_BAR_DB, off, len);
}

static void frnic_db_write(void *opaque, hwaddr off, uint64_t val,
                           unsigned int len)
{
    if (off % FRNIC_UAR_STRIDE == FRNIC_UAR_DB_OFF) {
        trace_frnic_doorbell(opaque, off / FRNIC_UAR_STRIDE, val);
    }
    frnic_bar_write(opaque, FRNIC_BAR_DB, off, val, len);
}

/* All sizes and alignments go to the backend, which knows what hardware refuses. */
static const MemoryRegionOps frnic_regs_ops = {
    .read = frnic_regs_read,
    .write = frnic_regs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

static const MemoryRegionOps frnic_db_ops = {
    .read = frnic_db_read,
    .write = frnic_db_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* Network */

static bool frnic_can_receive(NetClientState *nc)
{
    FrnicState *s = qemu_get_nic_opaque(nc);

    if (ring_has_room(&s->rx, NET_BUFSIZE)) {
        return true;
    }
    qatomic_set(&s->rx_stalled, true);
    return false;
}

static ssize_t frnic_receive(NetClientState *nc, const uint8_t *frame,
                             size_t len)
{
    FrnicState *s = qemu_get_nic_opaque(nc);
    bool direct;

    /* Older frames first. No one else adds to the ring: we have the BQL. */
    direct = !ring_used(&s->rx) && !qemu_mutex_trylock(&s->lock);
    trace_frnic_eth_rx(s, len, !direct);
    if (direct) {
        s->ops->eth_rx(s->be, frame, len);
    } else {
        if (!ring_push(&s->rx, frame, len)) {
            trace_frnic_eth_rx_full(s);
            qatomic_set(&s->rx_stalled, true);
            return 0;
        }
        /* If the worker has the lock, it looks once more after dropping it. */
        smp_mb();
        if (qemu_mutex_trylock(&s->lock)) {
            return len;
        }
    }
    frnic_run(s, frnic_now(s), INLINE_BUDGET);
    frnic_leave(s);
    return len;
}

static void frnic_link_changed(NetClientState *nc)
{
    FrnicState *s = qemu_get_nic_opaque(nc);

    trace_frnic_link(s, !nc->link_down);
    frnic_enter(s);
    s->ops->link_set(s->be, !nc->link_down);
    frnic_leave(s);
}

static NetClientInfo frnic_net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = frnic_can_receive,
    .receive = frnic_receive,
    .link_status_changed = frnic_link_changed,
};

/* Life cycle */

/* pci_is_express() is true in a conventional slot as well. */
static bool frnic_has_express(PCIDevice *pci)
{
    return pci->exp.exp_cap;
}

/* Power-on, bus reset, FLR. */
static void frnic_reset(DeviceState *dev)
{
    FrnicState *s = FRNIC(dev);
    unsigned int i;

    trace_frnic_reset(s);
    qatomic_set(&s->iommu, pci_device_iommu_address_space(PCI_DEVICE(s)) !=
                           &address_space_memory);
    frnic_enter(s);
    s->ops->reset(s->be);
    s->ops->link_set(s->be, !qemu_get_queue(s->nic)->link_down);
    ring_clear(&s->tx);
    ring_clear(&s->rx);
    for (i = 0; i < ARRAY_SIZE(s->msix_pending); i++) {
        qatomic_set(&s->msix_pending[i], 0);
    }
    s->tx_stalled = 0;
    frnic_leave(s);
    if (frnic_has_express(PCI_DEVICE(s))) {
        pcie_cap_deverr_reset(PCI_DEVICE(s));
    }
}

static void frnic_vm_state(void *opaque, bool running, RunState state)
{
    FrnicState *s = opaque;

    trace_frnic_running(s, running);
    frnic_enter(s);
    qatomic_set(&s->running, running);
    frnic_leave(s);
    if (running) {
        qemu_bh_schedule(s->bh);
    }
}

static void frnic_write_config(PCIDevice *pci, uint32_t addr, uint32_t val,
                               int len)
{
    pci_default_write_config(pci, addr, val, len);
    if (frnic_has_express(pci)) {
        pcie_cap_flr_write_config(pci, addr, val, len);
        pcie_aer_write_config(pci, addr, val, len);
    }
}

static bool frnic_load_backend(FrnicState *s, Error **errp)
{
    const struct frnic_backend_ops *(*get)(uint32_t abi);
    struct frnic_backend_config cfg = {
        .msix_vectors = s->vectors,
        .seed = s->seed,
    };
    g_auto(GStrv) options = NULL;
    char reason[256] = "no reason given";
    unsigned int i, n;

    if (!s->backend_path) {
        error_setg(errp, "property 'backend' (path of a shared object) is not set");
        return false;
    }
    s->dl = dlopen(s->backend_path, RTLD_NOW | RTLD_LOCAL);
    if (!s->dl) {
        error_setg(errp, "cannot load backend: %s", dlerror());
        return false;
    }
    get = dlsym(s->dl, "frnic_backend_get");
    if (!get) {
        error_setg(errp, "'%s' is not a backend: it has no frnic_backend_get",
                   s->backend_path);
        return false;
    }
    s->ops = get(FRNIC_BACKEND_ABI);
    if (!s->ops || s->ops->abi != FRNIC_BACKEND_ABI) {
        error_setg(errp, "backend '%s' does not speak backend.h version %d",
                   s->backend_path, FRNIC_BACKEND_ABI);
        return false;
    }

    options = g_strsplit_set(s->backend_opts ?: "", ",;", -1);
    for (i = n = 0; options[i]; i++) {
        if (*options[i]) {
            options[n++] = options[i];
        } else {
            g_free(options[i]);
        }
    }
    options[n] = NULL;
    cfg.options = (const char *const *)options;
    memcpy(cfg.mac, s->conf.macaddr.a, sizeof(cfg.mac));
    if (!cfg.seed) {
        /* Honours -seed. */
        qemu_guest_getrandom_nofail(&cfg.seed, sizeof(cfg.seed));
    }
    s->be = s->ops->create(&frnic_host_ops, s, &cfg, reason, sizeof(reason));
    if (!s->be) {
        error_setg(errp, "backend '%s': %s", s->ops->name, reason);
        return false;
    }
    return true;
}

static bool frnic_init_pci(FrnicState *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    const uint8_t *mac = s->conf.macaddr.a;
    uint64_t uars = s->ops->bar_read(s->be, FRNIC_BAR_REGS, FRNIC_REG_CAP_UAR,
                                     4);
    uint64_t dm = s->ops->bar_read(s->be, FRNIC_BAR_REGS, FRNIC_REG_CAP_DM, 4);
    unsigned int i;

    if (!uars || uars > MAX_UARS) {
        error_setg(errp, "backend '%s': CAP_UAR is %" PRIu64, s->ops->name,
                   uars);
        return false;
    }
    memory_region_init_io(&s->regs, OBJECT(s), &frnic_regs_ops, s,
                          "frnic-regs", FRNIC_BAR_REGS_SIZE);
    pci_register_bar(pci, FRNIC_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->regs);
    memory_region_init_io(&s->db, OBJECT(s), &frnic_db_ops, s, "frnic-db",
                          pow2ceil(uars * FRNIC_UAR_STRIDE + dm));
    pci_register_bar(pci, FRNIC_BAR_DB, PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->db);

    if (pci_add_capability(pci, PCI_CAP_ID_PM, PM_OFFSET, PCI_PM_SIZEOF,
                           errp) < 0) {
        return false;
    }
    /* D3hot keeps the state. */
    pci_set_word(pci->config + PM_OFFSET + PCI_PM_PMC, PCI_PM_CAP_VER_1_2);
    pci_set_word(pci->config + PM_OFFSET + PCI_PM_CTRL,
                 PCI_PM_CTRL_NO_SOFT_RESET);
    pci_set_word(pci->wmask + PM_OFFSET + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);

    if (pci_bus_is_express(pci_get_bus(pci))) {
        if (pcie_endpoint_cap_init(pci, EXP_OFFSET) < 0) {
            error_setg(errp, "cannot add the PCI Express capability");
            return false;
        }
        pcie_cap_flr_init(pci);
        pcie_cap_deverr_init(pci);
        if (pcie_aer_init(pci, PCI_ERR_VER, AER_OFFSET, PCI_ERR_SIZEOF,
                          errp) < 0) {
            return false;
        }
        /* EUI-64 from the MAC address */
        pcie_dev_ser_num_init(pci, DSN_OFFSET,
                              (uint64_t)mac[0] << 56 | (uint64_t)mac[1] << 48 |
                              (uint64_t)mac[2] << 40 | 0xfffeULL << 24 |
                              mac[3] << 16 | mac[4] << 8 | mac[5]);
    }

    if (msix_init_exclusive_bar(pci, s->vectors, FRNIC_BAR_MSIX, errp) < 0) {
        return false;
    }
    for (i = 0; i < s->vectors; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

static void frnic_free(FrnicState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    qemu_bh_delete(s->bh);
    if (s->be) {
        s->ops->destroy(s->be);
        s->be = NULL;
    }
    if (s->dl) {
        dlclose(s->dl);
        s->dl = NULL;
    }
    msix_uninit_exclusive_bar(pci);
    if (frnic_has_express(pci)) {
        if (pci->exp.aer_cap) {
            pcie_aer_exit(pci);
        }
        pcie_cap_exit(pci);
    }
    g_free(s->tx.buf);
    g_free(s->rx.buf);
    qemu_mutex_destroy(&s->lock);
}

static void frnic_realize(PCIDevice *pci, Error **errp)
{
    FrnicState *s = FRNIC(pci);
    DeviceState *dev = DEVICE(pci);
    int ret;

    if (s->vectors < 1 || s->vectors > MAX_VECTORS) {
        error_setg(errp, "property 'vectors' must be from 1 to %d",
                   MAX_VECTORS);
        return;
    }

    qemu_mutex_init(&s->lock);
    ring_init(&s->tx);
    ring_init(&s->rx);
    s->epoch = get_clock();
    s->sleep_until = FRNIC_NEVER;
    /* On one CPU, TCG leaves out what makes the guest's own operations atomic. */
    s->cpu_atomic = !tcg_enabled() ||
                    (qemu_tcg_mttcg_enabled() &&
                     current_machine->smp.max_cpus > 1);
    qemu_macaddr_default_if_unset(&s->conf.macaddr);
    s->bh = qemu_bh_new(frnic_bh, s);

    if (!frnic_load_backend(s, errp) || !frnic_init_pci(s, errp)) {
        goto err_free;
    }
    ret = event_notifier_init(&s->wake, 0);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot make an event notifier");
        goto err_free;
    }

    s->nic = qemu_new_nic(&frnic_net_info, &s->conf,
                          object_get_typename(OBJECT(s)), dev->id,
                          &dev->mem_reentrancy_guard, s);
    qemu_format_nic_info_str(qemu_get_queue(s->nic), s->conf.macaddr.a);
    s->ops->link_set(s->be, !qemu_get_queue(s->nic)->link_down);
    s->running = runstate_is_running();
    s->vmstate = qdev_add_vm_change_state_handler(dev, frnic_vm_state, s);
    s->quit = false;
    qemu_thread_create(&s->worker, "frnic", frnic_worker, s,
                       QEMU_THREAD_JOINABLE);
    return;

err_free:
    frnic_free(s);
}

static void frnic_exit(PCIDevice *pci)
{
    FrnicState *s = FRNIC(pci);

    /* The worker may wait for the BQL; the BARs are gone, frames are refused. */
    qemu_del_vm_change_state_handler(s->vmstate);
    frnic_enter(s);
    qatomic_set(&s->running, false);
    qemu_mutex_unlock(&s->lock);
    qatomic_set(&s->quit, true);
    event_notifier_set(&s->wake);
    qemu_mutex_unlock_iothread();
    qemu_thread_join(&s->worker);
    qemu_mutex_lock_iothread();

    /* The netdev may hold a frame of ours, and would call frnic_sent(). */
    qemu_purge_queued_packets(qemu_get_queue(s->nic));
    qemu_del_nic(s->nic);
    event_notifier_cleanup(&s->wake);
    frnic_free(s);
}

static void frnic_instance_init(Object *obj)
{
    /* Config space is sized before realize; a conventional slot shows the first 256 bytes. */
    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

static const VMStateDescription frnic_vmstate = {
    .name = TYPE_FRNIC,
    /* A backend's state and its peers' view of it cannot be moved. */
    .unmigratable = 1,
};

static Property frnic_properties[] = {
    DEFINE_NIC_PROPERTIES(FrnicState, conf),
    DEFINE_PROP_STRING("backend", FrnicState, backend_path),
    DEFINE_PROP_STRING("backend-opts", FrnicState, backend_opts),
    DEFINE_PROP_UINT64("seed", FrnicState, seed, 0),
    DEFINE_PROP_UINT32("vectors", FrnicState, vectors, 16),
    DEFINE_PROP_END_OF_LIST(),
};

static void frnic_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = frnic_realize;
    pc->exit = frnic_exit;
    pc->config_write = frnic_write_config;
    pc->vendor_id = FRNIC_PCI_VENDOR_ID;
    pc->device_id = FRNIC_PCI_DEVICE_ID;
    pc->class_id = FRNIC_PCI_CLASS;
    pc->revision = 1;
    dc->desc = "RoCE v2 RDMA NIC";
    dc->reset = frnic_reset;
    dc->vmsd = &frnic_vmstate;
    device_class_set_props(dc, frnic_properties);
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
}

static const TypeInfo frnic_info = {
    .name = TYPE_FRNIC,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(FrnicState),
    .instance_init = frnic_instance_init,
    .class_init = frnic_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { }
    },
};

static void frnic_register_types(void)
{
    type_register_static(&frnic_info);
}

type_init(frnic_register_types)
