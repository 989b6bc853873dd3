# SPDX-License-Identifier: BSD-3-Clause
"""Settings of streams that fill chunks by a declared placement."""

import dataclasses
import math
import os
import socket as sockets
from typing import Any, Dict, FrozenSet, Optional, Sequence, Union

from .. import _native

#: Names the settings of the window, which the streams of a group share.
WINDOW = frozenset({"window", "lossless", "timeout", "patience", "max_jump", "back_fill", "stream"})


@dataclasses.dataclass(frozen=True)
class SecondPath:
    """Names the second path of a stream, whose packets are copies of the first one's (docs/paths.md).

    `interface`: its port. `endpoints`: one for each of the stream's; empty: the same. `skew`: seconds that one path may
    be behind the other.
    """

    interface: str
    endpoints: Union[str, Sequence[str]] = ()
    skew: float = 0.05

    def __post_init__(self) -> None:
        for name in ("interface", "endpoints"):
            check_setting(name, getattr(self, name), "second path")
        if not hasattr(self.skew, "__float__") or not 0 <= self.skew < math.inf:
            raise ValueError(f"second path: skew is {self.skew!r}; give seconds, from 0 on")


#: The bits of settings that are whole numbers, those that are seconds, and texts.
_BITS = {"max_packet_size": 32, "buffer_size": 64, "max_heaps": 32, "substreams": 32, "window": 32, "max_jump": 64,
         "stream": 32, "lend": 32}
_SECONDS = ("heap_timeout", "timeout", "patience")
_TEXTS = ("interface", "backend", "name", "poll", "on_full", "format", "filter")


def check_setting(name: str, value: Any, what: str = "chunk stream") -> None:
    """Raises TypeError or ValueError for a setting that the compiled part would refuse without its name."""
    if name in _BITS and not (name == "max_jump" and value is None):
        if not hasattr(value, "__index__"):
            raise TypeError(f"{what}: {name} is {value!r}; give a whole number")
        if not 0 <= value < 1 << _BITS[name]:
            raise ValueError(f"{what}: {name} is {value}; give 0 to {(1 << _BITS[name]) - 1}")
    if name in _SECONDS and (not hasattr(value, "__float__") or not math.isfinite(value)):
        raise TypeError(f"{what}: {name} is {value!r}; give seconds")
    if name in _TEXTS and not isinstance(value, str):
        raise TypeError(f"{what}: {name} is {value!r}; give a str")
    if name == "lcores" and not all(hasattr(cpu, "__index__") and cpu >= 0 for cpu in value):
        raise TypeError(f"{what}: lcores is {value!r}; give a list of CPUs, as [2, 3]")
    if name == "endpoints" and not (isinstance(value, str) or all(isinstance(one, str) for one in value)):
        raise TypeError(f'{what}: endpoints is {value!r}; give texts, as ["239.10.10.0+15:7148"]')
    if name == "second_path" and not (value is None or isinstance(value, SecondPath)):
        raise TypeError(f'{what}: second_path is {value!r}; give recv.SecondPath("ens2f0", ["239.129.2.0+15:7148"])')


def descriptor(socket: Any) -> int:
    """Returns the descriptor of a socket. Raises TypeError for what is none, and ValueError for a closed one."""
    if not isinstance(socket, sockets.socket):
        raise TypeError(f"socket is {socket!r}; give a bound socket.socket")
    if socket.fileno() < 0:
        raise ValueError("socket is closed; give a bound one")
    return socket.fileno()


def _settings(
    *,
    endpoints: Union[str, Sequence[str]] = (),
    interface: str = "",
    backend: str = "port",
    queue: Any = None,
    buffer: Any = None,
    pcap: Any = None,
    socket: Any = None,
    name: str = "",
    lcores: Sequence[int] = (),
    poll: str = "adaptive",
    max_packet_size: int = 9200,
    buffer_size: int = 16 << 20,
    max_heaps: int = 4,
    substreams: int = 1,
    heap_timeout: float = 0.0,
    stop_on_stop_item: bool = False,
    on_full: str = "automatic",
    format: str = "",
    filter: str = "",
    second_path: Optional[SecondPath] = None,
    window: int = 2,
    lossless: bool = False,
    timeout: float = 0.0,
    patience: float = 10.0,
    max_jump: Optional[int] = None,
    back_fill: bool = False,
    stream: int = 0,
) -> Dict[str, Any]:
    """Returns the settings of a stream, which ChunkStream explains."""
    sources = [s for s in (queue, buffer, pcap, socket) if s is not None]
    if len(sources) > 1:
        raise ValueError("chunk stream: `queue`, `buffer`, `pcap` and `socket` exclude each other; give one")
    reader = None
    if queue is not None:
        if not isinstance(queue, _native.InprocQueue):
            raise TypeError(f"chunk stream: queue is {queue!r}; give an InprocQueue")
        reader = _native.Reader.queue(queue)
    elif buffer is not None:
        reader = _native.Reader.buffer(buffer)
    elif socket is not None:
        reader = _native.Reader.socket(descriptor(socket), max_packet_size)
    elif pcap is not None and not endpoints:
        reader = _native.Reader.pcap(os.fspath(pcap))
    settings = {
        "endpoints": [endpoints] if isinstance(endpoints, str) else list(endpoints),
        "interface": interface,
        "backend": "kernel" if sources else backend,
        "reader": reader,
        "pcap": None if pcap is None or reader is not None else os.fspath(pcap),
        "name": name,
        "lcores": list(lcores),
        "poll": poll,
        "max_packet_size": max_packet_size,
        "buffer_size": buffer_size,
        "max_heaps": max_heaps,
        "substreams": substreams,
        "heap_timeout": heap_timeout,
        "stop_on_stop_item": stop_on_stop_item,
        "on_full": on_full,
        "format": format,
        "filter": filter,
        "second_path": second_path,
        "window": window,
        "lossless": lossless,
        "timeout": timeout,
        "patience": patience,
        "max_jump": max_jump,
        "back_fill": back_fill,
        "stream": stream,
    }
    if settings["backend"] == "port" and not settings["endpoints"]:
        raise ValueError(
            'chunk stream: it has no source; give endpoints, as "239.10.10.0+15:7148", or a queue, buffer, socket or pcap'
        )
    return settings


def settings_of(kind: str, settings: Dict[str, Any], has: Optional[FrozenSet[str]] = None) -> Dict[str, Any]:
    """Returns the settings of an object that takes them by keyword: those of `has`, or all.

    Raises TypeError for one that the object does not have.
    """
    defaults: Dict[str, Any] = _settings.__kwdefaults__
    names = [name for name in defaults if has is None or name in has]
    for name, value in settings.items():
        if name not in names:
            raise TypeError(f"{kind} has no {name!r}; it has {', '.join(names)}")
        check_setting(name, value)
    # A window alone needs no source.
    return _settings(**(settings if has is not WINDOW else {"backend": "kernel", **settings}))


#: Names the settings of a stream of a group.
SOURCE = frozenset(_settings.__kwdefaults__) - WINDOW
