"""Methods of structs behave in kernels as in Python, where they modify the struct too."""

import copy

import numpy as np
import pytest

import dsim as ti

pytestmark = pytest.mark.filterwarnings("ignore:.*this loop runs serially")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@ti.dataclass
class Wheel:
    turns: ti.i32
    speed: ti.f64

    @ti.func
    def tick(self, by=1, *, scale=1.0):
        self.turns += by
        self.speed = self.speed * 0.5 + scale * by
        return self.turns

    @ti.func
    def reversed(self):
        return Wheel(-self.turns, -self.speed)


@ti.dataclass
class Cart:
    load: ti.f64
    pos: ti.math.vec2
    front: Wheel
    back: Wheel

    @ti.func
    def roll(self, n):
        total = 0.0
        for k in range(n):
            if k % 3 == 1:
                self.load += k
                continue
            for m in range(4):
                self.pos[m % 2] += 0.5 * k
                if self.pos[0] > 6.0:
                    break
                if self.front.tick(m) > 40:
                    return total - 1.0
                total += self.pos[1]
            if self.load > 20.0:
                return total
            total += 1.0
        self.back = self.front
        return total + 100.0

    @ti.func
    def steer(self, n):
        r = 0
        if n > 2 and self.front.tick(n) > 3 and self.back.tick(2) > 0:
            r = self.front.turns
        elif self.back.tick(1, scale=3.0) > 1 or self.front.tick() > 0:
            r = -self.back.turns
        else:
            self.front.tick(by=7)
        r += self.front.tick(1) if n % 2 == 0 else self.back.tick(5)
        return r

    @ti.func
    def drive(self, n):
        x = self.steer(n)
        y = self.roll(n)
        while self.load < 10.0:
            self.load += 3.0
            if self.steer(n) % 5 == 4:
                break
            self.pos *= 0.9
        return x + y


@ti.func
def journey(cart, n):
    t = cart.drive(n)
    for k in range(n):
        t += cart.steer(k)
        if cart.back.turns > 25:
            cart.front = cart.front.reversed()
            cart.back.turns -= 20
    cart.pos.x += t + cart.front.speed * cart.load
    return cart


@ti.kernel
def in_a_kernel(cart: Cart, n: ti.i32) -> Cart:
    return journey(cart, n)


@pytest.mark.parametrize("load", [0.0, 5.5, 19.0])
@pytest.mark.parametrize("n", range(9))
def test_a_local(n, load):
    cart = Cart(load, [0.1 * load, 1.0], Wheel(n, 0.3), Wheel(1, 0.7))
    np.testing.assert_allclose(numbers(in_a_kernel(cart, n)), numbers(journey(copy.copy(cart), n)))


@pytest.mark.parametrize("load", [0.0, 5.5, 19.0])
@pytest.mark.parametrize("n", range(0, 9, 2))
def test_an_element(n, load):
    carts = Cart.field(shape=3)

    @ti.kernel
    def go(n: ti.i32):
        for i in range(1, 3):
            carts[i].pos.y += carts[i].drive(n)

    cart = Cart(load, [0.1 * load, 1.0], Wheel(n, 0.3), Wheel(1, 0.7))
    carts.fill(cart)
    go(n)
    by_hand = copy.copy(cart)
    t = by_hand.drive(n)
    by_hand.pos.y += t
    np.testing.assert_allclose(numbers(carts[2]), numbers(by_hand))
    assert carts[0] == cart


def numbers(cart):
    wheels = (cart.front.turns, cart.front.speed, cart.back.turns, cart.back.speed)
    return [cart.load, *cart.pos.to_list(), *wheels]
