"""A function with branches, its values and its derivative on an interval; gradients placed by hand."""

import dsim as ti

ti.init(arch=ti.cpu)

N = 256
x, y = ti.field(ti.f32), ti.field(ti.f32)
ti.root.dense(ti.i, N).place(x, x.grad, y, y.grad)


@ti.kernel
def poly():
    for i in x:
        v = x[i]
        ret = 0.0
        guard = 0.2
        if v < -guard or v > guard:
            ret = 4 / ti.max(v, 0.1)
        else:
            ret = 0
        y[i] = ret


for k in range(N):
    x[k] = ((k + 0.5) / N) * 2 - 1
poly()
for k in range(N):
    y.grad[k] = 1
poly.grad()
