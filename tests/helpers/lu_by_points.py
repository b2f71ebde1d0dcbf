"""NPB LU as its definition is written: point by point, with full 5 x 5 blocks and nothing for speed."""

import math
from collections.abc import Callable

Vector = list[float]
Matrix = list[Vector]
Place = tuple[int, int, int]
Field = dict[Place, Vector]
C = (1.4, 0.4, 0.1, 1.0, 1.4)
OMEGA = 1.2
DIFFUSION = (0.75, 0.75, 1.0)
EXACT = (
    (2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3),
    (1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5),
    (2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4),
    (2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3),
    (5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2),
)


def moved(at: Place, direction: int, by: int) -> Place:
    place = list(at)
    place[direction] += by
    return place[0], place[1], place[2]


class Plain:
    """One grid of n points a side, point by point and with full 5 x 5 blocks, as the definition is written."""

    def __init__(self, n: int, step: float) -> None:
        self.n, self.step, self.delta = n, step, 1 / (n - 1)
        self.inner = [(i, j, k) for k in range(1, n - 1) for j in range(1, n - 1) for i in range(1, n - 1)]
        self.exact: Field = {(i, j, k): self._exact((i, j, k)) for i in range(n) for j in range(n) for k in range(n)}
        self.forcing: Field = {at: self._operator(self.exact, at) for at in self.inner}
        self.u: Field = {at: list(u) for at, u in self.exact.items()}
        for at in self.inner:
            self.u[at] = [self._initial(at, m) for m in range(5)]
        self.residual()

    def _exact(self, at: Place) -> Vector:
        out = []
        for c in EXACT:
            value = float(c[0])
            for d in range(3):
                x = at[d] * self.delta
                value += x * (c[1 + d] + x * (c[4 + d] + x * (c[7 + d] + x * c[10 + d])))
            out.append(value)
        return out

    def _initial(self, at: Place, m: int) -> float:
        p = []
        for d in range(3):
            x = at[d] * self.delta
            low, high = moved(at, d, -at[d]), moved(at, d, self.n - 1 - at[d])
            p.append((1 - x) * self.exact[low][m] + x * self.exact[high][m])
        return p[0] + p[1] + p[2] - p[0] * p[1] - p[1] * p[2] - p[2] * p[0] + p[0] * p[1] * p[2]

    def _flux(self, u: Vector, d: int) -> Vector:
        v, q = u[1 + d] / u[0], 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0]
        out = [u[1 + d], u[1] * v, u[2] * v, u[3] * v, (C[0] * u[4] - C[1] * q) * v]
        out[1 + d] += C[1] * (u[4] - q)
        return out

    def _viscous(self, low: Vector, high: Vector, d: int) -> Vector:
        def difference(of: Callable[[Vector], float]) -> float:
            return (of(high) - of(low)) / self.delta

        out = [0.0]
        for m in range(1, 4):
            out.append((4 / 3 if m == d + 1 else 1) * difference(lambda u, m=m: u[m] / u[0]))
        square = difference(lambda u: (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0] ** 2)
        own = difference(lambda u: (u[1 + d] / u[0]) ** 2)
        heat = difference(lambda u: u[4] / u[0])
        out.append(0.5 * (1 - C[0] * C[4]) * square + own / 6 + C[0] * C[4] * heat)
        return out

    def _fourth(self, place: int) -> dict[int, int]:
        """Offsets and weights of the fourth difference, one-sided at the ends; places are counted from 0."""
        if place == 1:
            return {0: 5, 1: -4, 2: 1}
        if place == 2:
            return {-1: -4, 0: 6, 1: -4, 2: 1}
        if place == self.n - 3:
            return {-2: 1, -1: -4, 0: 6, 1: -4}
        if place == self.n - 2:
            return {-2: 1, -1: -4, 0: 5}
        return {-2: 1, -1: -4, 0: 6, 1: -4, 2: 1}

    def _operator(self, field: Field, at: Place) -> Vector:
        out, t1, t2, t3 = [0.0] * 5, 1 / self.delta**2, 0.5 / self.delta, 1 / self.delta
        for d in range(3):
            low, own, high = (field[moved(at, d, by)] for by in (-1, 0, 1))
            before, after = self._flux(low, d), self._flux(high, d)
            below, above = self._viscous(low, own, d), self._viscous(own, high, d)
            weights = self._fourth(at[d])
            for m in range(5):
                out[m] += -t2 * (after[m] - before[m]) + t3 * C[2] * C[3] * (above[m] - below[m])
                out[m] += DIFFUSION[d] * t1 * (low[m] - 2 * own[m] + high[m])
                out[m] -= 0.25 * sum(weight * field[moved(at, d, by)][m] for by, weight in weights.items())
        return out

    def residual(self) -> None:
        self.r = {
            at: [k - f for k, f in zip(self._operator(self.u, at), self.forcing[at], strict=True)] for at in self.inner
        }

    def _inviscid(self, u: Vector, d: int) -> Matrix:
        v, q = [u[m] / u[0] for m in range(1, 4)], 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0]
        out = [[0.0] * 5 for _ in range(5)]
        out[0][1 + d] = 1
        for m in range(3):
            if m == d:
                out[1 + m][0] = -(v[d] ** 2) + C[1] * q / u[0]
                for other in range(3):
                    out[1 + m][1 + other] = (2 - C[1]) * v[d] if other == d else -C[1] * v[other]
                out[1 + m][4] = C[1]
            else:
                out[1 + m][0], out[1 + m][1 + m], out[1 + m][1 + d] = -v[m] * v[d], v[d], v[m]
            out[4][1 + m] = -C[1] * v[m] * v[d]
        out[4][0] = (2 * C[1] * q - C[0] * u[4]) * v[d] / u[0]
        out[4][1 + d] = C[0] * u[4] / u[0] - C[1] * (v[d] ** 2 + q / u[0])
        out[4][4] = C[0] * v[d]
        return out

    def _drag(self, u: Vector, d: int) -> Matrix:
        c34 = C[2] * C[3]
        c1345, out = C[0] * c34 * C[4], [[0.0] * 5 for _ in range(5)]
        out[4][0], out[4][4] = -c1345 * u[4] / u[0] ** 2, c1345 / u[0]
        for m in range(1, 4):
            kappa = 4 / 3 * c34 if m == d + 1 else c34
            out[m][0], out[m][m] = -kappa * u[m] / u[0] ** 2, kappa / u[0]
            out[4][0] -= (kappa - c1345) * u[m] ** 2 / u[0] ** 3
            out[4][m] = (kappa - c1345) * u[m] / u[0] ** 2
        return out

    def _spread(self, u: Vector, d: int) -> Matrix:
        out = self._drag(u, d)
        for m in range(5):
            out[m][m] += DIFFUSION[d]
        return out

    def _neighbours(self, v: Field, at: Place, side: int) -> Vector:
        """The products of the lower (side -1) or upper (1) blocks with the neighbours' values, added up."""
        total, t1, t2 = [0.0] * 5, 1 / self.delta**2, 0.5 / self.delta
        for d in range(3):
            other = moved(at, d, side)
            if other not in v:
                continue
            inviscid, spread = self._inviscid(self.u[other], d), self._spread(self.u[other], d)
            for m in range(5):
                row = [side * t2 * j - t1 * n for j, n in zip(inviscid[m], spread[m], strict=True)]
                total[m] += self.step * sum(a * x for a, x in zip(row, v[other], strict=True))
        return total

    def _solved(self, at: Place, right: Vector) -> Vector:
        """With the diagonal block, by elimination."""
        rows = [[float(m == n) for n in range(5)] + [right[m]] for m in range(5)]
        for d in range(3):
            spread = self._spread(self.u[at], d)
            for m in range(5):
                for n in range(5):
                    rows[m][n] += 2 * self.step / self.delta**2 * spread[m][n]
        for m in range(5):
            rows[m] = [x / rows[m][m] for x in rows[m]]
            for n in range(5):
                if n != m:
                    rows[n] = [x - rows[n][m] * y for x, y in zip(rows[n], rows[m], strict=True)]
        return [row[5] for row in rows]

    def advance(self) -> None:
        v = {at: [self.step * x for x in r] for at, r in self.r.items()}
        for at in self.inner:
            shares = self._neighbours(v, at, -1)
            v[at] = self._solved(at, [x - OMEGA * s for x, s in zip(v[at], shares, strict=True)])
        for at in reversed(self.inner):
            change = self._solved(at, [OMEGA * s for s in self._neighbours(v, at, 1)])
            v[at] = [x - c for x, c in zip(v[at], change, strict=True)]
        for at in self.inner:
            self.u[at] = [u + x / (OMEGA * (2 - OMEGA)) for u, x in zip(self.u[at], v[at], strict=True)]
        self.residual()

    def measures(self) -> Vector:
        """Five norms of the residual, five of the error, and the surface integral, face by face and cell by cell."""

        def norm(values: Vector) -> float:
            return math.sqrt(math.fsum(x * x for x in values) / len(self.inner))

        out = [norm([self.r[at][m] for at in self.inner]) for m in range(5)]
        out += [norm([self.exact[at][m] - self.u[at][m] for at in self.inner]) for m in range(5)]
        low, high = (1, 1, 2), (self.n - 2, self.n - 3, self.n - 2)
        surface = 0.0
        for d in range(3):
            first, second = (other for other in range(3) if other != d)
            for end in (low[d], high[d]):
                for a in range(low[first], high[first]):
                    for b in range(low[second], high[second]):
                        for corner in ((a, b), (a + 1, b), (a, b + 1), (a + 1, b + 1)):
                            place = [end] * 3
                            place[first], place[second] = corner
                            u = self.u[place[0], place[1], place[2]]
                            surface += C[1] * (u[4] - 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0])
        return [*out, 0.25 * self.delta**2 * surface]
