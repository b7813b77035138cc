import pytest
import torch

from manifolds.charts import SO, Product, Sphere, Stiefel
from manifolds.errors import ShapeError

BLOCKS = ((SO(), 3), (Sphere(), 2))


def test_each_block_is_on_its_own_manifold() -> None:
    product = Product(BLOCKS)
    weight = product.sample((2, 5, 3), dtype=torch.float64)
    assert SO().in_manifold(weight[:, :3])
    assert Sphere().in_manifold(weight[:, 3:])
    torch.testing.assert_close(product.join(product.split(weight)), weight)
    weight[0, 0, 0] += 1
    assert float(product.defect(weight)) == float(SO().defect(weight[:, :3]))


def test_along_the_last_dim() -> None:
    product = Product(((Stiefel(), 2), (Stiefel(), 1)), dim=-1)
    assert product.in_manifold(product.sample((4, 3)))
    assert len(product.charts) == 2


def test_products_of_products() -> None:
    outer = Product(((Product(BLOCKS), 5), (Sphere(), 1)))
    weight = outer.sample((6, 3))
    assert [point.shape[0] for point in outer.split(weight)] == [3, 2, 1]
    assert outer.in_manifold(weight)


def test_parameters_are_checked() -> None:
    with pytest.raises(ShapeError, match="extent 5"):
        Product(BLOCKS).check((4, 3), torch.float32)
    with pytest.raises(ShapeError, match=r"shape=\(3, 4\)"):
        Product(BLOCKS).check((5, 4), torch.float32)
    with pytest.raises(ShapeError, match="dim=0"):
        Product(BLOCKS, dim=0)
    with pytest.raises(ShapeError, match="blocks"):
        Product(())
