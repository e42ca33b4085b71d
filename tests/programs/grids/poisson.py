"""Poisson's equation by conjugate gradients with multigrid, as a class of fields in lists."""

import math

import dsim as ti


@ti.data_oriented
class MGPCG:
    def __init__(self, dim=2, N=16, n_mg_levels=3, real=float):
        self.use_multigrid = True
        self.N, self.n_mg_levels, self.dim, self.real = N, n_mg_levels, dim, real
        self.pre_and_post_smoothing, self.bottom_smoothing = 2, 20
        self.N_ext = self.N // 2
        self.N_tot = 2 * self.N
        self.r = [ti.field(dtype=self.real) for _ in range(self.n_mg_levels)]
        self.z = [ti.field(dtype=self.real) for _ in range(self.n_mg_levels)]
        self.x, self.p, self.Ap, self.alpha, self.beta, self.sum = (
            ti.field(dtype=self.real) for _ in range(6)
        )
        indices = ti.ijk if self.dim == 3 else ti.ij
        self.grid = ti.root.dense(indices, [self.N_tot // 4]).dense(indices, 4).place(self.x, self.p, self.Ap)
        for level in range(self.n_mg_levels):
            self.grid = (
                ti.root.dense(indices, [self.N_tot // (4 * 2**level)])
                .dense(indices, 4)
                .place(self.r[level], self.z[level])
            )
        ti.root.place(self.alpha, self.beta, self.sum)

    @ti.func
    def init_r(self, I, r_I):
        I = I + self.N_ext
        self.r[0][I] = r_I
        self.z[0][I] = 0
        self.Ap[I] = 0
        self.p[I] = 0
        self.x[I] = 0

    @ti.kernel
    def init(self, r: ti.template(), k: ti.template()):
        for I in ti.grouped(ti.ndrange(*[self.N] * self.dim)):
            self.init_r(I, r[I] * k)

    @ti.func
    def get_x(self, I):
        I = I + self.N_ext
        return self.x[I]

    @ti.kernel
    def get_result(self, x: ti.template()):
        for I in ti.grouped(ti.ndrange(*[self.N] * self.dim)):
            x[I] = self.get_x(I)

    @ti.func
    def neighbor_sum(self, x, I):
        ret = ti.cast(0.0, self.real)
        for i in ti.static(range(self.dim)):
            offset = ti.Vector.unit(self.dim, i, int)
            if I[i] + 1 < x.shape[i]:
                ret += x[I + offset]
            if I[i] >= 1:
                ret += x[I - offset]
        return ret

    @ti.kernel
    def compute_Ap(self):
        for I in ti.grouped(self.Ap):
            self.Ap[I] = 2 * self.dim * self.p[I] - self.neighbor_sum(self.p, I)

    @ti.kernel
    def reduce(self, p: ti.template(), q: ti.template()):
        self.sum[None] = 0
        for I in ti.grouped(p):
            self.sum[None] += p[I] * q[I]

    @ti.kernel
    def update_x(self):
        for I in ti.grouped(self.p):
            self.x[I] += self.alpha[None] * self.p[I]

    @ti.kernel
    def update_r(self):
        for I in ti.grouped(self.p):
            self.r[0][I] -= self.alpha[None] * self.Ap[I]

    @ti.kernel
    def update_p(self):
        for I in ti.grouped(self.p):
            self.p[I] = self.z[0][I] + self.beta[None] * self.p[I]

    @ti.kernel
    def restrict(self, l: ti.template()):
        for I in ti.grouped(self.r[l]):
            res = self.r[l][I] - (2 * self.dim * self.z[l][I] - self.neighbor_sum(self.z[l], I))
            self.r[l + 1][I // 2] += res * 0.5

    @ti.kernel
    def prolongate(self, l: ti.template()):
        for I in ti.grouped(self.z[l]):
            self.z[l][I] = self.z[l + 1][I // 2]

    @ti.kernel
    def smooth(self, l: ti.template(), phase: ti.template()):
        for I in ti.grouped(self.r[l]):
            if (I.sum()) & 1 == phase:
                self.z[l][I] = (self.r[l][I] + self.neighbor_sum(self.z[l], I)) / (2 * self.dim)

    def apply_preconditioner(self):
        self.z[0].fill(0)
        for l in range(self.n_mg_levels - 1):
            for _ in range(self.pre_and_post_smoothing << l):
                self.smooth(l, 0)
                self.smooth(l, 1)
            self.z[l + 1].fill(0)
            self.r[l + 1].fill(0)
            self.restrict(l)
        for _ in range(self.bottom_smoothing):
            self.smooth(self.n_mg_levels - 1, 0)
            self.smooth(self.n_mg_levels - 1, 1)
        for l in reversed(range(self.n_mg_levels - 1)):
            self.prolongate(l)
            for _ in range(self.pre_and_post_smoothing << l):
                self.smooth(l, 1)
                self.smooth(l, 0)

    def solve(self, max_iters=-1, eps=1e-30, rel_tol=1e-20):
        self.reduce(self.r[0], self.r[0])
        initial_rTr = self.sum[None]
        self.apply_preconditioner()
        self.update_p()
        self.reduce(self.z[0], self.r[0])
        old_zTr = self.sum[None]
        it = 0
        while max_iters == -1 or it < max_iters:
            self.compute_Ap()
            self.reduce(self.p, self.Ap)
            self.alpha[None] = old_zTr / (self.sum[None] + eps)
            self.update_x()
            self.update_r()
            self.reduce(self.r[0], self.r[0])
            if self.sum[None] < initial_rTr * rel_tol:
                break
            self.apply_preconditioner()
            self.reduce(self.z[0], self.r[0])
            new_zTr = self.sum[None]
            self.beta[None] = new_zTr / (old_zTr + eps)
            self.update_p()
            old_zTr = new_zTr
            it += 1
        return it


class Example(MGPCG):
    def __init__(self):
        super().__init__(dim=2, N=16, n_mg_levels=3)
        self.pixels = ti.field(dtype=float, shape=(self.N, self.N))

    @ti.kernel
    def init(self):
        for I in ti.grouped(ti.ndrange(*[self.N] * self.dim)):
            r_I = 5.0
            for k in ti.static(range(self.dim)):
                r_I *= ti.cos(5 * math.pi * I[k] / self.N)
            self.init_r(I, r_I)

    @ti.kernel
    def paint(self):
        for i, j in self.pixels:
            ii = int(i * self.N / self.N) + self.N_ext
            jj = int(j * self.N / self.N) + self.N_ext
            self.pixels[i, j] = self.x[ii, jj] / self.N_tot


ti.init(default_fp=globals().get("real", ti.f32))
