"""What accesses and conversions cost on a device: one model for the whole project."""

from .conversion import Counts, cost, cycles
from .device import DEVICES, Device, device

__all__ = ["DEVICES", "Counts", "Device", "cost", "cycles", "device"]
