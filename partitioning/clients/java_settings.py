"""Java's settings of TLS and SASL, translated into librdkafka's.

Values are never shown, as they may be secret. Spark's drivers may get this module by value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from partitioning.errors import InvalidConfigError

_JAAS = "sasl.jaas.config"

_OIDC_HANDLER = "OAuthBearerLoginCallbackHandler"
_INLINE = {
    "truststore": {"ssl.truststore.certificates": "ssl.ca.pem"},
    "keystore": {
        "ssl.keystore.certificate.chain": "ssl.certificate.pem",
        "ssl.keystore.key": "ssl.key.pem",
    },
}
_PEM_FILES = {
    "truststore": ("ssl.ca.location",),
    "keystore": ("ssl.certificate.location", "ssl.key.location"),
}
_MODULE = re.compile(r"[A-Za-z0-9]+LoginModule")
_STORES = {"BCFKS", "JKS", "JCEKS", "PEM", "PKCS12"}
"""Types of Java's key stores that an error message may show. Any other text may be a part of a password."""
_WORD_OR_SIGN = r'(?s)"((?:\\.|[^"\\])*)"|\'((?:\\.|[^\'\\])*)\'|([=;])|([^\s=;"\']+)'
_OF_OIDC = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}


def librdkafka_security(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return these settings, with the security settings of Java's clients translated to librdkafka's.

    A setting under librdkafka's own name has precedence over a translated one.

    Raises:
        InvalidConfigError: a setting that decides about identity or trust cannot be translated.
    """
    rest = dict(config)
    # Each function removes its settings from `rest`, because librdkafka refuses names that it does not know.
    settings = _login(rest) | _store(rest, "truststore") | _store(rest, "keystore")
    # An empty value turns off the check of the host name in Java; in librdkafka the value "none" does that.
    if rest.get("ssl.endpoint.identification.algorithm") == "":
        rest["ssl.endpoint.identification.algorithm"] = "none"
    handler = rest.pop("sasl.login.callback.handler.class", _OIDC_HANDLER)
    if not handler.endswith(_OIDC_HANDLER):
        raise _untranslatable("sasl.login.callback.handler.class", "it names a class of Java")
    for name in ("sasl.client.callback.handler.class", "sasl.login.class", "ssl.engine.factory.class"):
        if name in rest:
            raise _untranslatable(name, "it names a class of Java")
    for name in ("ssl.provider", "security.providers"):
        if name in rest:
            raise _untranslatable(name, "it names a provider of Java")
    return settings | rest


def _untranslatable(name: str, why: str) -> InvalidConfigError:
    """Return the error for a setting without a counterpart in librdkafka; it never shows the value."""
    return InvalidConfigError(f"{name} cannot be translated for librdkafka, on which this is built: {why}")


def _login(rest: dict[str, str]) -> dict[str, str]:
    """Return user and password, or the settings for a token, from the login module.

    The setting of the login module is removed from `rest`.
    """
    if _JAAS not in rest:
        return {}
    jaas: object = rest.pop(_JAAS)
    if not isinstance(jaas, str):
        raise _untranslatable(_JAAS, f"it is of type {type(jaas).__name__} and not text")
    module, options = _parse_jaas(jaas)
    kind = module.rpartition(".")[2]
    if kind in {"PlainLoginModule", "ScramLoginModule"}:
        missing = [name for name in ("username", "password") if name not in options]
        if missing:
            raise _untranslatable(_JAAS, f"its {kind} has no {' and no '.join(missing)}")
        return {"sasl.username": options["username"], "sasl.password": options["password"]}
    if kind == "OAuthBearerLoginModule":
        settings = {new: options[old] for old, new in _OF_OIDC.items() if old in options}
        extensions = [
            f"{name.removeprefix('extension_')}={value}"
            for name, value in options.items()
            if name.startswith("extension_")
        ]
        if extensions:
            settings["sasl.oauthbearer.extensions"] = ",".join(extensions)
        return {"sasl.oauthbearer.method": "oidc", **settings}
    # If a line was cut or wrongly joined, the first word may be a part of a password.
    known = f"the login module {kind!r}" if _MODULE.fullmatch(kind) else "no login module"
    raise _untranslatable(_JAAS, f"it names {known}; Plain, Scram and OAuthBearerLoginModule can be")


def _parse_jaas(jaas: str) -> tuple[str, dict[str, str]]:
    """Return the login module and its options: `Module required name="value" ...;`."""
    tokens = []
    end = 0
    # A value may have spaces, signs and escaped quotes, so the text must not simply be split at blanks.
    for match in re.finditer(_WORD_OR_SIGN, jaas):
        if jaas[end : match.start()].strip():
            break
        end = match.end()
        quoted = match[1] if match[1] is not None else match[2]
        tokens.append(match[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
    triples = [*zip(tokens[2:-1:3], tokens[3:-1:3], tokens[4:-1:3], strict=False)]
    # Module, flag and ";" are three tokens. Each option has three more: NAME, "=", VALUE.
    whole = not jaas[end:].strip() and len(tokens) == 3 * len(triples) + 3
    if not whole or any(sign != "=" for _, sign, _ in triples):
        raise _untranslatable(_JAAS, 'it is not one MODULE required NAME="VALUE" ...; (not shown)')
    return tokens[0], {name: value for name, _, value in triples}


def _store(rest: dict[str, str], store: str) -> dict[str, str]:
    """Return the settings of certificates in a trust store or a key store; remove Java's from `rest`.

    librdkafka reads PEM files. It also reads a key store in PKCS12, under Java's own names; a key store
    without a type counts as PKCS12.
    """
    settings = {new: rest.pop(old) for old, new in _INLINE[store].items() if old in rest}
    kind = rest.pop(f"ssl.{store}.type", "").upper()
    # For PKCS12 librdkafka itself has settings with the names `ssl.keystore.location` and
    # `ssl.keystore.password`, so they stay in `rest`.
    if store == "keystore" and kind in {"", "PKCS12"}:
        return settings
    location = rest.pop(f"ssl.{store}.location", None)
    rest.pop(f"ssl.{store}.password", None)
    if location is not None and kind != "PEM":
        kind = kind or "JKS"
        of_type = f"type {kind}" if kind in _STORES else "another type"
        raise _untranslatable(
            f"ssl.{store}.location",
            f"it is of {of_type}; export its certificates as PEM (keytool -exportcert -rfc "
            f"or openssl pkcs12) and set ssl.{store}.type=PEM",
        )
    return settings if location is None else settings | dict.fromkeys(_PEM_FILES[store], location)
