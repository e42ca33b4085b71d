"""A stand-in for the tensors of PyTorch."""


class Device(str):
    __slots__ = ()

    @property
    def type(self):
        return self.split(":")[0]


class Tensor:
    """A tensor on some device, which gives its numbers to NumPy only as PyTorch's does."""

    def __init__(self, array, device="cpu", requires_grad=False):
        self.array, self.device, self.requires_grad = array, Device(device), requires_grad
        self.grad = None

    def __dlpack__(self):
        raise AssertionError("tensors on the CPU are NumPy's as they are")

    def to(self, device):
        return Tensor(self.array.copy(), device, self.requires_grad)

    def cpu(self):
        return self if self.device == "cpu" else self.to("cpu")

    def detach(self):
        return Tensor(self.array, self.device)

    def numpy(self):
        if self.device != "cpu" or self.requires_grad:
            raise TypeError("call .detach().cpu() first")
        return self.array
