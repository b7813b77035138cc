"""How layouts pass through the operations that rename elements and move none."""
