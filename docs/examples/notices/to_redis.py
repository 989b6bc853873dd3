# SPDX-License-Identifier: BSD-3-Clause
"""Publishes notices to a channel of Redis for each stream: `chunks.s0`. Needs Debian's python3-redis.

usage: to_redis.py ADDRESS-OF-NOTICES [redis://HOST:PORT | unix://PATH]
"""

import json
import sys

import redis
from notices import notices

if len(sys.argv) < 2:
    sys.exit(__doc__)
server = redis.Redis.from_url(sys.argv[2] if len(sys.argv) > 2 else "redis://localhost:6379")
for notice in notices(sys.argv[1]):
    server.publish(f"chunks.{notice['stream']}", json.dumps(notice))
