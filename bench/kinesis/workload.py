"""What every driver puts: records of 200 random bytes, keys pk-0 to pk-255."""

SIZE = 200
KEYS = [f"pk-{number}" for number in range(256)]
POOL = 1 << 23  # bytes; record i begins at byte i of it, so that many differ
SEED = 0x9E3779B97F4A7C15


def pool():
    """xorshift64, little-endian."""
    state, numbers = SEED, bytearray()
    for _ in range((POOL + SIZE) // 8):
        state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
        numbers += state.to_bytes(8, "little")
    return bytes(numbers)


def record(data, i):
    begin = i % POOL
    return data[begin:begin + SIZE]
