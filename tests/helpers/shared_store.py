"""A key-value store in memory, in place of that of JAX's coordination service."""

import threading


class SharedStore:
    """What several channels of one process share."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._changed = threading.Condition()

    def key_value_set(self, key: str, value: str, allow_overwrite: bool = False) -> None:
        with self._changed:
            assert allow_overwrite or key not in self.texts
            self.texts[key] = value
            self._changed.notify_all()

    def blocking_key_value_get(self, key: str, timeout_in_ms: int) -> str:
        with self._changed:
            if not self._changed.wait_for(lambda: key in self.texts, timeout_in_ms / 1000):
                raise RuntimeError("DEADLINE_EXCEEDED: no such key")
            return self.texts[key]

    def key_value_dir_get(self, key: str) -> list[tuple[str, str]]:
        return [(name, text) for name, text in self.texts.items() if name.startswith(f"{key}/")]

    def key_value_delete(self, key: str) -> None:
        self.texts = {name: text for name, text in self.texts.items() if not name.startswith(f"{key}/")}
