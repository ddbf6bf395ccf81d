"""The four primitives of the format: hash, MAC, sealed box, signature. Argon2id stands with the slot that needs it."""

import hashlib

import nacl.bindings as sodium
import nacl.exceptions

from layout import damaged, pad16


def digest(label, message):
    return hashlib.blake2b(message, digest_size=32, person=pad16(label)).digest()


def mac(key, label, message=b""):
    return hashlib.blake2b(message, digest_size=32, key=key, person=pad16(label)).digest()


def open_box(key, nonce, context, box, level):
    try:
        return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(bytes(box), bytes(context), bytes(nonce), bytes(key))
    except (nacl.exceptions.CryptoError, nacl.exceptions.ValueError, ValueError, TypeError):
        raise damaged(level, "a box does not open") from None


def seal(key, nonce, context, message):
    return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(message, context, nonce, key)


def public_key(seed):
    return sodium.crypto_sign_seed_keypair(seed)[0]


def sign(message, seed):
    """The 64 bytes of a signature; a reader needs it for the vectors alone."""
    return sodium.crypto_sign(message, sodium.crypto_sign_seed_keypair(seed)[1])[:64]


def is_signed(message, signature, key):
    try:
        sodium.crypto_sign_open(signature + message, key)
        return True
    except (nacl.exceptions.BadSignatureError, nacl.exceptions.ValueError, ValueError, TypeError):
        return False
