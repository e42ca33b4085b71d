"""Layers and an optimiser as classes, trained on a batch: kernels as methods, fields as attributes."""

import math

import numpy as np

import dsim as ti

real = globals().get("real", ti.f32)
ti.init(default_fp=real, random_seed=5)


@ti.data_oriented
class SGD:
    def __init__(self, params, lr):
        self.params = params
        self.lr = lr

    def step(self):
        for w in self.params:
            self._step(w)

    @ti.kernel
    def _step(self, w: ti.template()):
        for I in ti.grouped(w):
            w[I] -= min(max(w.grad[I], -20.0), 20.0) * self.lr

    def zero_grad(self):
        for w in self.params:
            w.grad.fill(0.0)


@ti.data_oriented
class Linear:
    def __init__(self, n_models, batch_size, n_steps, n_input, n_hidden, activation=False):
        self.n_models, self.batch_size, self.n_steps = n_models, batch_size, n_steps
        self.n_input, self.n_hidden, self.activation = n_input, n_hidden, activation
        self.hidden, self.output = ti.field(dtype=real), ti.field(dtype=real)
        self.batch_node = ti.root.dense(ti.i, self.n_models)
        self.n_hidden_node = self.batch_node.dense(ti.j, self.n_hidden)
        self.weights1_node = self.n_hidden_node.dense(ti.k, self.n_input)
        self.batch_node.dense(ti.axes(1, 2, 3), (self.n_steps, self.batch_size, self.n_hidden)).place(
            self.hidden
        )
        self.batch_node.dense(ti.axes(1, 2, 3), (self.n_steps, self.batch_size, self.n_hidden)).place(
            self.output
        )
        self.weights1, self.bias1 = ti.field(dtype=real), ti.field(dtype=real)
        self.weights1_node.place(self.weights1)
        self.n_hidden_node.place(self.bias1)
        ti.root.lazy_grad()

    def parameters(self):
        return [self.weights1, self.bias1]

    @ti.kernel
    def weights_init(self):
        q1 = ti.sqrt(6 / self.n_input)
        for model_id, i, j in ti.ndrange(self.n_models, self.n_hidden, self.n_input):
            self.weights1[model_id, i, j] = (ti.random() * 2 - 1) * q1

    @ti.kernel
    def _forward(self, t: ti.i32, nn_input: ti.template()):
        for model_id, k, i, j in ti.ndrange(self.n_models, self.batch_size, self.n_hidden, self.n_input):
            self.hidden[model_id, t, k, i] += self.weights1[model_id, i, j] * nn_input[model_id, t, k, j]
        if ti.static(self.activation):
            for model_id, k, i in ti.ndrange(self.n_models, self.batch_size, self.n_hidden):
                self.output[model_id, t, k, i] = ti.tanh(
                    self.hidden[model_id, t, k, i] + self.bias1[model_id, i]
                )
        else:
            for model_id, k, i in ti.ndrange(self.n_models, self.batch_size, self.n_hidden):
                self.output[model_id, t, k, i] = self.hidden[model_id, t, k, i] + self.bias1[model_id, i]

    @ti.kernel
    def clear(self):
        for I in ti.grouped(self.hidden):
            self.hidden[I] = 0.0
        for I in ti.grouped(self.output):
            self.output[I] = 0.0

    def forward(self, t, nn_input):
        self._forward(t, nn_input)

    @staticmethod
    @ti.kernel
    def copy_from_numpy(dst: ti.template(), src: ti.types.ndarray(), model_id: ti.i32):
        for I in ti.grouped(src):
            dst[model_id, I] = src[I]


batch_size, steps, n_input = 8, 2, 3
input_states = ti.field(real, shape=(1, steps, batch_size, n_input), needs_grad=True)
targets = ti.field(real, shape=batch_size)
loss = ti.field(real, shape=(), needs_grad=True)
fc1 = Linear(1, batch_size, steps, n_input, 6, activation=True)
fc2 = Linear(1, batch_size, steps, 6, 1)
layers = [fc1, fc2]
parameters = [w for layer in layers for w in layer.parameters()]
optimizer = SGD(params=parameters, lr=0.02)


@ti.kernel
def compute_loss():
    for t, k in ti.ndrange(steps, batch_size):
        loss[None] += (fc2.output[0, t, k, 0] - targets[k] * (1 + t)) ** 2


def run():
    for layer in layers:
        layer.clear()
    for t in range(steps):
        fc1.forward(t, input_states)
        fc2.forward(t, fc1.output)
    compute_loss()


def train(iterations):
    losses = []
    for _ in range(iterations):
        optimizer.zero_grad()
        with ti.ad.Tape(loss, clear_gradients=False):
            run()
        losses.append(loss[None])
        optimizer.step()
    return losses


def set_weights(seed):
    rng = np.random.RandomState(seed)
    for layer in layers:
        shape = layer.weights1.shape[1:]
        layer.copy_from_numpy(layer.weights1, rng.randn(*shape).astype(np.float32) / math.sqrt(shape[1]), 0)


for s in range(steps):
    for a in range(batch_size):
        targets[a] = math.sin(a)
        for b in range(n_input):
            input_states[0, s, a, b] = math.cos(a * (b + 1) + s)
