"""What the system says of this process' memory."""

from pathlib import Path


def memory(field: str) -> float:
    """A figure of this process, in MB: VmRSS is what it takes now, VmHWM the most it ever took."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1000
    raise LookupError(field)
