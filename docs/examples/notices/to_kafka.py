# SPDX-License-Identifier: BSD-3-Clause
"""Sends notices to the topic `chunks` of Kafka, with the stream as the key. Needs Debian's python3-kafka. Not tested
with a real broker.

usage: to_kafka.py ADDRESS-OF-NOTICES [BROKER:PORT]
"""

import json
import sys

from kafka import KafkaProducer
from notices import notices

if len(sys.argv) < 2:
    sys.exit(__doc__)
producer = KafkaProducer(bootstrap_servers=sys.argv[2] if len(sys.argv) > 2 else "localhost:9092",
                         key_serializer=str.encode, value_serializer=lambda notice: json.dumps(notice).encode())
for notice in notices(sys.argv[1]):
    producer.send("chunks", key=notice["stream"], value=notice)
producer.flush()
