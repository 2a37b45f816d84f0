"""Why a broker's certificate is not trusted, which librdkafka does not tell."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATIENCE_S = 2.0


def certificate_fault(config: Mapping[str, str]) -> str | None:
    """What is wrong with the first broker's certificate, under librdkafka's settings; None for nothing."""
    first = config["bootstrap.servers"].split(",")[0].strip().rpartition("://")[2]
    host, _, port = first.rpartition(":")
    with suppress(OSError, ValueError):
        context = ssl.create_default_context(
            cafile=config.get("ssl.ca.location"), cadata=config.get("ssl.ca.pem")
        )
        context.check_hostname = config.get("ssl.endpoint.identification.algorithm", "https") == "https"
        with socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S) as raw:
            try:
                context.wrap_socket(raw, server_hostname=host).close()
            except ssl.SSLCertVerificationError as error:
                return error.verify_message
    return None
