"""Linear algebra, written with ops: steps over the rows of small matrices. _written.py says how these functions get
into the table."""
from __future__ import annotations

import torch

from ._written import stopped, writes

_STEPS_MAX = 64  # rows of a matrix that is taken apart


def _put_rows_first(matrix, j, row, place):
    """Rows j and `place` (of each matrix) change places."""
    rows = torch.arange(matrix.shape[-2])
    order = torch.where(rows == j, place, torch.where(rows == place, j, rows))
    return torch.take_along_dim(matrix, order.unsqueeze(-1).expand(matrix.shape), -2)


def _eliminated(a, b):
    """Gauss-Jordan with the greatest pivots: (what solves a x = b, the pivots, the sign of the exchanges)."""
    count, pivots, sign = a.shape[-1], [], 1.0
    whole = a if b is None else torch.cat([a, b.expand(*a.shape[:-1], b.shape[-1])], -1)
    rows = torch.arange(count).unsqueeze(-1)
    for j in range(count):
        place = stopped(whole)[..., j:, j].abs().argmax(-1, keepdim=True) + j
        whole = _put_rows_first(whole, j, rows, place)
        sign = sign * torch.where(place == j, 1.0, -1.0).squeeze(-1)
        row, column = whole[..., j : j + 1, :], whole[..., j : j + 1]
        pivots.append(row[..., 0, j])
        pivot = row[..., j : j + 1]
        # A determinant of a singular matrix is zero; what would solve such an equation is no number.
        row = row / (pivot if b is not None else torch.where(pivot == 0, 1.0, pivot))
        whole = torch.where(rows == j, row, whole - column * row)
    return whole[..., count:], torch.stack(pivots, -1), sign


def _is_large(a):
    return a.shape[-1] > _STEPS_MAX or a.shape[-1] == 0 or not a.is_floating_point()


def _no_error(a):
    return torch.zeros(a.shape[:-2], dtype=torch.int32)


@writes("_linalg_solve_ex")
def solve(a, b, *, left=True, check_errors=False):
    if _is_large(a):
        return NotImplemented
    is_vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    b = b.unsqueeze(-1) if is_vector else b
    a, b = (a, b) if left or is_vector else (a.mT, b.mT)
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = _eliminated(a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:]))[0]
    x = x.squeeze(-1) if is_vector else x if left else x.mT
    return x, a, torch.zeros(a.shape[:-1], dtype=torch.int32), _no_error(a)


@writes("linalg_inv_ex")
def inverse(a, *, check_errors=False):
    return NotImplemented if _is_large(a) else (_eliminated(a, torch.eye(a.shape[-1], dtype=a.dtype))[0], _no_error(a))


@writes("_linalg_det")
def determinant(a):
    if _is_large(a):
        return NotImplemented
    _, pivots, sign = _eliminated(a, None)
    return pivots.prod(-1) * sign, a, torch.zeros(a.shape[:-1], dtype=torch.int32)


@writes("_linalg_slogdet")
def logarithm_of_determinant(a):
    if _is_large(a):
        return NotImplemented
    _, pivots, sign = _eliminated(a, None)
    sign = sign * pivots.sign().prod(-1)
    return sign, pivots.abs().log().sum(-1), a, torch.zeros(a.shape[:-1], dtype=torch.int32)


@writes("linalg_cholesky_ex")
def cholesky(a, *, upper=False, check_errors=False):
    """Of the lower triangle, as LAPACK reads it; the gradient goes to both in equal parts, as in PyTorch."""
    if _is_large(a):
        return NotImplemented
    own = stopped(a.mT if upper else a)
    both = (a + a.mT) / 2
    a, columns = own + (both - stopped(both)), []
    for j in range(a.shape[-1]):
        column = a[..., j]
        if columns:
            before = torch.stack(columns, -1)
            column = column - (before @ before[..., j, :].unsqueeze(-1)).squeeze(-1)
        column = torch.where(torch.arange(a.shape[-1]) < j, 0.0, column)
        columns.append(column / column[..., j : j + 1].sqrt())
    lower = torch.stack(columns, -1)
    return lower.mT if upper else lower, _no_error(a)


@writes("linalg_solve_triangular")
def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    if _is_large(a):
        return NotImplemented
    if not left:
        return solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    if upper:
        return solve_triangular(a.flip((-2, -1)), b.flip(-2), upper=False, unitriangular=unitriangular).flip(-2)
    rows = []
    for j in range(a.shape[-1]):
        row = b[..., j : j + 1, :].expand(*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), 1, b.shape[-1])
        if rows:
            row = row - a[..., j : j + 1, :j] @ torch.cat(rows, -2)
        rows.append(row if unitriangular else row / a[..., j : j + 1, j : j + 1])
    return torch.cat(rows, -2)


@writes("cholesky_solve")
def cholesky_solve(b, factor, upper=False):
    if _is_large(factor):
        return NotImplemented
    lower = factor.mT if upper else factor
    return solve_triangular(lower.mT, solve_triangular(lower, b, upper=False), upper=True)


@writes("cholesky_inverse")
def cholesky_inverse(factor, upper=False):
    return cholesky_solve(torch.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


@writes("linalg_matrix_exp")
def matrix_exp(a):
    """Taylor's series of a matrix that is halved until its norm is at most 1/2, which is then squared as often."""
    norm = stopped(a).abs().sum(-1).amax(-1)
    halvings = torch.ceil(torch.log2(norm.clamp(min=2.0**-20)) + 1).clamp(min=0, max=20)[..., None, None]
    small, eye = a * torch.exp2(-halvings), torch.eye(a.shape[-1], dtype=a.dtype)
    result = eye
    for k in range(10, 0, -1):
        result = eye + small @ result / k
    for i in range(20):
        result = torch.where(halvings > i, result @ result, result)
    return result


@writes("linalg_householder_product")
def householder_product(a, tau):
    """The reflections one after the other, from the last, on the first columns of the identity; each is a column of a
    below its 1 on the diagonal."""
    rows, q = torch.arange(a.shape[-2]), torch.eye(a.shape[-2], a.shape[-1], dtype=a.dtype).expand_as(a)
    for j in reversed(range(tau.shape[-1])):
        v = torch.where(rows > j, a[..., j], torch.where(rows == j, 1.0, 0.0)).unsqueeze(-1)
        q = q - tau[..., j, None, None] * torch.matmul(v, torch.matmul(v.mT, q))
    return q
