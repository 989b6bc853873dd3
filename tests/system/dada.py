# SPDX-License-Identifier: BSD-3-Clause
"""A PSRDADA ring as `dada_db` makes it, and a reader of it, by docs/psrdada.md alone: the tests' own view of the
protocol, through the C library.

Everything that is made is removed by close(), at the latest when this process ends or is terminated.
"""

import atexit
import ctypes
import os
import signal
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.shmat.restype = ctypes.c_void_p
LIBC.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
LIBC.shmdt.argtypes = (ctypes.c_void_p,)
LIBC.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
IPC_CREAT, IPC_EXCL, IPC_NOWAIT, IPC_RMID, GETVAL = 0o1000, 0o2000, 0o4000, 0, 12
START_ACK, END_ACK, FULL, CLEAR = range(4)
TRANSFERS = 8


class Sync(ctypes.Structure):
    _fields_ = [("connect_key", ctypes.c_int32), ("reader_keys", ctypes.c_int32 * 8), ("blocks", ctypes.c_uint64),
                ("block_bytes", ctypes.c_uint64), ("next", ctypes.c_uint64), ("current", ctypes.c_uint64),
                ("state", ctypes.c_int32), ("transfer", ctypes.c_uint64), ("reader_block", ctypes.c_uint64 * 8),
                ("reader_state", ctypes.c_int32 * 8), ("reader_transfer", ctypes.c_uint64 * 8),
                ("readers", ctypes.c_uint32), ("start_block", ctypes.c_uint64 * 8), ("start_byte", ctypes.c_uint64 * 8),
                ("ended", ctypes.c_ubyte * 8), ("end_block", ctypes.c_uint64 * 8), ("end_byte", ctypes.c_uint64 * 8),
                ("device", ctypes.c_int32)]


class Step(ctypes.Structure):
    _fields_ = [("semaphore", ctypes.c_ushort), ("change", ctypes.c_short), ("flags", ctypes.c_short)]


def checked(result):
    if result in (-1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def change(semaphores, semaphore, by):
    """Changes a semaphore, if that is possible at once. Returns whether it was."""
    step = Step(semaphore, by, IPC_NOWAIT)
    return LIBC.semop(semaphores, ctypes.byref(step), 1) == 0


OPEN = []


def close_all(number=None, _frame=None):
    """Removes every ring. As a handler of a signal, then ends the process by it."""
    while OPEN:
        OPEN[-1].close()
    if number is not None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


atexit.register(close_all)
signal.signal(signal.SIGTERM, close_all)


class Ring:
    """One ring, whose keys are its own and every second one behind it."""

    def __init__(self, key, blocks, block_bytes, readers=1, segment=None):
        self._shared, self._sets, self._attached = [], [], []
        OPEN.append(self)
        self.bytes = block_bytes
        size = ctypes.sizeof(Sync)
        try:
            base = self._memory(key, size + 5 * blocks if segment is None else segment)
            self.sync = Sync.from_address(base)
            self.sync.blocks, self.sync.block_bytes, self.sync.readers = blocks, block_bytes, readers
            self.sync.device = -1
            keys = iter(range(key + 2, key + 4 + 2 * (readers + blocks), 2))
            self.sync.connect_key = next(keys)
            change(self._semaphores(self.sync.connect_key, 2), 0, 1)
            self.readers = []
            for reader in range(readers):
                self.sync.reader_keys[reader] = next(keys)
                self.readers.append(self._semaphores(self.sync.reader_keys[reader], 5))
                change(self.readers[-1], START_ACK, TRANSFERS)
                change(self.readers[-1], END_ACK, TRANSFERS)
            block_keys = list(keys)
            ctypes.memmove(base + size + blocks, struct.pack(f"{blocks}i", *block_keys), 4 * blocks)
            self.memory = [self._memory(block_key, block_bytes) for block_key in block_keys]
        except BaseException:
            self.close()
            raise

    def _memory(self, key, size):
        self._shared.append(checked(LIBC.shmget(key, size, IPC_CREAT | IPC_EXCL | 0o600)))
        self._attached.append(checked(LIBC.shmat(self._shared[-1], None, 0)))
        return self._attached[-1]

    def _semaphores(self, key, count):
        self._sets.append(checked(LIBC.semget(key, count, IPC_CREAT | IPC_EXCL | 0o600)))
        return self._sets[-1]

    def close(self):
        if self in OPEN:
            OPEN.remove(self)
        for shared in self._shared:
            LIBC.shmctl(shared, IPC_RMID, None)
        for semaphores in self._sets:
            LIBC.semctl(semaphores, 0, IPC_RMID)
        for base in self._attached:
            LIBC.shmdt(base)
        self._shared, self._sets, self._attached = [], [], []


class RingReader:
    """One reader of one ring."""

    def __init__(self, ring, index):
        self._ring, self._semaphores = ring, ring.readers[index]
        self._block = self._transfer = 0
        self._reading = False

    def block(self):
        """(bytes, whether the transfer ends) of the next block; None: none waits."""
        if not change(self._semaphores, FULL, -1):
            return None
        sync, books = self._ring.sync, self._transfer % TRANSFERS
        if not self._reading:
            self._block, self._reading = sync.start_block[books], True
            change(self._semaphores, START_ACK, 1)
        ended = bool(sync.ended[books]) and sync.end_block[books] == self._block
        size = sync.end_byte[books] if ended else self._ring.bytes
        data = ctypes.string_at(self._ring.memory[self._block % sync.blocks], size)
        change(self._semaphores, CLEAR, 1)
        self._block += 1
        if ended:
            self._transfer, self._reading = self._transfer + 1, False
            change(self._semaphores, END_ACK, 1)
        return data, ended


class Buffer:
    """The two rings of a buffer, at a key that this process alone uses."""

    _made = 0

    def __init__(self, test, blocks, block_bytes, readers=1, header_bytes=4096):
        Buffer._made += 1
        self.key = 0x30000000 + os.getpid() % 0x8000 * 0x2000 + 256 * Buffer._made
        self.data = Ring(self.key, blocks, block_bytes, readers)
        test.addCleanup(self.data.close)
        self.headers = Ring(self.key + 1, 8, header_bytes, readers)
        test.addCleanup(self.headers.close)

    @property
    def sink(self):
        return f"dada:{self.key:x}"


class Reader:
    """One reader of a buffer. `transfers` is what it has read: for each its header, its bytes, whether it has ended."""

    def __init__(self, buffer, index=0):
        self._data, self._headers = RingReader(buffer.data, index), RingReader(buffer.headers, index)
        self.transfers = []

    def read(self):
        """Reads all that waits. Returns the transfers."""
        while True:
            if not self.transfers or self.transfers[-1]["ended"]:
                header = self._headers.block()
                if header is None:
                    return self.transfers
                words = [line.split() for line in header[0].rstrip(b"\0").decode().splitlines()]
                self.transfers.append({"header": {word[0]: word[1] for word in words if len(word) > 1}, "data": b"",
                                       "ended": False})
            block = self._data.block()
            if block is None:
                return self.transfers
            self.transfers[-1]["data"] += block[0]
            self.transfers[-1]["ended"] = block[1]
